import { done, type Outcome, stalled } from '../../core/outcome.ts'
import { choosePlan, type PlanChoice, type PlanOverrides } from '../../core/sizing/plans.ts'
import type { AnyKind } from '../../crds/define.ts'
import { ComputePlan } from '../../crds/plans.ts'
import type { Workspace } from '../engine/controller.ts'
import type { WorkloadPass } from './pass.ts'

type WorkloadStep = (pass: WorkloadPass) => Outcome | Promise<Outcome>

/** Refuses a custom image if the platform does not allow them. */
export function checkImage({ allowOwnImages }: { allowOwnImages: boolean }): WorkloadStep {
  return function checkImage({ object }: WorkloadPass): Outcome {
    if (object.spec.imageName === undefined || allowOwnImages) return done()
    return stalled('ConfigurationInvalid', 'imageName is set, but this platform runs only its own images.')
  }
}

/**
 * Resolves the plan and the number of replicas. For a kind with volumes, the plan or the spec must set their size.
 *
 * @param minReplicas minimum replicas if the plan sets the number; only for a kind that scales
 */
export function resolvePlan({
  minReplicas,
  hasVolumes = true,
  runsOnce = false,
}: {
  minReplicas?: number
  hasVolumes?: boolean
  /** Whether the plan is only resolved once, so that the accepted plan need not be reported. */
  runsOnce?: boolean
} = {}): WorkloadStep {
  return function resolvePlan(pass: WorkloadPass): Outcome {
    const { kind, object, records, state } = pass
    const choice = planOfSpec(kind, object.spec, records)
    if (choice.kind === 'refused') return stalled(choice.reason, choice.message)
    if (isNewlyDeprecated(pass, choice.name)) {
      return stalled('PlanNotFound', `Compute plan "${choice.name}" is no longer offered; name another one.`)
    }
    if (hasVolumes && choice.plan.storageSize === undefined) {
      return stalled('ConfigurationInvalid', `Compute plan "${choice.name}" names no storage; set storageSize.`)
    }
    state.plan = choice.plan
    state.planName = choice.name
    if (!runsOnce) pass.report({ computePlan: choice.name })
    if (minReplicas !== undefined) state.replicas = object.spec.replicas ?? Math.max(minReplicas, choice.plan.replicas)
    return done()
  }
}

/** Whether it newly asks for a plan that is no longer offered; existing users keep the plan. */
function isNewlyDeprecated({ object: { spec, status }, records }: WorkloadPass, name: string): boolean {
  const accepted = status?.computePlan ?? (status?.firstReadyAt === undefined ? undefined : name)
  if (spec.computePlan === undefined || accepted === name) return false
  return records.cache(ComputePlan).get(undefined, name)?.spec.deprecated === true
}

function planOfSpec({ kind, sized }: AnyKind, spec: PlanOverrides, records: Workspace): PlanChoice {
  if (sized === undefined) throw new Error(`${kind} has no plans.`)
  return choosePlan(sized, spec, records.cache(ComputePlan).list())
}

/** Returns `fillSpec` for a kind that scales: the plan's replicas, if the spec has none. */
export function fillReplicas(kind: AnyKind, minReplicas: number) {
  return ({ spec }: Pick<WorkloadPass['object'], 'spec'>, records: Workspace): { replicas: number } | undefined => {
    if (spec.replicas !== undefined) return undefined
    const choice = planOfSpec(kind, spec, records)
    return choice.kind === 'refused' ? undefined : { replicas: Math.max(minReplicas, choice.plan.replicas) }
  }
}
