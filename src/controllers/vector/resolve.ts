import { done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { ComputePlan } from '../../crds/plans.ts'
import type { VectorCluster } from '../../crds/vector.ts'
import { choosePlan } from '../../desired/plans.ts'
import type { Step, Workspace } from '../engine/controller.ts'
import { placeOfPass, type VectorOptions, type VectorPass, type VectorState } from './types.ts'

type VectorStep = Step<typeof VectorCluster, VectorState>

/** `spec.replicas` is written under this name where it was left out, so that kubectl and Git keep their own fields. */
export const REPLICAS_MANAGER = 'freehold-replicas'

/** The cluster that it runs on: the platform's own, until other clusters have an agent. */
export function findCluster({ object, records, state }: VectorPass): Outcome {
  const { clusterId } = object.spec
  const clusters = records.cache<PlatformCluster & { [key: string]: unknown }>(PlatformCluster.resource)
  const home = clusterId === undefined ? platformCluster(records) : clusters.get(undefined, clusterId)
  if (home === undefined) {
    if (clusterId !== undefined) return stalled('ReferenceMissing', `There is no cluster "${clusterId}".`)
    return waiting('WaitingForCluster', 'The record of the cluster that the platform runs on is not there yet.')
  }
  if (!home.spec.isPlatform) {
    return stalled('ClusterUnreachable', `Cluster "${home.spec.displayName}" has no agent that could run resources.`)
  }
  state.home = home
  return done()
}

function platformCluster(records: Workspace): PlatformCluster | undefined {
  return records
    .cache<PlatformCluster & { [key: string]: unknown }>(PlatformCluster.resource)
    .list()
    .filter((cluster) => cluster.spec.isPlatform)
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))[0]
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

async function fillReplicas(pass: VectorPass, replicas: number): Promise<void> {
  const { kind, object, records } = pass
  const { namespace, name } = placeOfPass(pass)
  await records.client.apply(
    kind.resource,
    {
      apiVersion: kind.apiVersion,
      kind: kind.kind,
      // The uid keeps this from making an object anew that was deleted meanwhile.
      metadata: { name, namespace, ...(object.metadata.uid === undefined ? {} : { uid: object.metadata.uid }) },
      spec: { replicas },
    },
    { fieldManager: REPLICAS_MANAGER },
  )
}
