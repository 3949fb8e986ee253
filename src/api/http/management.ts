import { createServer, type RequestListener } from 'node:http'
import type { Registry } from 'prom-client'
import { closeServer } from '../../core/closeServer.ts'
import { closeWhenIdle } from '../../core/closeWhenIdle.ts'
import { boundConnections, CONNECTION_TIMEOUTS } from '../../core/connectionLimits.ts'
import { listen } from '../../core/listen.ts'
import { inOriginForm } from '../../core/requestTarget.ts'
import { withoutPipelining } from '../../core/withoutPipelining.ts'

/** A condition under which this process can serve; the name is shown, and must not contain a secret or an address. */
export type ReadinessCheck = { name: string; isReady: () => boolean }

export type ManagementOptions = {
  host: string
  port: number
  registry: Registry
  /** Called for each probe; the process is ready while all checks hold. */
  checks: () => readonly ReadinessCheck[]
  /** Monotonic milliseconds; the system's by default. */
  now?: () => number
}

export type ManagementServer = { port: number; stop(): Promise<void> }

/** A kubelet or Prometheus keeps one or two each. */
const CONNECTIONS_MAX = 500

/**
 * Starts the management port, separate from the public one: `/livez` (the event loop turns), `/readyz` (caches are
 * filled and the parts of this process work) and `/metrics` in the Prometheus text format.
 *
 * @throws Error if the port is taken
 */
export async function startManagementServer(options: ManagementOptions): Promise<ManagementServer> {
  const server = boundConnections(
    createServer(
      { ...CONNECTION_TIMEOUTS, requestTimeout: 10_000 },
      withoutPipelining(closeWhenIdle(inOriginForm(listener(options)))),
    ),
    CONNECTIONS_MAX,
  )
  return {
    port: await listen(server, 'The management port', options),
    stop: () => closeServer(server, 0),
  }
}

/** Milliseconds for which rendered metrics are reused. */
const METRICS_TTL_MS = 1_000

/**
 * Renders the metrics at most once a second: rendering takes milliseconds, and every pod of the cluster can reach the
 * port. Nobody is refused, because the kubelet may share its address with others.
 */
function cachedMetrics(registry: Registry, now: () => number): () => Promise<string> {
  let last: { at: number; text: Promise<string> } | undefined
  return () => {
    if (last === undefined || now() - last.at >= METRICS_TTL_MS) {
      const text = registry.metrics()
      last = { at: now(), text }
      // The next request tries again.
      text.catch(() => {
        last = undefined
      })
    }
    return last.text
  }
}

function listener({ registry, checks, now = () => performance.now() }: ManagementOptions): RequestListener {
  const metrics = cachedMetrics(registry, now)
  const text = (status: number, body: string, type = 'text/plain; charset=utf-8') => ({ status, body, type })
  const answers: Record<string, () => Promise<ReturnType<typeof text>> | ReturnType<typeof text>> = {
    '/livez': () => text(200, 'ok\n'),
    '/readyz': () => {
      const waiting = checks()
        .filter((check) => !check.isReady())
        .map((check) => check.name)
      return waiting.length === 0
        ? text(200, 'ok\n')
        : text(503, `${waiting.map((name) => `not ready: ${name}`).join('\n')}\n`)
    },
    '/metrics': async () => text(200, await metrics(), registry.contentType),
  }
  return async (request, response) => {
    const answer = request.method === 'GET' ? answers[request.url?.split('?')[0] ?? ''] : undefined
    const { status, body, type } = answer === undefined ? text(404, 'not found\n') : await answer()
    response.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) }).end(body)
  }
}
