import { OWNER_INCARNATION_ANNOTATION, RETAINED_FOR_ANNOTATION } from '../../core/labels.ts'
import { refOf } from '../../core/object.ts'
import { done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { compareQuantities } from '../../core/quantity.ts'
import { VECTOR_VOLUME, vectorNames, vectorOrdinal } from '../../core/vector.ts'
import { persistentVolumeClaim, statefulSet, storageClass } from '../../kube/builtin.ts'
import { type Claim, placeOfPass, planOf, type StatefulSet, type VectorPass } from './types.ts'

/** Who may have a kept volume back: a resource of this kind and name, in the same namespace. */
export function retainedFor(name: string): string {
  return `VectorCluster/${name}`
}

/** All claims that a StatefulSet of this name would take, whoever made them, by ordinal. */
export function claimsByName(pass: VectorPass): Map<number, Claim> {
  const { namespace, name } = placeOfPass(pass)
  const found = new Map<number, Claim>()
  for (const claim of pass.workloads.cache<Claim>(persistentVolumeClaim).list({ namespace })) {
    if (!claim.metadata.name.startsWith(`${VECTOR_VOLUME}-`)) continue
    const ordinal = vectorOrdinal(name, claim.metadata.name)
    if (ordinal !== undefined) found.set(ordinal, claim)
  }
  return found
}

export function isOurClaim(pass: VectorPass, claim: Claim): boolean {
  return claim.metadata.annotations?.[OWNER_INCARNATION_ANNOTATION] === pass.incarnation
}

/**
 * Looks at the claims that are there before a StatefulSet would take them unasked: ours, those kept for a new resource
 * of this name, which are taken back here, or somebody else's, which nobody touches.
 */
export async function adoptVolumes(pass: VectorPass): Promise<Outcome> {
  const { name } = placeOfPass(pass)
  const claims = claimsByName(pass)
  for (const claim of claims.values()) {
    if (isOurClaim(pass, claim)) continue
    const what = `Volume claim "${claim.metadata.name}"`
    if (claim.metadata.deletionTimestamp !== undefined) {
      return waiting('WaitingForVolume', `${what} of a namesake is still being deleted.`)
    }
    if (claim.metadata.annotations?.[RETAINED_FOR_ANNOTATION] !== retainedFor(name)) {
      return stalled(
        'NameOccupied',
        `${what} exists and does not belong to this resource. Delete it, or choose another name.`,
      )
    }
    await markClaim(pass, claim, { [OWNER_INCARNATION_ANNOTATION]: pass.incarnation, [RETAINED_FOR_ANNOTATION]: null })
  }
  pass.state.claims = claims
  return done()
}

/** Writes annotations of a claim, only if it is still the object that was judged. */
export async function markClaim(
  pass: VectorPass,
  claim: Claim,
  annotations: Record<string, string | null>,
): Promise<void> {
  const { uid, resourceVersion } = claim.metadata
  const patch = { metadata: { annotations } }
  await pass.workloads.client.mergePatch(persistentVolumeClaim, refOf(claim), patch, { uid, resourceVersion })
}

const requested = (claim: Claim) => claim.spec.resources?.requests?.storage ?? '0'

/** Volumes never give space back, so the wish is refused and what runs stays as it is. */
export function checkStorage(pass: VectorPass): Outcome {
  const wanted = planOf(pass).storageSize ?? '0'
  const largest = [...pass.state.claims.values()].map(requested).sort(compareQuantities).at(-1)
  if (largest === undefined || compareQuantities(wanted, largest) >= 0) return done()
  const message = `The volumes have ${largest} and cannot shrink to ${wanted}. Set storageSize to at least ${largest}.`
  return stalled('StorageCannotShrink', message)
}

/**
 * Lets volumes grow. A StatefulSet cannot change its claim template: the claims are patched first, then the StatefulSet
 * is deleted around its pods, which run on, and made anew with the new size by a later step. At each point in between
 * the next pass sees what is left to do.
 */
export async function growVolumes(pass: VectorPass): Promise<Outcome> {
  const { state } = pass
  const wanted = planOf(pass).storageSize ?? '0'
  const small = [...state.claims.values()].filter((claim) => compareQuantities(requested(claim), wanted) < 0)
  const obstacle = small.map((claim) => growthObstacle(pass, claim)).find((found) => found !== undefined)
  if (obstacle !== undefined) {
    // Everything else of the spec is still applied, with the size that the volumes have.
    state.plan = { ...planOf(pass), storageSize: templateSize(pass) ?? wanted }
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

/** The size in the claim template of the StatefulSet that is there. */
function templateSize(pass: VectorPass): string | undefined {
  return observedWorkload(pass)?.spec.volumeClaimTemplates?.[0]?.spec?.resources?.requests?.storage
}

function observedWorkload(pass: VectorPass): StatefulSet | undefined {
  const { namespace, name } = placeOfPass(pass)
  const found = pass.workloads.cache<StatefulSet>(statefulSet).get(namespace, vectorNames(name).workload)
  const owners = found?.metadata.ownerReferences ?? []
  return owners.some(({ uid }) => uid === pass.object.metadata.uid) ? found : undefined
}

function growthObstacle(pass: VectorPass, claim: Claim): string | undefined {
  const name = claim.spec.storageClassName ?? ''
  const found = pass.workloads.cache(storageClass).get(undefined, name)
  if (found?.allowVolumeExpansion === true) return undefined
  return `Storage class "${name}" does not let volumes grow (allowVolumeExpansion), so storageSize stays at ${requested(claim)}.`
}

/** Bound volumes report what they have; a claim that is not bound yet gets its size when it is. */
function isGrowing(claim: Claim, wanted: string): boolean {
  const capacity = claim.status?.capacity?.storage
  return capacity !== undefined && compareQuantities(capacity, wanted) < 0
}

async function replaceTemplate(pass: VectorPass, wanted: string): Promise<Outcome> {
  const size = templateSize(pass)
  const observed = observedWorkload(pass)
  if (observed === undefined || size === undefined || compareQuantities(size, wanted) === 0) return done()
  const { uid, resourceVersion } = observed.metadata
  await pass.workloads.client.remove(statefulSet, refOf(observed), { uid, resourceVersion, propagation: 'Orphan' })
  return done()
}
