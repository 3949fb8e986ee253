import { OWNER_INCARNATION_ANNOTATION, RETAINED_FOR_ANNOTATION } from '../../core/labels.ts'
import { type Resource, refOf } from '../../core/object.ts'
import { done, type Outcome, waiting } from '../../core/outcome.ts'
import { namespace as namespaces, persistentVolumeClaim, secret, statefulSet } from '../../kube/builtin.ts'
import { isKubeError } from '../../kube/errors.ts'
import { placeOfStateful, podsOfStateful, type StatefulPass, workloadOf } from './pass.ts'
import { claimsByName, isOurClaim, markClaim, retainedFor } from './volumes.ts'

/** First the pods, then what they wrote to: a volume is never pulled from under one. */
export async function removeWorkload(pass: StatefulPass): Promise<Outcome> {
  const { namespace } = placeOfStateful(pass)
  const gone = await pass.children.remove(statefulSet, namespace, workloadOf(pass))
  if (namespaceIsGoing(pass)) return done()
  if (!gone) return waiting('TearingDown', 'The workload is being deleted.')
  const left = podsOfStateful(pass).map(({ metadata }) => metadata.name)
  return left.length === 0 ? done() : waiting('TearingDown', `Pods are shutting down: ${left.sort().join(', ')}.`)
}

/**
 * Deletes the other children now. The garbage collector would, but it may take half a minute, during which a new
 * resource of this name finds its names taken, and the keys live on.
 *
 * @param secretsOf always deleted
 * @param dataSecretsOf without which nobody can read what is on the volumes: kept where these are kept
 */
export function removeSurroundings({
  resources,
  secretsOf,
  dataSecretsOf = () => [],
}: {
  resources: readonly Resource[]
  secretsOf: (name: string) => readonly string[]
  dataSecretsOf?: (name: string) => readonly string[]
}) {
  return async function removeSurroundings(pass: StatefulPass): Promise<Outcome> {
    const { namespace, name } = placeOfStateful(pass)
    for (const resource of resources) await pass.children.prune(resource, [])
    try {
      for (const each of secretsOf(name)) await pass.children.remove(secret, namespace, each)
      for (const each of dataSecretsOf(name)) {
        if (keepsData(pass)) await keepSecret(pass, each)
        else await pass.children.remove(secret, namespace, each)
      }
    } catch (error) {
      // The rights on Secrets go with the namespace, and so do the Secrets.
      if (!isKubeError(error, 'Forbidden')) throw error
    }
    return done()
  }
}

function keepsData(pass: StatefulPass): boolean {
  return pass.object.spec.onDelete === 'Retain' && !namespaceIsGoing(pass)
}

/** Without its owner, or the garbage collector would take it, and with the mark by which a new resource has it back. */
async function keepSecret(pass: StatefulPass, name: string): Promise<void> {
  const { namespace } = placeOfStateful(pass)
  const found = await pass.children.get(secret, namespace, name)
  if (found === undefined) return
  const { uid, resourceVersion } = found.metadata
  const annotations = { [RETAINED_FOR_ANNOTATION]: retainedFor(pass), [OWNER_INCARNATION_ANNOTATION]: null }
  const patch = { metadata: { annotations, ownerReferences: null } }
  await pass.workloads.client.mergePatch(secret, refOf(found), patch, { uid, resourceVersion })
}

/** Deletes the volumes, or keeps them for a new resource of this name: what the accepted deletion asked for. */
export async function removeVolumes(pass: StatefulPass): Promise<Outcome> {
  const ours = [...claimsByName(pass).values()].filter((claim) => isOurClaim(pass, claim))
  const { namespace } = placeOfStateful(pass)
  const going = namespaceIsGoing(pass)
  if (keepsData(pass)) {
    for (const claim of ours) {
      await markClaim(pass, claim, {
        [RETAINED_FOR_ANNOTATION]: retainedFor(pass),
        [OWNER_INCARNATION_ANNOTATION]: null,
      })
    }
    return done()
  }
  for (const claim of ours) await pass.children.remove(persistentVolumeClaim, namespace, claim.metadata.name)
  // The deletion of a namespace takes its claims along; waiting here would only hold it up.
  if (going) return done()
  const left = [...claimsByName(pass).values()]
    .filter((claim) => isOurClaim(pass, claim))
    .map(({ metadata }) => metadata.name)
  return left.length === 0 ? done() : waiting('TearingDown', `Volumes are being deleted: ${left.sort().join(', ')}.`)
}

function namespaceIsGoing(pass: StatefulPass): boolean {
  const { namespace } = placeOfStateful(pass)
  const home = pass.records.cache(namespaces).get(undefined, namespace)
  return home === undefined || home.metadata.deletionTimestamp !== undefined
}
