import type { Counter } from './increments.ts'
import type { RoutedService } from './port.ts'

/** Traefik's counters per Service, each with the label that splits it. */
const COUNTERS: Readonly<Record<Exclude<Counter['what'], 'since'>, readonly [name: string, label?: string]>> = {
  codes: ['traefik_service_requests_total', 'code'],
  durations: ['traefik_service_request_duration_seconds_bucket', 'le'],
  seconds: ['traefik_service_request_duration_seconds_sum'],
  bytesIn: ['traefik_service_requests_bytes_total'],
  bytesOut: ['traefik_service_responses_bytes_total'],
}
/** A metric that Traefik has from its start on. */
const START_METRIC = 'traefik_config_reloads_total'

/**
 * Builds one query for all counters of a route and Service; the label `what` tells them apart. Traefik names a Service
 * of the Gateway API by route, Gateway, entry point, rule and a hash of the match.
 */
export function trafficQuery(routed: RoutedService): string {
  const named = servicePattern(routed)
  const parts = Object.entries(COUNTERS).map(([what, [name, label]]) => {
    const labels = ['instance', ...(label === undefined ? [] : [label])].join(', ')
    return labelQuery(what, `sum by (${labels}) (${name}{service=~"${named}"})`)
  })
  const since = `max by (instance) (process_start_time_seconds and on (instance, job) ${START_METRIC})`
  return [...parts, labelQuery('since', since)].join(' or ')
}

const labelQuery = (what: string, query: string) => `label_replace(${query}, "what", "${what}", "", "")`

/** Returns a pattern for Traefik's name of the Service. */
export function servicePattern({ namespace, route, service }: RoutedService): string {
  const [space, from, to] = [namespace, route, service].map((name) => name.replaceAll('.', '[.]'))
  return `httproute-${space}-${from}-gw-.+-ep-.+-[0-9]+-[0-9a-f]{8,}-svc-${space}-${to}-[0-9]+@kubernetesgateway`
}
