import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { MetricSeriesQuery, MetricTarget } from './port.ts'
import { servicePattern } from './traefik.ts'

/** Letters in the random suffix of pod names (Kubernetes, `rand.SafeEncodeString`). */
const RANDOM_LETTER = '[bcdfghjklmnpqrstvwxz2456789]'
const PODS = {
  Ordinal: '-[0-9]+',
  Deployment: `-${RANDOM_LETTER}{1,10}-${RANDOM_LETTER}{5}`,
  Job: `(-[0-9]+)?-${RANDOM_LETTER}{5}`,
  Any: '-.+',
} as const
const CLAIMS = { None: '', Ordinal: '-[0-9]+(-wal)?', Any: '-.+' } as const
const JOBS = { None: '', Any: '-.+' } as const
/** Pattern of group namespaces: the name, and ten digits of a hash. */
const GROUP_NAMESPACE = '[a-z0-9-]+-[0-9a-f]{10}'
/** A value that no series has. */
const NO_MATCH_VALUE = '-'

/** Escapes text for a RE2 pattern, which Prometheus anchors at both ends. */
export function escapePattern(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}

/** Quotes a label value for PromQL. */
export function quoteLabelValue(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`
}

const equals = (label: string, value: string) => `${label}=${quoteLabelValue(value)}`
const matches = (label: string, patterns: readonly string[]) =>
  `${label}=~${quoteLabelValue(patterns.length === 0 ? NO_MATCH_VALUE : patterns.join('|'))}`

/** Restricts even `anywhere` to group namespaces: a query by workload name must never reach other namespaces. */
const namespaceOf = ({ namespace }: MetricTarget) =>
  namespace === 'every group' || namespace === 'anywhere'
    ? matches('namespace', [GROUP_NAMESPACE])
    : equals('namespace', namespace)

const podPatterns = ({ pods }: MetricTarget) =>
  pods.map(({ workload, tail }) => `${escapePattern(workload)}${PODS[tail]}`)
const claimPatterns = ({ claims }: MetricTarget) =>
  claims.map(({ claim, tail }) => `${escapePattern(claim)}${CLAIMS[tail]}`)

/**
 * Matches labels against a target, like the queries do.
 *
 * @internal Used by the fake.
 */
export function matchesTarget(
  { collection, target, container }: MetricSeriesQuery,
  labels: Readonly<Record<string, string>>,
): boolean {
  if (target === undefined) return true
  const { namespace, buckets } = target
  const fits = (value: string | undefined, patterns: readonly string[]) =>
    value === undefined || patterns.some((pattern) => new RegExp(`^(?:${pattern})$`).test(value))
  const isInNamespace = namespace === 'anywhere' || namespace === 'every group' || labels.namespace === namespace
  const isBucket = labels.bucket === undefined || buckets === undefined || buckets.includes(labels.bucket)
  const isContainer = container === undefined || labels.container === container
  const ofClaim = collection === 'platform' && target.claims.length === 0 ? ['.*'] : claimPatterns(target)
  return (
    isInNamespace &&
    isBucket &&
    isContainer &&
    fits(labels.pod, podPatterns(target)) &&
    fits(labels.persistentvolumeclaim, ofClaim)
  )
}

/** Builds PromQL selectors, each restricted to the target. */
export class Selection {
  readonly #question: MetricSeriesQuery

  constructor(question: MetricSeriesQuery) {
    this.#question = question
  }

  /** @param more further matchers from the catalogue */
  pods(metric: string, ...more: readonly string[]): string {
    const target = this.#target()
    return `${metric}{${[namespaceOf(target), matches('pod', podPatterns(target)), ...more].join(',')}}`
  }

  /** For metrics with a container label. */
  containers(metric: string, ...more: readonly string[]): string {
    const { container } = this.#question
    return this.pods(
      metric,
      'container!=""',
      ...(container === undefined ? [] : [equals('container', container)]),
      ...more,
    )
  }

  claims(metric: string): string {
    const target = this.#target()
    return `${metric}{${[namespaceOf(target), matches('persistentvolumeclaim', claimPatterns(target))].join(',')}}`
  }

  /** For these claims, or for all: the caller may read all namespaces. */
  volumes(metric: string): string {
    const { namespace, claims } = this.#target()
    const names = claims.map(({ claim }) => escapePattern(claim))
    const matchers = [
      ...(namespace === 'anywhere' ? [] : [equals('namespace', namespace)]),
      ...(names.length === 0 ? [] : [matches('persistentvolumeclaim', names)]),
    ]
    return `${metric}{${matchers.join(',')}}`
  }

  jobs(metric: string): string {
    const target = this.#target()
    const names = target.jobs.map(({ job, tail }) => `${escapePattern(job)}${JOBS[tail]}`)
    return `${metric}{${[namespaceOf(target), matches('job_name', names)].join(',')}}`
  }

  /** The object store labels by bucket name, whatever namespace it runs in. */
  buckets(metric: string, ...more: readonly string[]): string {
    const { buckets } = this.#target()
    const named = buckets === undefined ? 'bucket!=""' : matches('bucket', buckets.map(escapePattern))
    return `${metric}{${[named, ...more].join(',')}}`
  }

  /** Traefik puts namespace and route into its `service` label, whatever namespace it runs in. */
  routes(metric: string, ...more: readonly string[]): string {
    const { namespace, routes } = this.#target()
    const names =
      'stem' in routes
        ? [`httproute-${GROUP_NAMESPACE}-${escapePattern(routes.stem)}-.+@kubernetesgateway`]
        : routes.map((routed) => servicePattern({ namespace, ...routed }))
    return `${metric}{${[matches('service', names), ...more].join(',')}}`
  }

  /** Restricts to the platform's own processes: other operators use the same metric names. */
  own(metric: string, ...more: readonly string[]): string {
    return `${metric}{${[equals('namespace', SYSTEM_NAMESPACE), ...more].join(',')}}`
  }

  sum(labels: string, expression: string): string {
    return this.#grouped('sum', labels, expression)
  }
  max(labels: string, expression: string): string {
    return this.#grouped('max', labels, expression)
  }
  average(labels: string, expression: string): string {
    return this.#grouped('avg', labels, expression)
  }

  /** Returns the labels to group by; none if everything is summed. */
  grouping(labels: string): string {
    return this.#question.isSummed === true ? '' : labels
  }

  #grouped(operator: string, labels: string, expression: string): string {
    const by = this.grouping(labels)
    return `${operator}${by === '' ? '' : ` by (${by})`} (${expression})`
  }

  #target(): MetricTarget {
    const { target } = this.#question
    if (target === undefined) throw new RangeError('This metric is of a resource.')
    return target
  }
}
