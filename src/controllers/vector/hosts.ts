import { claimHosts, releaseUnserved, wantedHosts } from '../workload/hosts.ts'
import { stepAdapter } from '../workload/pass.ts'
import type { VectorPass } from './types.ts'

type HostedSpec = { readonly spec: { enableIngress: boolean; ingressHost?: string | undefined } }

/** Converts the object to the form that the shared host steps expect. */
const withIsPublic = <T extends HostedSpec>({ spec: { enableIngress: isPublic, ingressHost }, ...rest }: T) => ({
  ...rest,
  spec: { isPublic, ingressHost, customDomains: [] },
})
const hostedStep = stepAdapter((pass: VectorPass) => ({ ...pass, object: withIsPublic(pass.object) }))

/** Returns the host that the spec asks for, without checking the claim; undefined for none. */
export function wantedHost(
  object: HostedSpec & { metadata: { namespace?: string; name: string } },
  domain: string,
): string | undefined {
  return wantedHosts('vectorclusters', withIsPublic(object), domain)[0]
}

export const claimHost = hostedStep(claimHosts)
export const releaseUnservedHost = hostedStep(releaseUnserved)
