import { INCARNATION_ANNOTATION } from '../../src/core/labels.ts'
import { choosePlan } from '../../src/core/sizing/plans.ts'
import { DEFAULT_PLANS } from '../../src/crds/defaultPlans.ts'
import type { SpecOf } from '../../src/crds/define.ts'
import { ComputePlan } from '../../src/crds/plans.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import { vectorInput as inputOf, type VectorInput } from '../../src/desired/vector/index.ts'

export type VectorSpec = SpecOf<typeof VectorCluster>

/** A vector database named `products`, as the API server would answer it after a create with these fields. */
export function vectorCluster(
  spec: Partial<VectorSpec> = {},
  metadata: Partial<VectorCluster['metadata']> = {},
): VectorCluster {
  const { annotations, ...rest } = metadata
  return {
    apiVersion: VectorCluster.apiVersion,
    kind: VectorCluster.kind,
    metadata: {
      name: 'products',
      namespace: 'search-0123456789',
      uid: 'uid-products',
      resourceVersion: '1',
      generation: 1,
      creationTimestamp: '2026-11-01T10:00:00Z',
      annotations: { [INCARNATION_ANNOTATION]: 'incarnation-products', ...annotations },
      ...rest,
    },
    spec: VectorCluster.spec.parse(spec),
  }
}

/** The plans for vector databases that a new platform offers. */
export function computePlans(): ComputePlan[] {
  return Object.entries(DEFAULT_PLANS)
    .filter(([, spec]) => spec.family === 'Vector')
    .map(([name, spec]) => ({ apiVersion: ComputePlan.apiVersion, kind: ComputePlan.kind, metadata: { name }, spec }))
}

/** The input of the builders of its children, with a plan from the installed ones. */
export function vectorInput(spec: Partial<VectorSpec> = {}, over: Partial<VectorInput> = {}): VectorInput {
  const cluster = vectorCluster(spec)
  const choice = choosePlan('Vector', cluster.spec, computePlans())
  if (choice.kind === 'refused') throw new Error(choice.message)
  const input = inputOf({
    cluster,
    plan: choice.plan,
    incarnation: 'incarnation-products',
    peers: cluster.spec.replicas ?? choice.plan.replicas,
    keys: { main: { version: 1, id: 'k1' }, alternative: undefined },
    host: undefined,
    ingressClassName: undefined,
    gateway: undefined,
  })
  return { ...input, ...over }
}
