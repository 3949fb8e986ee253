import { done, type Outcome, stalled } from '../../core/outcome.ts'
import { choosePlan } from '../../core/sizing/plans.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { checkQuotaOf } from '../quota.ts'
import type { WorkloadPass } from './pass.ts'

type WorkloadStep = (pass: WorkloadPass) => Outcome | Promise<Outcome>

/** Refuses an image of the caller's own where the platform does not allow them. */
export function checkImage({ allowOwnImages }: { allowOwnImages: boolean }): WorkloadStep {
  return function checkImage({ object }: WorkloadPass): Outcome {
    if (object.spec.imageName === undefined || allowOwnImages) return done()
    return stalled('ConfigurationInvalid', 'imageName is set, but this platform runs only images of its own.')
  }
}

/** `spec.replicas` is written under this name where it was left out, so that kubectl and Git keep their own fields. */
export const REPLICAS_MANAGER = 'freehold-replicas'

/**
 * The plan, and how many run: of a kind that scales, the number is filled in once from the plan where it was left out.
 * Of a kind with volumes, the plan or the spec must say how large they are.
 */
export function resolvePlan({
  scales,
  hasVolumes = true,
}: {
  /** The fewest that run where the plan says how many. */
  scales?: { fewest: number }
  hasVolumes?: boolean
} = {}): WorkloadStep {
  return async function resolvePlan(pass: WorkloadPass): Promise<Outcome> {
    const { kind, object, records, state } = pass
    if (kind.sized === undefined) throw new Error(`${kind.kind} has no plans.`)
    const plans = records.cache<ComputePlan & { [key: string]: unknown }>(ComputePlan.resource).list()
    const choice = choosePlan(kind.sized, object.spec, plans)
    if (choice.kind === 'refused') return stalled(choice.reason, choice.message)
    if (hasVolumes && choice.plan.storageSize === undefined) {
      return stalled('ConfigurationInvalid', `Compute plan "${choice.name}" names no storage; set storageSize.`)
    }
    state.plan = choice.plan
    state.planName = choice.name
    if (scales === undefined) return done()
    state.replicas = object.spec.replicas ?? Math.max(scales.fewest, choice.plan.replicas)
    if (object.spec.replicas === undefined) await fillReplicas(pass, state.replicas)
    return done()
  }
}

async function fillReplicas({ kind, object, records }: WorkloadPass, replicas: number): Promise<void> {
  const { name, namespace, uid } = object.metadata
  // The uid keeps this from making an object anew that was deleted meanwhile.
  const metadata = { name, ...(namespace === undefined ? {} : { namespace }), ...(uid === undefined ? {} : { uid }) }
  const { apiVersion } = kind
  const intent = { apiVersion, kind: kind.kind, metadata, spec: { replicas } }
  await records.client.apply(kind.resource, intent, { fieldManager: REPLICAS_MANAGER })
}

/**
 * Whether it fits into the quotas of its boundary and group. What is made already may always be stopped.
 *
 * @param isMade whether what would be stopped is there
 */
export function checkQuota<P extends WorkloadPass>(isMade: (pass: P) => boolean) {
  return function checkQuota(pass: P): Promise<Outcome> {
    const isStopped = pass.object.spec.running === false || pass.state.replicas === 0
    return checkQuotaOf(pass, isStopped && isMade(pass))
  }
}
