import { OWNER_KIND_LABEL, OWNER_NAME_LABEL } from '../../core/labels.ts'
import { type KubeObject, keyOf, objectKey, type Resource } from '../../core/object.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import type { AnyKind } from '../../crds/define.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { BoundaryProjection } from '../../crds/projections.ts'
import { pod, storageClass } from '../../kube/builtin.ts'
import type { Observed, Rights, Workspace } from '../engine/controller.ts'
import { related } from '../engine/lookups.ts'
import { otherClusterOf } from '../engine/workloadLocation.ts'
import { quotaObservers } from '../quota.ts'

type Planned = KubeObject & { spec: { computePlan?: string; components?: readonly { computePlan?: string }[] } }

/** Whether an object may use the plan. Without a plan it uses its family's default, which any plan may become. */
function mayUsePlan({ spec }: Planned, plan: string): boolean {
  const { computePlan = plan, components = [] } = spec
  return computePlan === plan || components.some((component) => component.computePlan === plan)
}

/** Wakes the resource named in a pod's labels. */
export function podObserver(kind: AnyKind): Observed {
  return {
    resource: pod,
    keysOf: ({ metadata: { labels, namespace } }) =>
      labels?.[OWNER_KIND_LABEL] === kind.kind ? [objectKey(namespace, labels[OWNER_NAME_LABEL] ?? '')] : [],
  }
}

type OnCluster = (records: Workspace, clusterId: string) => readonly KubeObject[]

/**
 * Wakes resources when their plan, their cluster or the room in their quota changes.
 *
 * @param onCluster returns those on another cluster; those that name it by default
 */
export function workloadObservers(
  kind: AnyKind,
  onCluster: OnCluster = (records, clusterId) => related(records.cache(kind.resource), 'cluster', clusterId),
): Observed[] {
  const all = (records: Workspace) => records.cache<Planned>(kind.resource).list()
  return [
    {
      resource: ComputePlan.resource,
      keysOf: ({ metadata: { name } }, records) =>
        all(records)
          .filter((each) => mayUsePlan(each, name))
          .map(keyOf),
      relevant: ({ metadata, spec }) => [metadata.uid, spec],
    },
    // The domains of all clusters decide which hosts a resource may have.
    {
      resource: PlatformCluster.resource,
      keysOf: (_, records) => all(records).map(keyOf),
      relevant: ({ spec }) => spec,
    },
    // A cluster that comes and goes must not wake the rest of the platform.
    {
      resource: PlatformCluster.resource,
      keysOf: (cluster, records) => {
        const { isPlatform } = cluster.spec as PlatformCluster['spec']
        return (isPlatform ? all(records) : onCluster(records, cluster.metadata.name)).map(keyOf)
      },
      relevant: stateOf,
    },
    ...(kind.runsAnywhere === true ? [projectionObserver(kind)] : []),
    ...quotaObservers(kind),
  ]
}

/** Wakes resources with volumes when their cluster gets a storage class, or one starts to allow expansion. */
export function volumeObserver(kind: AnyKind): Observed {
  return {
    resource: storageClass,
    keysOf: (_, records, clusterId) =>
      records
        .cache(kind.resource)
        .list()
        .filter((each) => otherClusterOf(each, records) === clusterId)
        .map(keyOf),
    relevant: (object) => (object as { allowVolumeExpansion?: boolean }).allowVolumeExpansion === true,
  }
}

/** Returns a cluster's settings and state, without its heartbeats. */
export function clusterSettingsOf(cluster: KubeObject): unknown {
  return [cluster.spec, stateOf(cluster)]
}

const stateOf = ({ status }: KubeObject) => (status as { state?: string } | undefined)?.state

/** Wakes the resources that run on the projection's cluster. */
function projectionObserver(kind: AnyKind): Observed {
  return {
    resource: BoundaryProjection.resource,
    keysOf: ({ metadata: { name } }, records) => related(records.cache(kind.resource), 'cluster', name).map(keyOf),
  }
}

export function childRights(children: readonly Resource[]): Rights[] {
  return children.map((resource) => ({ resource, verbs: ['get', 'create', 'patch', 'delete'] }))
}
