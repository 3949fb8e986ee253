import type { ObjectMeta } from '../../core/object.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { EffectivePlan, PlanOverrides } from '../../core/sizing/plans.ts'
import type { PlatformCluster } from '../../crds/clusters.ts'
import type { AnyKind } from '../../crds/define.ts'
import { namespace as namespaces } from '../../kube/builtin.ts'
import type { Pass, Workspace } from '../engine/controller.ts'

/** A pass over a kind that runs something. Fields that a kind lacks are undefined. */
export type WorkloadPass = Omit<Pass, 'kind' | 'object' | 'state' | 'report'> & {
  readonly kind: AnyKind
  readonly object: {
    readonly metadata: ObjectMeta
    readonly spec: PlanOverrides & {
      readonly clusterId?: string | undefined
      readonly imageName?: string | undefined
      readonly running?: boolean
      readonly replicas?: number | undefined
      readonly enableLoadBalancer?: boolean
      readonly restartedAt?: string | undefined
    }
    readonly status?: Readonly<
      Partial<Record<'phase' | 'firstReadyAt' | 'restartedAt' | 'computePlan', string | undefined>>
    > & { readonly observedGeneration?: number | undefined }
  }
  readonly state: WorkloadState
  report(fields: object): void
}

/** State shared by the steps of all workloads. Each field is set by the named step and read by later ones only. */
export type WorkloadState = {
  /** findCluster */
  cluster?: PlatformCluster | undefined
  /** resolvePlan */
  plan?: EffectivePlan | undefined
  planName: string
  /** resolvePlan: the requested replicas, whether or not the resource runs. */
  replicas: number
}

export function newWorkloadState(): WorkloadState {
  return { planName: '', replicas: 1 }
}

export function refOfPass({ object }: { object: { metadata: ObjectMeta } }): { namespace: string; name: string } {
  const { namespace = '', name } = object.metadata
  return { namespace, name }
}

/** Adapts a step for one form of pass to another, keeping its name. */
export function stepAdapter<From, To>(passOf: (pass: From) => To) {
  return (step: (pass: To) => Outcome | Promise<Outcome>) => {
    const adapted = (pass: From): Outcome | Promise<Outcome> => step(passOf(pass))
    return Object.defineProperty(adapted, 'name', { value: step.name })
  }
}

/** Returns the pass with a changed spec. */
export function withSpec<P extends { readonly object: { readonly spec: object } }>(
  pass: P,
  change: Partial<P['object']['spec']> & { readonly clusterId?: string | undefined },
): P {
  return { ...pass, object: { ...pass.object, spec: { ...pass.object.spec, ...change } } }
}

/** Whether a namespace is being deleted, which deletes its content: then nothing there has to be waited for. */
export function isNamespaceTerminating(records: Workspace, namespace: string): boolean {
  const namespaceObject = records.cache(namespaces).get(undefined, namespace)
  return namespaceObject === undefined || namespaceObject.metadata.deletionTimestamp !== undefined
}

/** Returns the plan, after `resolvePlan`. */
export function planOf({ state }: { state: Pick<WorkloadState, 'plan'> }): EffectivePlan {
  if (state.plan === undefined) throw new Error('resolvePlan must run before.')
  return state.plan
}

/** Returns how many copies must run now. */
export function wantedReplicas({ object, state }: Pick<WorkloadPass, 'object' | 'state'>): number {
  return object.spec.running === false ? 0 : state.replicas
}
