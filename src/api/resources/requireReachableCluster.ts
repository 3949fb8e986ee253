import { clusterStateOf } from '../../contracts/clusters.ts'
import { PlatformError } from '../../core/errors.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import type { Services } from '../http/context.ts'

/** Seconds after which an agent that lost its connection may be back. */
const RETRY_AFTER_SECONDS = 30

/**
 * Refuses a write to a cluster that cannot be reached, and says what is wrong and whether a retry can help.
 *
 * @throws PlatformError INVALID_STATE if an agent must join first, SERVICE_UNAVAILABLE if it may come back by itself
 */
export function requireReachableCluster(
  { records, clock }: Pick<Services, 'records' | 'clock'>,
  clusterId: string,
): void {
  const cluster = records.peek(PlatformCluster, { name: clusterId })
  if (cluster === undefined) return
  const { displayName } = cluster.spec
  const state = clusterStateOf(cluster, clock.now())
  if (state === 'Revoked' || state === 'AwaitingJoin') {
    const why = state === 'Revoked' ? 'The agent of cluster' : 'No agent has joined cluster'
    const what = state === 'Revoked' ? 'was revoked: let it join again first.' : 'yet: let one join first.'
    const phase = state === 'Revoked' ? 'ClusterRevoked' : 'WaitingForCluster'
    throw new PlatformError('INVALID_STATE', `${why} "${displayName}" ${what}`, { status: 'Failed', phase })
  }
  if (state !== 'Offline') return
  throw new PlatformError('SERVICE_UNAVAILABLE', `Cluster "${displayName}" does not answer at the moment.`, {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  })
}
