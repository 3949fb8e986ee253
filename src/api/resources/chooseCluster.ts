import { PlatformError } from '../../core/errors.ts'
import type { AnyKind } from '../../crds/define.ts'
import type { Services } from '../http/context.ts'
import { type ClusterInfo, clusterInfo, defaultCluster, defaultClusterOf, isProjectedOn } from './find.ts'
import type { WriteView } from './types.ts'

/**
 * Returns the cluster of a body: the one it names, or at creation the boundary's default. The id that was read may be
 * sent back.
 *
 * @throws PlatformError CLUSTER_NOT_PROJECTED
 */
export function chooseCluster<K extends AnyKind>(
  kind: AnyKind,
  clusterId: string | undefined,
  { services, boundaryId, previous }: WriteView<K>,
): string | undefined {
  if (previous !== undefined) {
    const stored = (previous as { spec: { clusterId?: string | undefined } }).spec.clusterId
    const shown = clusterInfo(services, stored).id
    return clusterId === undefined || clusterId === shown ? stored : clusterId
  }
  const wanted = clusterId ?? defaultClusterFor(kind, services, boundaryId).id
  checkProjected(services, boundaryId, wanted, kind)
  return wanted
}

/** Returns the cluster of a new resource of the kind that names none. */
export function defaultClusterFor(kind: AnyKind, services: Services, boundaryId: string): ClusterInfo {
  return kind.runsAnywhere === true ? defaultClusterOf(services, boundaryId) : defaultCluster(services)
}

/** @throws PlatformError CLUSTER_NOT_PROJECTED */
export function checkProjected(services: Services, boundaryId: string, wanted: string, kind: AnyKind): void {
  if (isProjectedOn(services, boundaryId, wanted, kind)) return
  const message =
    kind.runsAnywhere === true
      ? `The boundary is not projected on cluster "${wanted}".`
      : `${kind.segment} run on the platform's own cluster only, not on "${wanted}".`
  throw new PlatformError('CLUSTER_NOT_PROJECTED', message, { field: 'clusterId', value: wanted })
}
