import { relationalNames } from '../../contracts/relational.ts'
import { done, type Outcome, stalled } from '../../core/outcome.ts'
import { compareQuantities } from '../../core/quantity.ts'
import { persistentVolumeClaim, storageClass } from '../../kube/builtin.ts'
import { related } from '../engine/lookups.ts'
import { planOf, refOfPass } from '../workload/pass.ts'
import { observedEngine, type RelationalPass, type StoredCluster } from './types.ts'

/** Sizes of an instance's two kinds of volumes. */
export type VolumeSizes = { storageSize: string | undefined; walStorageSize: string | undefined }

export type VolumeDecision =
  | { kind: 'fit' }
  | { kind: 'shrink'; message: string }
  /** Volumes keep their size, while the rest of the spec is applied. */
  | { kind: 'stay'; message: string }

/**
 * Decides whether volumes can change to the wanted sizes. The engine expands them itself if their class allows it.
 *
 * @param rigid a class of theirs that does not allow expansion; undefined if all do
 */
export function judgeVolumes(wanted: VolumeSizes, held: VolumeSizes, rigid: string | undefined): VolumeDecision {
  for (const field of ['storageSize', 'walStorageSize'] as const) {
    const [size, before] = [wanted[field], held[field]]
    if (size === undefined || before === undefined || compareQuantities(size, before) >= 0) continue
    const message = `The volumes have ${before} and cannot shrink to ${size}. Set ${field} to at least ${before}.`
    return { kind: 'shrink', message }
  }
  const growing = (['storageSize', 'walStorageSize'] as const).find((field) => {
    const [size, before] = [wanted[field], held[field]]
    return size !== undefined && before !== undefined && compareQuantities(size, before) > 0
  })
  if (growing === undefined || rigid === undefined) return { kind: 'fit' }
  const message = `Storage class "${rigid}" does not let volumes grow (allowVolumeExpansion), so ${growing} stays at ${held[growing]}.`
  return { kind: 'stay', message }
}

/**
 * Checks existing volumes before the engine is told of other sizes. They keep their storage class: the spec cannot
 * change it, but a plan may name another.
 */
export function checkStorage(pass: RelationalPass): Outcome {
  const { state, object } = pass
  const { storage, walStorage } = observedEngine(pass)?.spec ?? {}
  const { walStorageSize } = object.spec
  state.walStorageSize = walStorageSize
  if (storage?.size === undefined) return done()
  const plan = { ...planOf(pass), storageClass: storage.storageClass ?? '' }
  state.plan = plan
  const held = { storageSize: storage.size, walStorageSize: walStorage?.size }
  const verdict = judgeVolumes({ storageSize: plan.storageSize, walStorageSize }, held, unexpandableClass(pass))
  if (verdict.kind === 'shrink') return stalled('StorageCannotShrink', verdict.message)
  if (verdict.kind === 'fit') return done()
  state.plan = { ...plan, storageSize: held.storageSize }
  // A WAL volume that does not exist yet is new, and may have any size.
  state.walStorageSize = held.walStorageSize ?? walStorageSize
  state.volumes = stalled('ConfigurationInvalid', verdict.message)
  return done()
}

type Claim = { [key: string]: unknown } & Parameters<typeof claimGrowth>[0]

function claimsOf(pass: RelationalPass): Claim[] {
  const { namespace, name } = refOfPass(pass)
  const { cluster } = relationalNames(name)
  return [...related(pass.workloads.cache<Claim>(persistentVolumeClaim), 'engine', namespace, cluster)]
}

/** Returns a storage class in use that does not allow expansion. */
function unexpandableClass(pass: RelationalPass): string | undefined {
  const classes = pass.workloads.cache(storageClass)
  return claimsOf(pass)
    .map(({ spec }) => spec?.storageClassName ?? '')
    .find((name) => classes.get(undefined, name)?.allowVolumeExpansion !== true)
}

/** Returns the engine's claims that are still being expanded. */
export function growingClaims(pass: RelationalPass): string[] {
  return claimsOf(pass)
    .filter(claimGrowth)
    .map(({ metadata }) => metadata.name)
}

function claimGrowth(claim: {
  apiVersion: string
  kind: string
  metadata: StoredCluster['metadata']
  spec?: { storageClassName?: string; resources?: { requests?: { storage?: string } } }
  status?: { capacity?: { storage?: string } }
}): boolean {
  const [requested, held] = [claim.spec?.resources?.requests?.storage, claim.status?.capacity?.storage]
  return requested !== undefined && held !== undefined && compareQuantities(held, requested) < 0
}
