import { defaultHost, hostSuffixOf, isHostOf } from '../../contracts/workloads.ts'
import { done, type Outcome, stalled } from '../../core/outcome.ts'
import { claimed, releaseClaims } from '../nameClaims.ts'
import { releaseUnserved } from '../workload/hosts.ts'
import type { VectorPass } from './types.ts'

/** The host that the spec asks for; undefined for none, without a look at whether it may have it. */
export function wantedHost(
  object: {
    metadata: { namespace?: string; name: string }
    spec: { enableIngress: boolean; ingressHost?: string | undefined }
  },
  domain: string,
): string | undefined {
  if (!object.spec.enableIngress) return undefined
  return (
    object.spec.ingressHost ??
    defaultHost('vectorclusters', object.metadata.namespace ?? '', object.metadata.name, domain)
  )
}

/** Takes the public host before anything answers under it. The claim before is let go when nothing serves it any more. */
export async function claimHost(pass: VectorPass): Promise<Outcome> {
  const domain = pass.state.home?.spec.domain ?? ''
  const host = wantedHost(pass.object, domain)
  if (host === undefined) return done()
  const { boundaryId = '' } = pass.place
  if (pass.object.spec.ingressHost !== undefined && !isHostOf(boundaryId, host, domain)) {
    const suffix = hostSuffixOf(boundaryId, domain)
    return stalled(
      'ConfigurationInvalid',
      `ingressHost "${host}" must end with ${suffix}, as hosts of this boundary do.`,
    )
  }
  const refusal = await take(pass, host)
  if (refusal !== undefined) return refusal
  pass.state.host = host
  return done()
}

async function take(pass: VectorPass, host: string): Promise<Outcome | undefined> {
  if (await claimed(pass, 'Host', host)) return undefined
  return stalled(
    'NameOccupied',
    `Host "${host}" is taken by another resource of the platform; choose another ingressHost.`,
  )
}

/** Lets go of a host that is given up, whatever keeps the rest from being carried out. */
export function releaseUnservedHost(pass: VectorPass): Promise<Outcome> {
  const { enableIngress: isPublic, ingressHost } = pass.object.spec
  return releaseUnserved({ ...pass, object: { ...pass.object, spec: { isPublic, customDomains: [], ingressHost } } })
}

/** Lets go of every host of ours but the one that is served now. */
export async function releaseHosts(pass: VectorPass): Promise<Outcome> {
  return done(await releaseClaims(pass, (value) => value !== pass.state.host))
}
