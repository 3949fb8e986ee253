import { claimHosts, releaseUnserved, wantedHosts } from '../workload/hosts.ts'
import { stepAdapter } from '../workload/pass.ts'
import type { VectorPass } from './types.ts'

type Hosted = { readonly spec: { enableIngress: boolean; ingressHost?: string | undefined } }

/** Converts the object to the form that the shared host steps expect. */
const hosted = <T extends Hosted>({ spec: { enableIngress: isPublic, ingressHost }, ...rest }: T) => ({
  ...rest,
  spec: { isPublic, ingressHost, customDomains: [] },
})
const overHosted = stepAdapter((pass: VectorPass) => ({ ...pass, object: hosted(pass.object) }))

/** Returns the host that the spec asks for, without checking the claim; undefined for none. */
export function wantedHost(
  object: Hosted & { metadata: { namespace?: string; name: string } },
  domain: string,
): string | undefined {
  return wantedHosts('vectorclusters', hosted(object), domain)[0]
}

export const claimHost = overHosted(claimHosts)
export const releaseUnservedHost = overHosted(releaseUnserved)
