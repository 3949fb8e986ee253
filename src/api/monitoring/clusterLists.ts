import type { z } from 'zod'
import { clusterStateOf, isClusterReachable } from '../../contracts/clusters.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { isKubeError } from '../../kube/errors.ts'
import type { Context, Services } from '../http/context.ts'
import type { RouteDraft } from '../http/route.ts'
import { listRoute } from '../resources/collection/columns.ts'
import { defaultCluster } from '../resources/find.ts'
import type { ClusterTarget } from './kubernetesObjects.ts'

/** Lists the ids of clusters that are missing from a response. */
const MISSING_CLUSTERS_HEADER = 'freehold-missing-clusters'

/** A cluster, as its rows name it. */
export type ListedCluster = ClusterTarget & { readonly clusterId: string; readonly clusterName: string }

function clustersOf(services: Services, signal: AbortSignal): { where: ListedCluster; isThere: boolean }[] {
  const own = defaultCluster(services)
  const others = services.records.peekAll(PlatformCluster).flatMap((cluster) => {
    const { metadata, spec } = cluster
    const state = clusterStateOf(cluster, services.clock.now())
    // No agent has joined yet, or none may any more.
    if (spec.isPlatform || state === 'AwaitingJoin' || state === 'Revoked') return []
    const where = { clusterId: metadata.name, clusterName: spec.displayName, otherClusterId: metadata.name, signal }
    return [{ where, isThere: isClusterReachable(state) }]
  })
  const here = { clusterId: own.id, clusterName: own.name, otherClusterId: undefined, signal: undefined }
  return [{ where: here, isThere: true }, ...others]
}

/** The timeout for other clusters in milliseconds, so that a hanging one does not delay the rest. */
const CLUSTER_TIMEOUT_MS = 5_000

type Read<Row> = (where: ListedCluster) => Promise<readonly Row[]>

/** Returns the rows of all clusters that answer, and the ids of those that do not. */
async function rowsOfClusters<Row>(services: Services, read: Read<Row>) {
  const missing: string[] = []
  const ending = new AbortController()
  const deadline = services.clock.setTimeout(() => ending.abort(), CLUSTER_TIMEOUT_MS)
  const rows = await Promise.all(
    clustersOf(services, ending.signal).map(async ({ where, isThere }) => {
      if (!isThere) return void missing.push(where.clusterId)
      try {
        return await read(where)
      } catch (error) {
        const isSilent = ending.signal.aborted || isKubeError(error)
        if (where.otherClusterId === undefined || !isSilent) throw error
        return void missing.push(where.clusterId)
      }
    }),
  ).finally(() => deadline.cancel())
  return { rows: rows.flatMap((each) => each ?? []), missing: missing.sort() }
}

type Declaration<Dto extends z.ZodObject, Query extends z.ZodObject> = Omit<
  Parameters<typeof listRoute<Dto, Query>>[1],
  'rows'
> & {
  rowsOf: (context: Context<string, z.output<Query>>) => Promise<Read<z.output<Dto>>>
}

/** Returns a list route over all clusters. Clusters that do not answer are left out and named in a header. */
export function clusterListRoute<Dto extends z.ZodObject, Query extends z.ZodObject = z.ZodObject>(
  path: string,
  { rowsOf, ...declaration }: Declaration<Dto, Query>,
): RouteDraft {
  const missingByContext = new WeakMap<object, string[]>()
  const draft = listRoute<Dto, Query>(path, {
    ...declaration,
    unfollowed: 'the API servers of all clusters',
    rows: async (context) => {
      const { rows, missing } = await rowsOfClusters(context.services, await rowsOf(context))
      missingByContext.set(context, missing)
      return rows
    },
  })
  return {
    ...draft,
    handler: async (context) => {
      const answer = await draft.handler(context)
      const missing = missingByContext.get(context) ?? []
      if (missing.length === 0) return answer
      return { ...answer, headers: { ...answer.headers, [MISSING_CLUSTERS_HEADER]: missing.join(', ') } }
    },
  }
}
