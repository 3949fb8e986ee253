import { OWNER_INCARNATION_ANNOTATION, RETAINED_FOR_ANNOTATION } from '../../core/labels.ts'
import { done, type Outcome, waiting } from '../../core/outcome.ts'
import { vectorNames } from '../../core/vector.ts'
import {
  configMap,
  ingress,
  namespace as namespaces,
  networkPolicy,
  persistentVolumeClaim,
  podDisruptionBudget,
  secret,
  service,
  statefulSet,
} from '../../kube/builtin.ts'
import { isKubeError } from '../../kube/errors.ts'
import { pods } from './health.ts'
import { placeOfPass, type VectorPass } from './types.ts'
import { claimsByName, isOurClaim, markClaim, retainedFor } from './volumes.ts'

/** First the peers, then what they wrote to: a volume is never pulled from under a peer. */
export async function removeWorkload(pass: VectorPass): Promise<Outcome> {
  const { namespace, name } = placeOfPass(pass)
  const gone = await pass.children.remove(statefulSet, namespace, vectorNames(name).workload)
  if (namespaceIsGoing(pass)) return done()
  if (!gone) return waiting('TearingDown', 'The workload is being deleted.')
  const left = pods(pass).map(({ metadata }) => metadata.name)
  return left.length === 0 ? done() : waiting('TearingDown', `Peers are shutting down: ${left.sort().join(', ')}.`)
}

const SURROUNDINGS = [ingress, service, podDisruptionBudget, networkPolicy, configMap] as const

/**
 * Deletes the other children now. The garbage collector would, but it may take half a minute, during which a new
 * resource of this name finds its names taken, and the keys live on.
 */
export async function removeSurroundings(pass: VectorPass): Promise<Outcome> {
  const { namespace, name } = placeOfPass(pass)
  for (const resource of SURROUNDINGS) await pass.children.prune(resource, [])
  try {
    await pass.children.remove(secret, namespace, vectorNames(name).keys)
  } catch (error) {
    // The rights on Secrets go with the namespace, and so do the Secrets.
    if (!isKubeError(error, 'Forbidden')) throw error
  }
  return done()
}

/** Deletes the volumes, or keeps them for a new resource of this name: what the accepted deletion asked for. */
export async function removeVolumes(pass: VectorPass): Promise<Outcome> {
  const ours = [...claimsByName(pass).values()].filter((claim) => isOurClaim(pass, claim))
  const { namespace, name } = placeOfPass(pass)
  const going = namespaceIsGoing(pass)
  if (pass.object.spec.onDelete === 'Retain' && !going) {
    for (const claim of ours) {
      await markClaim(pass, claim, {
        [RETAINED_FOR_ANNOTATION]: retainedFor(name),
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

function namespaceIsGoing(pass: VectorPass): boolean {
  const { namespace } = placeOfPass(pass)
  const home = pass.records.cache(namespaces).get(undefined, namespace)
  return home === undefined || home.metadata.deletionTimestamp !== undefined
}
