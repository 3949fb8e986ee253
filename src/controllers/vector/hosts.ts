import {
  INCARNATION_ANNOTATION,
  MANAGED_BY,
  MANAGED_BY_LABEL,
  OWNER_KIND_LABEL,
  OWNER_NAME_LABEL,
} from '../../core/labels.ts'
import { sha256 } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { done, type Outcome, stalled } from '../../core/outcome.ts'
import { defaultVectorHost, isHostBelow } from '../../core/vector.ts'
import { NameClaim } from '../../crds/nameclaims.ts'
import { isKubeError } from '../../kube/errors.ts'
import { placeOfPass, type VectorPass } from './types.ts'

export type ClaimObject = NameClaim & { [key: string]: unknown }

/** The name of a claim says what is claimed, so that etcd decides who was first. */
export function claimName(type: 'Host', value: string): string {
  return sha256(`${type}/${value}`).slice(0, 63)
}

/** The host that the spec asks for; undefined for none, without a look at whether it may have it. */
export function wantedHost(
  object: {
    metadata: { namespace?: string; name: string }
    spec: { enableIngress: boolean; ingressHost?: string | undefined }
  },
  domain: string,
): string | undefined {
  if (!object.spec.enableIngress) return undefined
  return object.spec.ingressHost ?? defaultVectorHost(object.metadata.namespace ?? '', object.metadata.name, domain)
}

/** Takes the public host before anything answers under it. The claim before is let go when nothing serves it any more. */
export async function claimHost(pass: VectorPass): Promise<Outcome> {
  const domain = pass.state.home?.spec.domain ?? ''
  const host = wantedHost(pass.object, domain)
  if (host === undefined) return done()
  if (!isHostBelow(host, domain)) {
    return stalled('ConfigurationInvalid', `ingressHost "${host}" must lie below the cluster's domain "${domain}".`)
  }
  const refusal = await take(pass, host)
  if (refusal !== undefined) return refusal
  pass.state.host = host
  return done()
}

async function take(pass: VectorPass, host: string): Promise<Outcome | undefined> {
  const name = claimName('Host', host)
  const known = pass.records.cache<ClaimObject>(NameClaim.resource).get(undefined, name)
  if (known !== undefined && isHeldBy(known, pass)) return undefined
  try {
    await pass.records.client.create(NameClaim.resource, claimOf(pass, name, host))
    return undefined
  } catch (error) {
    if (!isKubeError(error, 'AlreadyExists')) throw error
  }
  // The cache may be behind: only the server's own answer decides between two who want one name.
  const holder = await pass.records.client.get<ClaimObject>(NameClaim.resource, { name })
  if (isHeldBy(holder, pass)) return undefined
  if (await isOrphaned(pass, holder)) {
    const { uid, resourceVersion } = holder.metadata
    await pass.records.client.remove(NameClaim.resource, { name }, { uid, resourceVersion })
    await pass.records.client.create(NameClaim.resource, claimOf(pass, name, host))
    return undefined
  }
  return stalled(
    'NameOccupied',
    `Host "${host}" is taken by another resource of the platform; choose another ingressHost.`,
  )
}

function claimOf(pass: VectorPass, name: string, value: string): KubeObject {
  const { namespace, name: holder } = placeOfPass(pass)
  const { kind, incarnation } = pass
  return {
    apiVersion: NameClaim.apiVersion,
    kind: NameClaim.kind,
    metadata: {
      name,
      labels: { [MANAGED_BY_LABEL]: MANAGED_BY, [OWNER_KIND_LABEL]: kind.kind, [OWNER_NAME_LABEL]: holder },
    },
    spec: { type: 'Host', value, holder: { kind: kind.kind, namespace, name: holder, incarnation } },
  }
}

function isHeldBy(claim: ClaimObject, pass: VectorPass): boolean {
  const { holder } = claim.spec
  return holder.kind === pass.kind.kind && holder.incarnation === pass.incarnation
}

/** A claim whose holder is gone or was made anew. Only of our own kind: of others we cannot tell. */
async function isOrphaned(pass: VectorPass, claim: ClaimObject): Promise<boolean> {
  const { kind, namespace, name, incarnation } = claim.spec.holder
  if (kind !== pass.kind.kind) return false
  try {
    const holder = await pass.records.client.get(pass.kind.resource, { namespace, name })
    return holder.metadata.annotations?.[INCARNATION_ANNOTATION] !== incarnation
  } catch (error) {
    if (isKubeError(error, 'NotFound') && !error.typeMissing) return true
    throw error
  }
}

/** Lets go of every host of ours but the one that is served now. */
export async function releaseHosts(pass: VectorPass): Promise<Outcome> {
  for (const claim of pass.records.cache<ClaimObject>(NameClaim.resource).list()) {
    if (!isHeldBy(claim, pass) || claim.spec.value === pass.state.host) continue
    const { name, uid, resourceVersion } = claim.metadata
    await pass.records.client.remove(NameClaim.resource, { name }, { uid, resourceVersion })
  }
  return done()
}
