import { z } from 'zod'
import { messageOf } from '../../core/errors.ts'
import type { PrometheusOptions } from './client.ts'
import { queryPrometheus, Sample } from './httpApi.ts'
import type { WalMeasurement, WalMetrics } from './port.ts'

/** Metrics of CloudNativePG's instances (its page on monitoring); the volume size is in WAL files. */
const QUERIES = {
  readyCount: 'max by (namespace, pod) (cnpg_collector_pg_wal_archive_status{value="ready"})',
  volumePercent:
    '100 * max by (namespace, pod) (cnpg_collector_pg_wal{value="count"}) / max by (namespace, pod) (cnpg_collector_pg_wal{value="volume_size"})',
} as const

const Answer = z.object({
  data: z.object({
    result: z.array(z.object({ metric: z.object({ namespace: z.string(), pod: z.string() }), value: Sample })),
  }),
})

/** Reads from Prometheus how many WAL files wait for archiving (HTTP API of Prometheus, version 1). */
export function createWalMetrics({ url, log, timeout = 5_000 }: PrometheusOptions): WalMetrics {
  return {
    async all() {
      const found = new Map<string, WalMeasurement>()
      try {
        const signal = AbortSignal.timeout(timeout)
        const names = Object.keys(QUERIES) as (keyof typeof QUERIES)[]
        const ask = (query: string) => queryPrometheus(url, 'query', { query }, { answer: Answer, signal })
        const answers = await Promise.all(names.map((name) => ask(QUERIES[name])))
        for (const [index, name] of names.entries())
          for (const { metric, value } of answers[index]?.data.result ?? [])
            keepLargest(found, metric, name, Number(value[1]))
      } catch (error) {
        log.debug({ error: messageOf(error) }, 'Prometheus did not report what waits for the archives of databases.')
      }
      return found
    },
  }
}

/** An instance is named after its Cluster, with a number. Only the primary archives, so the maximum is its value. */
function keepLargest(
  found: Map<string, WalMeasurement>,
  { namespace, pod }: { namespace: string; pod: string },
  name: keyof typeof QUERIES,
  value: number,
): void {
  if (!Number.isFinite(value)) return
  const key = `${namespace}/${pod.replace(/-[0-9]+$/, '')}`
  const before = found.get(key) ?? { readyCount: undefined, volumePercent: undefined }
  found.set(key, { ...before, [name]: Math.max(before[name] ?? 0, value) })
}
