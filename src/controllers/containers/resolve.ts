import { sharedVolumeObstacle, unknownParameters } from '../../contracts/containerinstances.ts'
import { hasSharedVolumes } from '../../contracts/workloads.ts'
import { done, type Outcome, stalled } from '../../core/outcome.ts'
import { choosePlan } from '../../core/sizing/plans.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { storageClass } from '../../kube/builtin.ts'
import type { Workspace } from '../engine/controller.ts'
import type { InstancePass } from './types.ts'

/** Resolves each component's plan, and checks rules that the schema cannot express. */
export function resolveComponents({ kind, object, state, records, workloads }: InstancePass): Outcome {
  const { components, computePlan } = object.spec
  const plans = records.cache(ComputePlan).list()
  for (const component of components) {
    const choice = choosePlan(kind.sized ?? 'ContainerInstance', { computePlan, ...component }, plans)
    if (choice.kind === 'refused') return stalled(choice.reason, `Component "${component.name}": ${choice.message}`)
    state.plans.set(component.name, choice.plan)
  }
  state.replicas = components.reduce((sum, { replicas }) => sum + replicas, 0)
  const unshared = sharedVolumeObstacle(object.spec, (className) => isShared(workloads, className))
  return unshared === undefined ? done() : stalled('ConfigurationInvalid', unshared.message)
}

/** Checks that every parameter used by a component is defined. */
export function resolveParameters({ object }: InstancePass): Outcome {
  const { components, parameters } = object.spec
  for (const component of components) {
    const [unknown] = unknownParameters(component, parameters)
    if (unknown === undefined) continue
    const message = `Component "${component.name}" needs the parameter "${unknown}", which is not in parameters.`
    return stalled('ConfigurationInvalid', message)
  }
  return done()
}

/** Whether pods on several nodes can mount a volume of the class; of the default class if none is named. */
export function isShared(workloads: Workspace, className: string | undefined): boolean {
  return hasSharedVolumes(workloads.cache(storageClass).list(), className)
}
