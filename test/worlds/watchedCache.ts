import type { KubeObject } from '../../src/core/object.ts'
import { configMap } from '../../src/kube/builtin.ts'
import { type CacheEvent, WatchCache, type WatchCacheOptions } from '../../src/kube/cache.ts'
import { createKubeClient } from '../../src/kube/client.ts'
import { staticAccess } from '../make/access.ts'
import { type PlayedRequest, WatchServer } from './watchServer.ts'

export type ConfigMap = KubeObject & { data?: Record<string, string> }
type Script = (request: PlayedRequest) => void

export type WatchedCache = Awaited<ReturnType<typeof watchedCache>>

/** A cache of config maps that watches a simulated server, and the events for its subscriber. */
export async function watchedCache(options: Partial<WatchCacheOptions<ConfigMap>>, ...scripts: Script[]) {
  const server = await new WatchServer(...scripts).start()
  const client = createKubeClient(staticAccess({ server: server.url }), { fieldManager: 'test', userAgent: 'test' })
  const cache = new WatchCache<ConfigMap>({
    client,
    resource: configMap,
    indexes: { n: (object) => (object.data?.n ? [object.data.n] : []) },
    random: () => 0,
    ...options,
    timings: { backoff: 10, ...options.timings },
  })
  const seen: string[] = []
  cache.subscribe((event: CacheEvent<ConfigMap>) => seen.push(`${event.type} ${event.object.metadata.name}`))
  cache.start()
  return {
    server,
    cache,
    seen,
    async stop(): Promise<void> {
      await cache.stop()
      await client.close()
      await server.stop()
    },
  }
}
