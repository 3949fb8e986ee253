import type { KubeObject } from '../core/object.ts'
import { type Outcome, stalled, waiting } from '../core/outcome.ts'
import { PlatformCluster } from '../crds/clusters.ts'
import type { AnyKind } from '../crds/define.ts'
import type { Pass, Workspace } from './engine/controller.ts'

type CachedCluster = PlatformCluster & { [key: string]: unknown }

/** `spec.replicas` is written under this name where it was left out, so that kubectl and Git keep their own fields. */
export const REPLICAS_MANAGER = 'freehold-replicas'

export type Home = { home: PlatformCluster; obstacle?: undefined } | { home?: undefined; obstacle: Outcome }

/** The cluster that a resource runs on: the platform's own, until other clusters have an agent. */
export function findHome(records: Workspace, clusterId: string | undefined): Home {
  const clusters = records.cache<CachedCluster>(PlatformCluster.resource)
  const home = clusterId === undefined ? platformCluster(records) : clusters.get(undefined, clusterId)
  if (home === undefined) {
    const obstacle =
      clusterId === undefined
        ? waiting('WaitingForCluster', 'The record of the cluster that the platform runs on is not there yet.')
        : stalled('ReferenceMissing', `There is no cluster "${clusterId}".`)
    return { obstacle }
  }
  if (home.spec.isPlatform) return { home }
  const message = `Cluster "${home.spec.displayName}" has no agent that could run resources.`
  return { obstacle: stalled('ClusterUnreachable', message) }
}

function platformCluster(records: Workspace): PlatformCluster | undefined {
  return records
    .cache<CachedCluster>(PlatformCluster.resource)
    .list()
    .filter((cluster) => cluster.spec.isPlatform)
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))[0]
}

/** Writes the number of replicas once, from the plan, where the spec left it out. */
export async function fillReplicas<K extends AnyKind, State>(pass: Pass<K, State>, replicas: number): Promise<void> {
  const { kind, records } = pass
  const { namespace, name, uid } = (pass.object as KubeObject).metadata
  await records.client.apply(
    kind.resource,
    {
      apiVersion: kind.apiVersion,
      kind: kind.kind,
      // The uid keeps this from making an object anew that was deleted meanwhile.
      metadata: { name, ...(namespace === undefined ? {} : { namespace }), ...(uid === undefined ? {} : { uid }) },
      spec: { replicas },
    },
    { fieldManager: REPLICAS_MANAGER },
  )
}
