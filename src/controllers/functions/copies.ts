import { ownerLabelSelector } from '../../contracts/workloads.ts'
import { done, type Outcome, waiting } from '../../core/outcome.ts'
import { pluralize, pluralizeVerb } from '../../core/pluralize.ts'
import { copiesWithin, type Demand, NO_DEMAND } from '../../core/sizing/demand.ts'
import { FunctionNamespace } from '../../crds/functions.ts'
import { wantedCopies } from '../../desired/functions.ts'
import { hasEnded } from '../../desired/workload/evicted.ts'
import { isDeployed, type LiveDeployment, type LivePod } from '../../desired/workload/podProblems.ts'
import { deployment, pod } from '../../kube/builtin.ts'
import { related } from '../engine/lookups.ts'
import { checkQuota, ensureGrantedDemand, releaseSurplusQuota } from '../quota.ts'
import { scaleTo } from '../workload/halt.ts'
import { isNamespaceTerminating, refOfPass } from '../workload/pass.ts'
import { demandOfWorkload, type Workload } from '../workload/workloadQuota.ts'
import type { FunctionPass } from './types.ts'

export const namespaceOf = ({ object, records }: Pick<FunctionPass, 'object' | 'records'>) =>
  records.cache(FunctionNamespace).get(object.metadata.namespace, object.spec.namespaceName)

/** Returns the pods that have not ended, including terminating ones. */
export const podsOf = (pass: FunctionPass) => allPodsOf(pass).filter((each) => !hasEnded(each))

export const endedPodsOf = (pass: FunctionPass) => allPodsOf(pass).filter(hasEnded)

function allPodsOf({ object, workloads }: FunctionPass): LivePod[] {
  const { namespace, name } = refOfPass({ object })
  return [...related(workloads.cache<LivePod>(pod), 'owner', namespace, object.kind, name)]
}

/** Checks the quota for the maximum number of copies. If it does not fit, what was granted before keeps running. */
export async function checkCopies(pass: FunctionPass): Promise<Outcome> {
  const outcome = await checkQuota(pass)
  if (outcome.kind === 'done') return outcome
  const [made] = pass.children.owned<ScalableDeployment>(deployment)
  // A function that never ran waits in line for quota, and granting it nothing would remove it from the line.
  if (made === undefined && pass.object.status?.firstReadyAt === undefined) return outcome
  const running = made === undefined ? NO_DEMAND : demandOfWorkload(made.spec)
  await scaleWithin(await ensureGrantedDemand(pass, running), pass, made)
  return outcome
}

type ScalableDeployment = LiveDeployment & Workload

/** Scales within the grant: a function whose change is refused must still scale, or it would never wake up. */
async function scaleWithin(granted: Demand, pass: FunctionPass, made: ScalableDeployment | undefined): Promise<void> {
  if (made !== undefined)
    await scaleCopies(pass, made, copiesWithin(granted, demandOfWorkload({ ...made.spec, replicas: 1 })))
}

/** The same for a refusal after the quota was checked. */
export async function scaleServedVersion(pass: FunctionPass): Promise<void> {
  for (const made of pass.children.owned<ScalableDeployment>(deployment)) await scaleCopies(pass, made)
}

async function scaleCopies(pass: FunctionPass, made: ScalableDeployment, most = Infinity): Promise<void> {
  const replicas = Math.min(wantedCopies(pass.object, pass.state.functionNamespace), most)
  pass.report({ replicas })
  await scaleTo(pass, deployment, made, replicas)
}

/** Gives back quota once surplus copies are gone, because a terminating copy still finishes its calls. */
export async function releaseCopyQuota(pass: FunctionPass): Promise<Outcome> {
  const { object, state } = pass
  const remaining = podsOf(pass).length
  const isAsAsked = state.deployment === undefined || isDeployed(state.deployment)
  const maxCopies = state.deployment === undefined ? 0 : wantedCopies(object, namespaceOf(pass))
  return isAsAsked && remaining <= maxCopies ? releaseSurplusQuota(pass) : done()
}

/** Waits until all copies are gone, unless the Kubernetes namespace is being deleted with them. */
export async function awaitCopiesGone(pass: FunctionPass): Promise<Outcome> {
  const { namespace, name } = refOfPass(pass)
  const labelSelector = ownerLabelSelector(pass.kind.kind, name)
  // List from the API server: the cache may lack the newest pods, and nobody looks again later.
  const remaining = (await pass.workloads.client.list(pod, { namespace, labelSelector })).items.length
  const isGone = remaining === 0 && pass.children.owned(deployment).length === 0
  if (isGone || isNamespaceTerminating(pass.records, namespace)) return done()
  return waiting(
    'TearingDown',
    `${pluralize(remaining, 'copy', 'copies')} ${pluralizeVerb(remaining, 'is', 'are')} shutting down.`,
  )
}
