import { ownerLabelSelector } from '../../contracts/workloads.ts'
import { RETAINED_ENGINE_ANNOTATION } from '../../core/labels.ts'
import { type Resource, refOf } from '../../core/object.ts'
import { done, type Outcome, waiting } from '../../core/outcome.ts'
import { controllerRevision, persistentVolumeClaim, pod, secret, statefulSet } from '../../kube/builtin.ts'
import { isKubeError } from '../../kube/errors.ts'
import { isNamespaceTerminating, refOfPass } from '../workload/pass.ts'
import { annotateData, retained } from '../workload/retainedIncarnations.ts'
import { ignoreMissingRights } from '../workload/secrets.ts'
import { listFromApiServer, ordinalOf, podsOfStateful, type StatefulPass, workloadOf } from './pass.ts'
import { type EngineOf, engineText } from './retainedEngine.ts'
import type { Claim, Pod, StatefulSet } from './types.ts'
import { isOfFormerIncarnation, isOurClaim } from './volumes.ts'

/**
 * Deletes the pods before their volumes, so that no volume is removed while in use.
 *
 *   StatefulSet with pods ── no replicas ──> seen by its controller ── delete ──> gone ──> volumes
 *   pods without a StatefulSet (it was being replaced) ── delete, highest first ──> gone ──^
 *
 * If a StatefulSet is deleted directly, a running sync of its controller may still create a claim that nobody owns.
 * Once the controller has observed zero replicas, it creates none.
 */
export async function removeWorkload(pass: StatefulPass): Promise<Outcome> {
  const { namespace } = refOfPass(pass)
  const name = workloadOf(pass)
  if (isNamespaceTerminating(pass.records, refOfPass(pass).namespace)) {
    await pass.children.remove(statefulSet, namespace, name)
    return done()
  }
  const workload = await pass.children.get<StatefulSet>(statefulSet, namespace, name)
  if (workload?.metadata.deletionTimestamp !== undefined)
    return waiting('TearingDown', 'The workload is being deleted.')
  if (workload !== undefined && !(await isScaledDown(pass, workload))) return shutdownOutcome(podsOfStateful(pass))
  // List from the API server: the cache may lack the newest objects, and nobody looks again later.
  const remaining = await listFromApiServer<Pod>(pass, pod)
  if (remaining.length > 0) {
    if (workload === undefined) await removePods(pass, remaining)
    return shutdownOutcome(remaining)
  }
  if (!(await pass.children.remove(statefulSet, namespace, name)))
    return waiting('TearingDown', 'The workload is being deleted.')
  await removeRevisions(pass)
  return done()
}

/** Scales to zero, and returns whether the StatefulSet's controller has observed that and counts no pods. */
async function isScaledDown(pass: StatefulPass, workload: StatefulSet): Promise<boolean> {
  const { metadata, spec, status = {} } = workload
  if ((spec.replicas ?? 1) > 0) {
    const { uid, resourceVersion } = metadata
    await pass.workloads.client.mergePatch(
      statefulSet,
      refOf(workload),
      { spec: { replicas: 0 } },
      { uid, resourceVersion },
    )
    return false
  }
  return (status.observedGeneration ?? 0) >= (metadata.generation ?? 1) && (status.replicas ?? 0) === 0
}

/** Deletes pods orphaned by the replacement of a StatefulSet; nothing else would delete them. */
async function removePods(pass: StatefulPass, pods: readonly Pod[]): Promise<void> {
  const ordinal = (each: Pod) => ordinalOf(pass, each.metadata.name) ?? 0
  for (const each of pods.toSorted((a, b) => ordinal(b) - ordinal(a))) {
    if (each.metadata.deletionTimestamp !== undefined) continue
    await pass.workloads.client.remove(pod, refOf(each), { uid: each.metadata.uid })
  }
}

/** Deletes orphaned revisions, which only a new StatefulSet of this name would adopt. */
async function removeRevisions(pass: StatefulPass): Promise<void> {
  const { namespace, name } = refOfPass(pass)
  const { client } = pass.workloads
  const labelSelector = ownerLabelSelector(pass.kind.kind, name)
  // An older agent's role may not allow this: then they are deleted with the group.
  const { items } = await client.list(controllerRevision, { namespace, labelSelector }).catch((error: unknown) => {
    if (isKubeError(error, 'Forbidden')) return { items: [] }
    throw error
  })
  for (const each of items) {
    const { uid, ownerReferences = [] } = each.metadata
    if (ownerReferences.length === 0) await client.remove(controllerRevision, refOf(each), { uid })
  }
}

function shutdownOutcome(pods: readonly Pod[]): Outcome {
  const names = pods.map(({ metadata }) => metadata.name).sort()
  return waiting(
    'TearingDown',
    names.length === 0 ? 'Pods are shutting down.' : `Pods are shutting down: ${names.join(', ')}.`,
  )
}

/**
 * Deletes the other children now. The garbage collector may take half a minute, during which a new resource finds its
 * names taken, and keys remain.
 *
 * @param secretsOf always deleted
 * @param dataSecretsOf needed to read the volumes: retained together with them
 */
export function removeAuxiliaryChildren({
  resources,
  secretsOf,
  dataSecretsOf = () => [],
}: {
  resources: readonly Resource[]
  secretsOf: (name: string) => readonly string[]
  dataSecretsOf?: (name: string) => readonly string[]
}) {
  return async function removeAuxiliaryChildren(pass: StatefulPass): Promise<Outcome> {
    const { namespace, name } = refOfPass(pass)
    for (const resource of resources) await pass.children.prune(resource, [])
    await ignoreMissingRights(async () => {
      for (const each of secretsOf(name)) await pass.children.remove(secret, namespace, each)
      for (const each of dataSecretsOf(name)) {
        if (keepsData(pass)) await keepSecret(pass, each)
        else await pass.children.remove(secret, namespace, each)
      }
    })
    return done()
  }
}

function keepsData(pass: StatefulPass): boolean {
  return pass.object.spec.onDelete === 'Retain' && !isNamespaceTerminating(pass.records, refOfPass(pass).namespace)
}

/** Retains a Secret: without an owner it is not garbage-collected; the mark lets a resource of this name adopt it. */
async function keepSecret(pass: StatefulPass, name: string): Promise<void> {
  const { namespace } = refOfPass(pass)
  const found = await pass.children.get(secret, namespace, name)
  if (found === undefined) return
  await annotateData(pass, secret, found, retained(pass), { ownerReferences: null })
}

/**
 * Deletes the volumes, or retains them for a new resource of this name, as the accepted deletion asked. Leftovers of an
 * earlier incarnation are treated the same, so that deleting a resource always frees its name.
 */
export const removeVolumes =
  <P extends StatefulPass>(engineOf: EngineOf<P>) =>
  async (pass: P): Promise<Outcome> => {
    const claims = (await listFromApiServer<Claim>(pass, persistentVolumeClaim)).filter(
      (claim) => isOurClaim(pass, claim) || isOfFormerIncarnation(pass, claim),
    )
    if (keepsData(pass)) {
      for (const claim of claims) {
        if (claim.metadata.deletionTimestamp !== undefined) continue
        const engine = { [RETAINED_ENGINE_ANNOTATION]: engineText(engineOf(pass, claims)) }
        await annotateData(pass, persistentVolumeClaim, claim, { ...retained(pass), ...engine })
      }
      return done()
    }
    const remaining: string[] = []
    for (const claim of claims) {
      const { uid, resourceVersion, deletionTimestamp, name } = claim.metadata
      if (deletionTimestamp === undefined) {
        const remainder = await pass.workloads.client.remove(persistentVolumeClaim, refOf(claim), {
          uid,
          resourceVersion,
        })
        if (remainder === undefined) continue
      }
      remaining.push(name)
    }
    // The namespace's deletion removes its claims; waiting here would only delay it.
    if (remaining.length === 0 || isNamespaceTerminating(pass.records, refOfPass(pass).namespace)) return done()
    return waiting('TearingDown', `Volumes are being deleted: ${remaining.sort().join(', ')}.`)
  }
