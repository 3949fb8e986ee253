import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Registry } from 'prom-client'
import { Counter, Histogram } from 'prom-client'
import { messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { CacheSet, withCaches } from '../kube/caches.ts'
import { createKubeClient, type KubeClient, type RequestObservation, type WriteObserver } from '../kube/client.ts'
import { createExec, type Exec } from '../kube/exec.ts'
import { loadKubeconfig } from '../kubeconfig/kubeconfig.ts'

export type Connection = { client: KubeClient; caches: CacheSet; exec: Exec }

export type ConnectionOptions = {
  kubeconfig: string | undefined
  context: string | undefined
  fieldManager: string
  log: Log
  /** Called before every write. */
  fence?: () => void
  onRequest?: RequestCounter
  /** Milliseconds for a call with its retries. */
  timeout?: number
  /** Caches of another client of this process: nothing is watched twice. */
  beside?: CacheSet | undefined
  /** This process may come to count what boundaries hold. */
  counts?: boolean
}

type RequestCounter = (request: RequestObservation) => void

export const userAgent = (part: string) => `freehold/${part}`

/** Unique among replicas and restarts: the holder of a lease must not be taken for its predecessor. */
export const instanceName = () => `${hostname()}-${process.pid}-${Math.floor(performance.timeOrigin)}`

/** A client whose writes are in its caches when the call returns. */
export function connect(options: ConnectionOptions): Connection {
  const { log, fence, beside, counts } = options
  const access = loadKubeconfig(options.kubeconfig, options.context)
  const clientOf = (observer: WriteObserver) =>
    createKubeClient(access, {
      fieldManager: options.fieldManager,
      userAgent: userAgent(options.fieldManager),
      log,
      observer,
      ...(fence === undefined ? {} : { fence }),
      ...(options.onRequest === undefined ? {} : { onRequest: options.onRequest }),
      ...(options.timeout === undefined ? {} : { timeout: options.timeout }),
    })
  const both = withCaches(clientOf, (client) => new CacheSet({ client, log, beside, counts }))
  return { ...both, exec: createExec(access, userAgent(options.fieldManager)) }
}

/** Milliseconds after which the API server is looked for again, and after which it is said again that nobody is there. */
const WAITING = { lookAgain: 1_000, sayAgain: 30_000 }

/**
 * Waits until the API server is ready, and says that it waits. A process that ended instead would be started again ever
 * more slowly, and come back long after the API server.
 */
export async function untilServed(
  client: Pick<KubeClient, 'request'>,
  log: Pick<Log, 'warn'>,
  { lookAgain, sayAgain } = WAITING,
): Promise<void> {
  let saidAt = Number.NEGATIVE_INFINITY
  for (;;) {
    const why = await whyNotServed(client)
    if (why === undefined) return
    if (performance.now() - saidAt >= sayAgain) {
      log.warn({ reason: why }, 'Waiting for the API server.')
      saidAt = performance.now()
    }
    await sleep(lookAgain)
  }
}

/** Whoever may not ask is answered as well: then it is there. */
async function whyNotServed(client: Pick<KubeClient, 'request'>): Promise<string | undefined> {
  try {
    const answer = await client.request({ path: '/readyz', timeout: 5_000 })
    await answer.text()
    return answer.status >= 500 ? `It answers /readyz with ${answer.status}.` : undefined
  } catch (error) {
    return messageOf(error)
  }
}

/** Requests to the API server, under the names of client-go. */
export function requestMetrics(registry: Registry): RequestCounter {
  const total = new Counter({
    name: 'rest_client_requests_total',
    help: 'Requests to the API server',
    labelNames: ['verb', 'code'],
    registers: [registry],
  })
  const duration = new Histogram({
    name: 'rest_client_request_duration_seconds',
    help: 'Seconds of a request to the API server',
    labelNames: ['verb'],
    registers: [registry],
  })
  return ({ verb, status, durationSeconds }) => {
    total.inc({ verb, code: String(status) })
    duration.observe({ verb }, durationSeconds)
  }
}
