import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { KeyedQueue, QueuePass } from '../../kube/queue.ts'

/** How a pass ended, in the words of controller-runtime. */
export type PassResult = 'success' | 'requeue' | 'requeue_after' | 'error'

const RECONCILE_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const QUEUE_BUCKETS = [1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100]

/**
 * Metrics of queues and reconciles under the names that controller-runtime gives them, so that dashboards and alerts
 * made for other operators work here. No label carries the name of an object.
 */
export class EngineMetrics {
  readonly #total: Counter<'controller' | 'result'>
  readonly #errors: Counter<'controller'>
  readonly #time: Histogram<'controller'>
  readonly #waited: Histogram<'name'>
  readonly #worked: Histogram<'name'>
  readonly #queues = new Map<string, { queue: KeyedQueue; workers: number }>()

  constructor(registry: Registry) {
    const registers = [registry]
    this.#total = new Counter({
      name: 'controller_runtime_reconcile_total',
      help: 'Passes by controller and result',
      labelNames: ['controller', 'result'],
      registers,
    })
    this.#errors = new Counter({
      name: 'controller_runtime_reconcile_errors_total',
      help: 'Passes that failed, by controller',
      labelNames: ['controller'],
      registers,
    })
    this.#time = histogram('controller_runtime_reconcile_time_seconds', 'Seconds of a pass', 'controller', registry)
    this.#waited = histogram('workqueue_queue_duration_seconds', 'Seconds that a key waited', 'name', registry)
    this.#worked = histogram('workqueue_work_duration_seconds', 'Seconds that a key took', 'name', registry)
    this.#gauges(registry)
  }

  /** Exposes the queue's numbers from now on. */
  watch(name: string, queue: KeyedQueue, workers: number): void {
    this.#queues.set(name, { queue, workers })
  }

  queuePass(pass: QueuePass): void {
    this.#waited.observe({ name: pass.queue }, pass.waitedSeconds)
    this.#worked.observe({ name: pass.queue }, pass.workedSeconds)
  }

  reconciled(controller: string, result: PassResult, seconds: number): void {
    this.#total.inc({ controller, result })
    if (result === 'error') this.#errors.inc({ controller })
    this.#time.observe({ controller }, seconds)
  }

  #gauges(registry: Registry): void {
    const queues = this.#queues
    // A queue counts for itself. Prometheus and linters expect names that end in _total to be counters.
    const counted = (name: string, help: string, read: (queue: KeyedQueue) => number) =>
      new Counter({
        name,
        help,
        labelNames: ['name'],
        registers: [registry],
        collect() {
          this.reset()
          for (const [key, { queue }] of queues) this.inc({ name: key }, read(queue))
        },
      })
    const each = (label: string, name: string, help: string, read: (queue: KeyedQueue, workers: number) => number) => {
      new Gauge({
        name,
        help,
        labelNames: [label],
        registers: [registry],
        collect() {
          for (const [key, { queue, workers }] of queues) this.set({ [label]: key }, read(queue, workers))
        },
      })
    }
    each('name', 'workqueue_depth', 'Keys that wait for a worker', (queue) => queue.metrics().depth)
    each('name', 'workqueue_parties', 'Boundaries of which keys wait', (queue) => queue.metrics().parties)
    each('name', 'workqueue_deepest', 'Keys that wait of the boundary with the most', (q) => q.metrics().deepest)
    counted('workqueue_adds_total', 'Keys added since start', (queue) => queue.metrics().adds)
    counted('workqueue_retries_total', 'Keys added again after a failure', (queue) => queue.metrics().retries)
    each('name', 'workqueue_delayed', 'Keys that a timer will add', (queue) => queue.metrics().delayed)
    each('name', 'workqueue_oldest_seconds', 'Seconds that the oldest key waits', (q) => q.metrics().oldestSeconds)
    each('controller', 'controller_runtime_active_workers', 'Keys worked on now', (queue) => queue.metrics().working)
    each('controller', 'controller_runtime_max_concurrent_reconciles', 'Workers of a controller', (_, count) => count)
  }
}

function histogram<L extends string>(name: string, help: string, label: L, registry: Registry): Histogram<L> {
  const buckets = name.startsWith('workqueue') ? QUEUE_BUCKETS : RECONCILE_BUCKETS
  return new Histogram({ name, help, labelNames: [label], registers: [registry], buckets })
}
