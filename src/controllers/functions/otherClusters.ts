import { keyOf } from '../../core/object.ts'
import { FunctionNamespace, ServerlessFunction } from '../../crds/functions.ts'
import { ManagedIdentity } from '../../crds/managedidentities.ts'
import { BoundaryProjection } from '../../crds/projections.ts'
import type { Observed, Workspace } from '../engine/controller.ts'
import { related } from '../engine/lookups.ts'
import { otherClusterOf } from '../engine/workloadLocation.ts'
import type { CachedFunction } from './types.ts'

/** Returns the functions of a namespace of functions. */
export function functionsOf(
  records: Workspace,
  namespace: string | undefined,
  functionNamespace: string,
): readonly CachedFunction[] {
  return related(records.cache(ServerlessFunction), 'parent', namespace, functionNamespace)
}

/** Returns the functions whose namespaces are on the cluster. */
export function functionsOnCluster(records: Workspace, clusterId: string): readonly CachedFunction[] {
  return related(records.cache(FunctionNamespace), 'cluster', clusterId).flatMap(({ metadata }) =>
    functionsOf(records, metadata.namespace, metadata.name),
  )
}

/** Returns the other cluster that a function runs on, as its namespace says. */
export function clusterOfFunction(
  { metadata, spec }: Pick<ServerlessFunction, 'metadata' | 'spec'>,
  records: Workspace,
): string | undefined {
  const namespaces = records.cache(FunctionNamespace)
  const functionNamespace = namespaces.get(metadata.namespace, spec.namespaceName)
  return functionNamespace && otherClusterOf(functionNamespace, records)
}

/** Observes what only concerns functions on other clusters: projections, and credentials to copy there. */
export function otherClusterObservers(): Observed[] {
  return [
    {
      resource: BoundaryProjection.resource,
      keysOf: ({ metadata: { name } }, records) => functionsOnCluster(records, name).map(keyOf),
    },
    {
      resource: ManagedIdentity.resource,
      keysOf: ({ metadata, spec }, records) => {
        const { resourceType, resourceName } = spec as ManagedIdentity['spec']
        if (resourceType !== FunctionNamespace.segment) return []
        return functionsOf(records, metadata.namespace, resourceName)
          .filter((each) => clusterOfFunction(each, records) !== undefined)
          .map(keyOf)
      },
    },
  ]
}
