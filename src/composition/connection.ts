import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Registry } from 'prom-client'
import { Counter, Gauge, Histogram } from 'prom-client'
import { messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { CacheSet, withCaches } from '../kube/caches.ts'
import type { CautiousClock } from '../kube/cautiousClock.ts'
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
  /** Milliseconds for a call, including retries. */
  timeout?: number
  /** Caches of another client in this process to share, so that nothing is watched twice. */
  beside?: CacheSet | undefined
  /** Whether this process may have to count the objects of boundaries. */
  counts?: boolean
}

export type RequestCounter = (request: RequestObservation) => void

export const userAgent = (part: string) => `freehold/${part}`

/** Unique among replicas and restarts, so that a lease holder is not mistaken for its predecessor. */
export const instanceName = () => `${hostname()}-${process.pid}-${Math.floor(performance.timeOrigin)}`

/** Connects to the API server. When a write returns, the caches already contain it. */
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
  const connection = withCaches(clientOf, (client) => new CacheSet({ client, log, sharedWith: beside, counts }))
  return { ...connection, exec: createExec(access, userAgent(options.fieldManager)) }
}

/** Milliseconds between attempts to reach the API server, and between log lines about it. */
const WAIT_INTERVALS_MS = { lookAgain: 1_000, sayAgain: 30_000 }

/**
 * Waits until the API server is ready, and logs that it waits. If the process exited instead, the kubelet's backoff
 * would delay its restart long beyond the API server's return.
 */
export async function waitForApiServer(
  client: Pick<KubeClient, 'request'>,
  log: Pick<Log, 'warn'>,
  { lookAgain, sayAgain } = WAIT_INTERVALS_MS,
): Promise<void> {
  let loggedAt = Number.NEGATIVE_INFINITY
  for (;;) {
    const reason = await whyNotServed(client)
    if (reason === undefined) return
    if (performance.now() - loggedAt >= sayAgain) {
      log.warn({ reason }, 'Waiting for the API server.')
      loggedAt = performance.now()
    }
    await sleep(lookAgain)
  }
}

/** Any answer below 500 counts, such as 403. */
async function whyNotServed(client: Pick<KubeClient, 'request'>): Promise<string | undefined> {
  try {
    const answer = await client.request({ path: '/readyz', timeout: 5_000 })
    await answer.text()
    return answer.status >= 500 ? `It answers /readyz with ${answer.status}.` : undefined
  } catch (error) {
    return messageOf(error)
  }
}

/** Counts requests to the API server, with the metric names of client-go. */
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
    total.inc({ verb, code: status === 0 ? '<error>' : String(status) })
    duration.observe({ verb }, durationSeconds)
  }
}

export function countClockSkew(registry: Registry, clock: Pick<CautiousClock, 'ahead'>): void {
  new Gauge({
    name: 'freehold_clock_ahead_seconds',
    help: 'How far the clock of the controllers is ahead of that of the API server; 0 up to a minute',
    registers: [registry],
    collect() {
      this.set(clock.ahead / 1000)
    },
  })
}
