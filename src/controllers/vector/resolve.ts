import { vectorNames } from '../../contracts/vector.ts'
import { done, type Outcome, stalled } from '../../core/outcome.ts'
import { choosePlan } from '../../core/sizing/plans.ts'
import { ComputePlan } from '../../crds/plans.ts'
import type { VectorCluster } from '../../crds/vector.ts'
import { statefulSet } from '../../kube/builtin.ts'
import { httpRoute } from '../../kube/gateway.ts'
import type { Step } from '../engine/controller.ts'
import { fillReplicas, findHome } from '../placement.ts'
import { checkQuotaOf } from '../quota.ts'
import { placeOfPass, type VectorOptions, type VectorPass, type VectorState } from './types.ts'

type VectorStep = Step<typeof VectorCluster, VectorState>

export function findCluster({ object, records, workloads, state }: VectorPass): Outcome {
  const { home, obstacle } = findHome(records, object.spec.clusterId)
  if (home === undefined) return obstacle
  state.home = home
  state.gateway = workloads.isServed(httpRoute) ? home.spec.gateway : undefined
  return done()
}

export function checkImage(options: Pick<VectorOptions, 'allowOwnImages'>): VectorStep {
  return function checkImage({ object }: VectorPass): Outcome {
    if (object.spec.imageName === undefined || options.allowOwnImages) return done()
    return stalled('ConfigurationInvalid', 'imageName is set, but this platform runs only images of its own.')
  }
}

/** The plan, and the number of peers: filled in once from the plan where it was left out. */
export async function resolvePlan(pass: VectorPass): Promise<Outcome> {
  const { object, records, state } = pass
  const plans = records.cache<ComputePlan & { [key: string]: unknown }>(ComputePlan.resource).list()
  const choice = choosePlan('Vector', object.spec, plans)
  if (choice.kind === 'refused') return stalled(choice.reason, choice.message)
  if (choice.plan.storageSize === undefined) {
    return stalled('ConfigurationInvalid', `Compute plan "${choice.name}" names no storage; set storageSize.`)
  }
  state.plan = choice.plan
  state.replicas = object.spec.replicas ?? choice.plan.replicas
  if (object.spec.replicas === undefined) await fillReplicas(pass, choice.plan.replicas)
  return done()
}

/** Whether it fits into the quotas of its boundary and group. */
export function checkQuota(pass: VectorPass): Outcome {
  const { namespace, name } = placeOfPass(pass)
  const exists = pass.workloads.cache(statefulSet).get(namespace, vectorNames(name).workload) !== undefined
  return checkQuotaOf(pass, exists && (!pass.object.spec.running || pass.state.replicas === 0))
}
