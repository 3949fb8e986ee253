import { ownerLabelSelector } from '../contracts/workloads.ts'
import {
  INCARNATION_ANNOTATION,
  MANAGED_BY,
  MANAGED_BY_LABEL,
  OWNER_KIND_LABEL,
  OWNER_NAME_LABEL,
} from '../core/labels.ts'
import { CLAIM_HOLDER_TIMEOUT_MS, type ClaimType, claimName } from '../core/nameClaims.ts'
import type { KubeObject, ObjectMeta } from '../core/object.ts'
import { done, earliest, type Outcome } from '../core/outcome.ts'
import type { AnyKind } from '../crds/define.ts'
import { NameClaim } from '../crds/nameclaims.ts'
import { absent, isKubeError } from '../kube/errors.ts'
import type { Observed, Pass, Rights, Workspace } from './engine/controller.ts'
import { related } from './engine/lookups.ts'

/** Names that are unique on the platform: the first claim wins (docs/architecture.md). */

export type ClaimObject = NameClaim & { [key: string]: unknown }

/** Wakes what a claim concerns when it comes and goes. */
export function observedClaims(keysOf: (claim: ClaimObject, records: Workspace) => readonly string[]): Observed {
  return {
    resource: NameClaim.resource,
    keysOf: (claim, records) => keysOf(claim as ClaimObject, records),
    relevant: ({ metadata, spec }) => [metadata.uid, spec],
  }
}

/** The part of a pass that claims need, for any kind and state. */
export type ClaimingPass = Pick<Pass, 'records' | 'incarnation' | 'clock'> & {
  kind: Pick<AnyKind, 'kind' | 'resource'>
  object: { metadata: { namespace?: string; name: string; deletionTimestamp?: string } }
}

/** Rights of a controller that claims names. */
export const CLAIM_RIGHTS: Rights = { resource: NameClaim.resource, verbs: ['get', 'create', 'delete'] }

/**
 * Claims the name, or confirms our claim. False if another resource has it.
 *
 * @throws KubeError AlreadyExists while the holder is unknown: the pass is then retried
 */
export async function acquireNameClaim(pass: ClaimingPass, type: ClaimType, value: string): Promise<boolean> {
  const name = claimName(type, value)
  const known = pass.records.cache(NameClaim).get(undefined, name)
  if (known !== undefined && isHeldBy(known, pass)) return true
  const { client } = pass.records
  try {
    await client.create(NameClaim.resource, claimOf(pass, type, value))
    return true
  } catch (error) {
    if (!isKubeError(error, 'AlreadyExists')) throw error
    // The cache may be stale: only the API server decides between two claimants.
    const claim = await client.get<ClaimObject>(NameClaim.resource, { name }).catch(absent)
    if (claim === undefined) throw error
    if (isHeldBy(claim, pass)) return true
    // Stale claims are only detected for holders of our own kind.
    if (claim.spec.holder.kind !== pass.kind.kind) return false
    const holder = await client.get(pass.kind.resource, claim.spec.holder).catch(absent)
    if (holder === undefined && isHolderPending(claim, pass)) throw error
    if (holder?.metadata.annotations?.[INCARNATION_ANNOTATION] === claim.spec.holder.incarnation) return false
    const { uid, resourceVersion } = claim.metadata
    await client.remove(NameClaim.resource, { name }, { uid, resourceVersion })
    await client.create(NameClaim.resource, claimOf(pass, type, value))
    return true
  }
}

/** Whether the holder may still be created: REST claims a name before it creates the holder. */
function isHolderPending({ metadata }: ClaimObject, { clock }: ClaimingPass): boolean {
  return clock.now() - Date.parse(metadata.creationTimestamp ?? '') <= CLAIM_HOLDER_TIMEOUT_MS
}

function claimOf(pass: ClaimingPass, type: ClaimType, value: string): KubeObject {
  const { namespace = '', name: holder } = pass.object.metadata
  const { kind, incarnation } = pass
  return {
    apiVersion: NameClaim.apiVersion,
    kind: NameClaim.kind,
    metadata: {
      name: claimName(type, value),
      labels: { [MANAGED_BY_LABEL]: MANAGED_BY, [OWNER_KIND_LABEL]: kind.kind, [OWNER_NAME_LABEL]: holder },
    },
    spec: { type, value, holder: { kind: kind.kind, namespace, name: holder, incarnation } },
  }
}

function isHeldBy(claim: ClaimObject, pass: ClaimingPass): boolean {
  const { holder } = claim.spec
  return holder.kind === pass.kind.kind && holder.incarnation === pass.incarnation
}

/** Milliseconds within which REST writes the holder of a claim, or never will. */
const HOLDER_WRITE_TIMEOUT_MS = 15_000

/**
 * Releases our claims whose value matches. A recent claim of REST stays, unless the object is being deleted: this pass
 * may not have seen the spec yet that it is for.
 */
export async function releaseClaims(pass: ClaimingPass, isToGo: (value: string) => boolean): Promise<Outcome> {
  let after: number | undefined
  for (const claim of await claimsOf(pass)) {
    if (!isHeldBy(claim, pass) || !isToGo(claim.spec.value)) continue
    const { name, uid, resourceVersion } = claim.metadata
    const remaining = remainingMs(claim, pass)
    if (remaining > 0) after = earliest(after, remaining)
    else await pass.records.client.remove(NameClaim.resource, { name }, { uid, resourceVersion })
  }
  return done({ after })
}

/** Releases all names of the object. */
export function releaseNames(pass: ClaimingPass): Promise<Outcome> {
  return releaseClaims(pass, () => true)
}

/** Milliseconds for which a claim's holder may still be written. Claims with labels are for existing holders. */
function remainingMs({ metadata }: ClaimObject, { object, clock }: ClaimingPass): number {
  if (object.metadata.deletionTimestamp !== undefined || metadata.labels?.[OWNER_KIND_LABEL] !== undefined) return 0
  return Date.parse(metadata.creationTimestamp ?? '') + HOLDER_WRITE_TIMEOUT_MS - clock.now()
}

/**
 * Before the object is gone, also asks the API server: a very recent claim would hold its name for ever. Claims made by
 * REST have no labels; they are older than their holder, and so in the cache.
 */
async function claimsOf({ kind, object, records, incarnation }: ClaimingPass): Promise<readonly ClaimObject[]> {
  const { name, deletionTimestamp } = object.metadata
  const known = related(records.cache(NameClaim), 'holder', kind.kind, incarnation)
  if (deletionTimestamp === undefined) return known
  const labelSelector = ownerLabelSelector(kind.kind, name)
  const { items } = await records.client.list<ClaimObject>(NameClaim.resource, { labelSelector })
  return [...new Map([...known, ...items].map((claim) => [claim.metadata.name, claim])).values()]
}

/** Whether an object holds a name, according to the cache. For controllers of objects that depend on the holder. */
export function holdsName(
  records: Workspace,
  object: { kind: string; metadata: ObjectMeta },
  type: ClaimType,
  value: string,
): boolean {
  const claim = records.cache(NameClaim).get(undefined, claimName(type, value))
  const incarnation = object.metadata.annotations?.[INCARNATION_ANNOTATION] ?? ''
  return incarnation !== '' && claim?.spec.holder.kind === object.kind && claim.spec.holder.incarnation === incarnation
}
