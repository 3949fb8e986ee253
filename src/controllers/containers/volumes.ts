import { done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { compareQuantities } from '../../core/quantity.ts'
import { instanceShared, volumeClaim } from '../../desired/containers/index.ts'
import { persistentVolumeClaim, storageClass } from '../../kube/builtin.ts'
import type { Claim as StatefulClaim } from '../stateful/types.ts'
import { isNamespaceTerminating, refOfPass } from '../workload/pass.ts'
import { adopt, annotateData, isKeptFor, retained } from '../workload/retainedIncarnations.ts'
import { isShared } from './resolve.ts'
import type { InstancePass } from './types.ts'

type Claim = StatefulClaim & { spec: { accessModes?: string[] } }

/**
 * Keeps one claim per Persistent volume. Adopts a volume that a deleted resource of this name retained. A claim that is
 * deleted while the instance is stopped returns only with the next change or start: a backup can be restored meanwhile.
 */
export async function keepVolumes(pass: InstancePass): Promise<Outcome> {
  const shared = instanceShared(pass.object)
  const rests = isKnownStopped(pass.object)
  for (const volume of pass.object.spec.volumes) {
    if (volume.kind !== 'Persistent') continue
    const held = pass.workloads
      .cache<Claim>(persistentVolumeClaim)
      .get(shared.namespace, shared.names.volume(volume.name))
    if (held === undefined && rests) continue
    if (held !== undefined && isKeptFor(pass, held)) {
      const before = held.spec.resources?.requests?.storage ?? '0'
      // Do not adopt it: the quota would count the requested size instead of the real one.
      if (compareQuantities(volume.size ?? '', before) < 0) {
        const message = `The kept volume "${volume.name}" has ${before} and cannot shrink to ${volume.size}. Set its size to at least ${before}.`
        return stalled('StorageCannotShrink', message)
      }
      await adopt(pass, persistentVolumeClaim, held)
    }
    const mode =
      held?.spec.accessModes?.[0] ?? (isShared(pass.workloads, volume.storageClass) ? 'ReadWriteMany' : 'ReadWriteOnce')
    const size = sizeFor(pass, held, volume.name, volume.size ?? '')
    const wanted = volumeClaim(
      shared,
      { ...volume, size, storageClass: held?.spec.storageClassName ?? volume.storageClass },
      mode as 'ReadWriteOnce',
    )
    const { object } = await pass.children.ensure(wanted, { resource: persistentVolumeClaim })
    const capacity = (object as Claim).status?.capacity?.storage
    if (capacity !== undefined && compareQuantities(capacity, size) < 0)
      pass.state.volumes ??= waiting('WaitingForVolume', `Volume "${volume.name}" is growing to ${size}.`)
  }
  return done()
}

/** Whether the last pass over this spec found it stopped, with all its volumes. */
function isKnownStopped({ metadata, status }: InstancePass['object']): boolean {
  return status?.phase === 'Stopped' && status.observedGeneration === metadata.generation
}

/** Returns the size to request: the claim's own if its class cannot expand volumes, or if the claim is larger. */
function sizeFor(pass: InstancePass, held: Claim | undefined, name: string, wanted: string): string {
  const before = held?.spec.resources?.requests?.storage
  if (held === undefined || before === undefined || compareQuantities(wanted, before) === 0) return before ?? wanted
  if (compareQuantities(wanted, before) < 0) {
    pass.state.volumes = stalled(
      'StorageCannotShrink',
      `Volume "${name}" has ${before} and cannot shrink to ${wanted}.`,
    )
    return before
  }
  const className = held.spec.storageClassName ?? ''
  if (pass.workloads.cache(storageClass).get(undefined, className)?.allowVolumeExpansion === true) return wanted
  const message = `Storage class "${className}" does not let volumes grow (allowVolumeExpansion), so volume "${name}" stays at ${before}.`
  pass.state.volumes = stalled('ConfigurationInvalid', message)
  return before
}

/** Deletes the volumes, or retains them for a new resource of this name, as the accepted deletion asked. */
export async function removeVolumes(pass: InstancePass): Promise<Outcome> {
  const { namespace } = refOfPass(pass)
  const remaining: string[] = []
  for (const { metadata } of pass.children.owned<Claim>(persistentVolumeClaim)) {
    const claim = await pass.children.get<Claim>(persistentVolumeClaim, namespace, metadata.name)
    if (claim === undefined) continue
    // Retaining is pointless if the group's namespace is deleted too.
    if (pass.object.spec.onDelete === 'Retain' && !isNamespaceTerminating(pass.records, namespace)) {
      await annotateData(pass, persistentVolumeClaim, claim, retained(pass), { ownerReferences: null })
    } else if (!(await pass.children.remove(persistentVolumeClaim, namespace, metadata.name))) {
      remaining.push(metadata.name)
    }
  }
  return remaining.length === 0
    ? done()
    : waiting('TearingDown', `Volumes are being deleted: ${remaining.sort().join(', ')}.`)
}
