import { done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { compareTexts } from '../../core/textOrder.ts'
import { type Gateway, PlatformCluster } from '../../crds/clusters.ts'
import { httpRoute } from '../../kube/gateway.ts'
import type { Workspace } from '../engine/controller.ts'
import type { WorkloadPass } from './pass.ts'

/** Finds the cluster to run on. The engine has already checked that another cluster is reachable. */
export function findCluster({ object, records, state }: WorkloadPass): Outcome {
  const { clusterId } = object.spec
  const clusters = records.cache(PlatformCluster)
  const cluster = clusterId === undefined ? platformCluster(records) : clusters.get(undefined, clusterId)
  if (cluster === undefined) {
    return clusterId === undefined
      ? waiting('WaitingForCluster', 'The PlatformCluster that the platform runs on does not exist yet.')
      : stalled('ReferenceMissing', `There is no cluster "${clusterId}".`)
  }
  state.cluster = cluster
  return done()
}

function platformCluster(records: Workspace): PlatformCluster | undefined {
  return records
    .cache(PlatformCluster)
    .list()
    .filter((cluster) => cluster.spec.isPlatform)
    .sort((a, b) => compareTexts(a.metadata.name, b.metadata.name))[0]
}

/** Returns the Gateway that replaces an Ingress; undefined if the cluster names none or serves no routes. */
export function gatewayOf({ state, workloads }: Pick<WorkloadPass, 'state' | 'workloads'>): Gateway | undefined {
  return workloads.isServed(httpRoute) ? state.cluster?.spec.gateway : undefined
}
