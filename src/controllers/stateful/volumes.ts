import { STORAGE_VOLUME } from '../../contracts/workloads.ts'
import { OWNER_INCARNATION_ANNOTATION, OWNER_KIND_LABEL, OWNER_NAME_LABEL } from '../../core/labels.ts'
import { refOf } from '../../core/object.ts'
import { done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { compareQuantities } from '../../core/quantity.ts'
import { STORAGE_SIZE_ANNOTATION } from '../../desired/workload/pod.ts'
import { persistentVolumeClaim, statefulSet, storageClass } from '../../kube/builtin.ts'
import { related } from '../engine/lookups.ts'
import { planOf, refOfPass } from '../workload/pass.ts'
import { adopt, isKeptFor } from '../workload/retainedIncarnations.ts'
import { observedWorkload, ordinalOf, type StatefulPass, workloadOf } from './pass.ts'
import { type EngineOf, engineObstacle } from './retainedEngine.ts'
import type { Claim, StatefulSet } from './types.ts'

/** Returns all claims that a StatefulSet of this name would use, whoever made them, by ordinal. */
export function claimsByName(pass: StatefulPass): Map<number, Claim> {
  const { namespace } = refOfPass(pass)
  const found = new Map<number, Claim>()
  const claims = pass.workloads.cache<Claim>(persistentVolumeClaim)
  for (const claim of related(claims, 'numbered', namespace, `${STORAGE_VOLUME}-${workloadOf(pass)}`)) {
    const ordinal = ordinalOf(pass, claim.metadata.name)
    if (ordinal !== undefined) found.set(ordinal, claim)
  }
  return found
}

export function isOurClaim(pass: StatefulPass, claim: Claim): boolean {
  return claim.metadata.annotations?.[OWNER_INCARNATION_ANNOTATION] === pass.incarnation
}

/** Whether an interrupted teardown of an earlier resource left the claim behind, so not retained on purpose. */
export function isOfFormerIncarnation(pass: StatefulPass, { metadata: { labels, annotations } }: Claim): boolean {
  const { name } = refOfPass(pass)
  return (
    labels?.[OWNER_KIND_LABEL] === pass.kind.kind &&
    labels[OWNER_NAME_LABEL] === name &&
    annotations?.[OWNER_INCARNATION_ANNOTATION] !== undefined &&
    annotations[OWNER_INCARNATION_ANNOTATION] !== pass.incarnation
  )
}

/**
 * Checks existing claims before a StatefulSet would use them. Our own are fine, retained ones are adopted, and others
 * are left alone. The engine version stays on a claim, so that stepwise migrations continue from there.
 */
export const adoptVolumes =
  <P extends StatefulPass>(engineOf: EngineOf<P>) =>
  async (pass: P): Promise<Outcome> => {
    const claims = claimsByName(pass)
    for (const claim of claims.values()) {
      if (isOurClaim(pass, claim)) continue
      const subject = `Volume claim "${claim.metadata.name}"`
      if (claim.metadata.deletionTimestamp !== undefined) {
        return waiting('WaitingForVolume', `${subject} of an earlier object with this name is still being deleted.`)
      }
      if (!isKeptFor(pass, claim)) {
        const cause = isOfFormerIncarnation(pass, claim)
          ? `is left from a former ${pass.kind.kind} of this name. Delete this resource, which deletes the volume or keeps it for the next one (onDelete), and create it again.`
          : 'exists and does not belong to this resource. Delete it, or choose another name.'
        return stalled('NameOccupied', `${subject} ${cause}`)
      }
      const obstacle = engineObstacle(claim, engineOf(pass, [claim]))
      if (obstacle !== undefined) return stalled('ConfigurationInvalid', obstacle)
      // Do not adopt it: the quota would count the requested size instead of the real one.
      const small = findShrinkage(pass, [claim])
      if (small !== undefined) return small
      await adopt(pass, persistentVolumeClaim, claim)
    }
    pass.state.claims = claims
    return done()
  }

/**
 * Keeps the storage class of the volumes. The spec cannot change it, but a plan may name another, and the API server
 * rejects any update of a StatefulSet whose claim template differs.
 */
export function keepStorageClass(pass: StatefulPass): Outcome {
  const template = observedWorkload(pass)?.spec.volumeClaimTemplates?.[0]
  if (template === undefined) return done()
  pass.state.plan = { ...planOf(pass), storageClass: template.spec?.storageClassName ?? '' }
  return done()
}

const requested = (claim: Claim) => claim.spec.resources?.requests?.storage ?? '0'

/** Refuses smaller volumes, because volumes cannot shrink; the workload stays as it is. */
export function checkStorage(pass: StatefulPass): Outcome {
  return findShrinkage(pass, pass.state.claims.values()) ?? done()
}

function findShrinkage(pass: StatefulPass, claims: Iterable<Claim>): Outcome | undefined {
  const wanted = planOf(pass).storageSize ?? '0'
  const largest = [...claims].map(requested).sort(compareQuantities).at(-1)
  if (largest === undefined || compareQuantities(wanted, largest) >= 0) return undefined
  const message = `The volumes have ${largest} and cannot shrink to ${wanted}. Set storageSize to at least ${largest}.`
  return stalled('StorageCannotShrink', message)
}

/**
 * Expands volumes. As claim templates are immutable, the claims are patched, then the StatefulSet is deleted with its
 * pods orphaned and running, and a later step re-creates it with the new size. After an interruption, the next pass
 * continues from what it sees.
 */
export async function growVolumes(pass: StatefulPass): Promise<Outcome> {
  const { state } = pass
  const wanted = planOf(pass).storageSize ?? '0'
  const small = [...state.claims.values()].filter((claim) => compareQuantities(requested(claim), wanted) < 0)
  const obstacle =
    small.map((claim) => growthObstacle(pass, claim)).find((found) => found !== undefined) ??
    describeMutatedSize(pass, wanted)
  if (obstacle !== undefined) {
    // The rest of the spec is still applied, with the present size.
    keepTemplateSize(pass)
    state.volumes = stalled('ConfigurationInvalid', obstacle)
    return done()
  }
  for (const claim of small) {
    const { uid, resourceVersion } = claim.metadata
    const patch = { spec: { resources: { requests: { storage: wanted } } } }
    await pass.workloads.client.mergePatch(persistentVolumeClaim, refOf(claim), patch, { uid, resourceVersion })
  }
  const growing = [...state.claims.values()]
    .filter((claim) => isGrowing(claim, wanted))
    .map((claim) => claim.metadata.name)
  if (growing.length > 0)
    state.volumes = waiting('WaitingForVolume', `Growing to ${wanted}: ${growing.sort().join(', ')}.`)
  return replaceTemplate(pass, wanted)
}

/** Returns the size in the existing claim template. */
function templateSize(pass: StatefulPass): string | undefined {
  return observedWorkload(pass)?.spec.volumeClaimTemplates?.[0]?.spec?.resources?.requests?.storage
}

/** Returns the size that the template was made for. */
function templateFor(pass: StatefulPass): string | undefined {
  return observedWorkload(pass)?.metadata.annotations?.[STORAGE_SIZE_ANNOTATION]
}

function growthObstacle(pass: StatefulPass, claim: Claim): string | undefined {
  const name = claim.spec.storageClassName ?? ''
  const found = pass.workloads.cache(storageClass).get(undefined, name)
  if (found?.allowVolumeExpansion === true) return undefined
  return `Storage class "${name}" does not let volumes grow (allowVolumeExpansion), so storageSize stays at ${requested(claim)}.`
}

/** Bound volumes report their capacity; an unbound claim gets its size when it is bound. */
function isGrowing(claim: Claim, wanted: string): boolean {
  const capacity = claim.status?.capacity?.storage
  return capacity !== undefined && compareQuantities(capacity, wanted) < 0
}

/**
 * Deletes the StatefulSet without its pods, once it has created all claims: a running sync of its controller would
 * otherwise create the missing claims for a deleted StatefulSet.
 */
async function replaceTemplate(pass: StatefulPass, wanted: string): Promise<Outcome> {
  const size = templateSize(pass)
  const observed = observedWorkload(pass)
  if (observed === undefined || size === undefined || compareQuantities(size, wanted) === 0) return done()
  if (!hasAllClaims(pass, observed)) {
    keepTemplateSize(pass)
    pass.state.volumes ??= waiting('WaitingForVolume', 'The volumes are being created; then they grow.')
    return done()
  }
  const { uid, resourceVersion } = observed.metadata
  await pass.workloads.client.remove(statefulSet, refOf(observed), { uid, resourceVersion, propagation: 'Orphan' })
  return done()
}

function hasAllClaims(pass: StatefulPass, { metadata, spec, status = {} }: StatefulSet): boolean {
  const ordinals = Array.from({ length: spec.replicas ?? 1 }, (_, ordinal) => ordinal)
  const isSeen = (status.observedGeneration ?? 0) >= (metadata.generation ?? 1)
  return isSeen && ordinals.every((ordinal) => pass.state.claims.has(ordinal))
}

/**
 * Keeps the immutable claim template and the size it was made for. With the size of this pass's plan there, the next
 * pass could not tell that the template was already replaced for the spec's size.
 */
function keepTemplateSize(pass: StatefulPass): void {
  const plan = planOf(pass)
  const size = templateSize(pass) ?? plan.storageSize
  pass.state.plan = { ...plan, storageSize: size }
  pass.state.templateFor = templateFor(pass) ?? size
}

/** Reports a template whose size the API server stores differently: replacing it again would never end. */
function describeMutatedSize(pass: StatefulPass, wanted: string): string | undefined {
  const size = templateSize(pass)
  if (size === undefined || templateFor(pass) !== wanted || compareQuantities(size, wanted) === 0) return undefined
  // A smaller stored size cannot be requested, because storageSize never shrinks.
  const remedy =
    compareQuantities(size, wanted) > 0
      ? `Set storageSize to ${size}.`
      : 'Whatever changes it, such as an admission webhook, must leave it alone.'
  return `storageSize is ${wanted}, which the API server stores as ${size}. ${remedy}`
}
