import { keyOf } from '../../core/object.ts'
import { FunctionNamespace, type ServerlessFunction } from '../../crds/functions.ts'
import { ManagedIdentity } from '../../crds/managedidentities.ts'
import { BoundaryProjection } from '../../crds/projections.ts'
import type { Observed, Workspace } from '../engine/controller.ts'
import { otherClusterOf } from '../engine/workloadLocation.ts'
import type { CachedFunction } from './types.ts'

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
export function otherClusterObservers(
  functionsIn: (records: Workspace, namespace?: string) => readonly CachedFunction[],
): Observed[] {
  return [
    {
      resource: BoundaryProjection.resource,
      keysOf: ({ metadata: { name } }, records) =>
        functionsIn(records)
          .filter((each) => clusterOfFunction(each, records) === name)
          .map(keyOf),
    },
    {
      resource: ManagedIdentity.resource,
      keysOf: ({ metadata, spec }, records) => {
        const { resourceType, resourceName } = spec as ManagedIdentity['spec']
        if (resourceType !== FunctionNamespace.segment) return []
        return functionsIn(records, metadata.namespace)
          .filter((each) => each.spec.namespaceName === resourceName && clusterOfFunction(each, records) !== undefined)
          .map(keyOf)
      },
    },
  ]
}
