import { OWNER_KIND_LABEL, OWNER_NAME_LABEL } from '../../core/labels.ts'
import { type KubeObject, keyOf, objectKey, type Resource } from '../../core/object.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import type { AnyKind } from '../../crds/define.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { BoundaryProjection } from '../../crds/projections.ts'
import { pod, storageClass } from '../../kube/builtin.ts'
import type { Observed, Rights, Workspace } from '../engine/controller.ts'
import { otherClusterOf } from '../engine/whereabouts.ts'
import { quotaObservers } from '../quota.ts'

type Planned = KubeObject & { spec: { computePlan?: string; components?: readonly { computePlan?: string }[] } }

/** Without a name it is the default of its family, which any plan may become. */
function mayHave({ spec }: Planned, plan: string): boolean {
  const { computePlan = plan, components = [] } = spec
  return computePlan === plan || components.some((component) => component.computePlan === plan)
}

/** Triggers the resource whose labels a pod carries. */
export function podObserver(kind: AnyKind): Observed {
  return {
    resource: pod,
    keysOf: ({ metadata: { labels, namespace } }) =>
      labels?.[OWNER_KIND_LABEL] === kind.kind ? [objectKey(namespace, labels[OWNER_NAME_LABEL] ?? '')] : [],
  }
}

/** Triggers resources when their plan, the cluster that they run on or the room in their quota changes. */
export function workloadObservers(kind: AnyKind): Observed[] {
  const all = (records: Workspace) => records.cache<Planned>(kind.resource).list()
  return [
    {
      resource: ComputePlan.resource,
      keysOf: ({ metadata: { name } }, records) =>
        all(records)
          .filter((each) => mayHave(each, name))
          .map(keyOf),
    },
    { resource: PlatformCluster.resource, keysOf: (_, records) => all(records).map(keyOf), relevant: ofCluster },
    ...(kind.runsAnywhere === true ? [projectionObserver(kind)] : []),
    ...quotaObservers(kind),
  ]
}

/** Triggers resources with volumes when their cluster has another storage class, or one lets volumes grow by now. */
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

/** Of a cluster its settings and its state count, not each sign of life. */
export function ofCluster({ spec, status }: KubeObject): unknown {
  return [spec, (status as { state?: string } | undefined)?.state]
}

/** Wakes the resources that the projection lets run on its cluster. */
function projectionObserver(kind: AnyKind): Observed {
  type Placed = KubeObject & { spec: { clusterId?: string } }
  return {
    resource: BoundaryProjection.resource,
    keysOf: ({ metadata: { name } }, records) =>
      records
        .cache<Placed>(kind.resource)
        .list()
        .filter(({ spec }) => spec.clusterId === name)
        .map(keyOf),
  }
}

/** What a controller may do with its children. */
export function childRights(children: readonly Resource[]): Rights[] {
  return children.map((resource) => ({ resource, verbs: ['get', 'create', 'patch', 'delete'] }))
}
