import { appendFile, readFile } from 'node:fs/promises'
import { SERVED_ROUTES } from '../../src/api/index.ts'

/** Reading files next to a volume and calling functions need real pods: `npm run test:node` covers them. */
const NEEDS_A_NODE = /\/files(\/|$)|\/invoke$/
/** Backups need Velero's kinds, which only a cluster of a test's own has: `test/e2e/backups.test.ts` covers them. */
const NEEDS_VELERO = /\/backup-policy$/
/**
 * Metrics need a Prometheus that measures pods: the adapter's tests ask a real one, `src/api/monitoring` tests the
 * routes over HTTP.
 */
const NEEDS_PROMETHEUS = /^\/admin\/monitoring\/metrics$|\/monitoring\/.*\/(requests|utilization)$/
/** Nobody collects flows yet (docs/areas/network.md), so there are no denied connections to list. */
const NEEDS_FLOWS = /\/network\/denies\/\{denyId\}$/
const NEEDS_MORE = [NEEDS_A_NODE, NEEDS_VELERO, NEEDS_PROMETHEUS, NEEDS_FLOWS]

/** Names the file to which each platform of a run appends the routes that have succeeded on it, one per line. */
export const SEEN_VARIABLE = 'FREEHOLD_TEST_ROUTES_SEEN'

/**
 * Routes without a successful request in the end-to-end tests, according to the platforms' own metrics. This also finds
 * routes for which nobody wrote a test file.
 */
export async function untestedRoutes(seenFile: string): Promise<string[]> {
  const seen = new Set((await readFile(seenFile, 'utf8')).split('\n'))
  const covered = SERVED_ROUTES.filter(({ path }) => !NEEDS_MORE.some((which) => which.test(path)))
  return covered.map(({ method, path }) => `${method} ${path}`).filter((route) => !seen.has(route))
}

/** Before a platform ends, because its metrics end with it. */
export async function keepSeenRoutes(managementUrl: string, seenFile: string): Promise<void> {
  const metrics = await (await fetch(`${managementUrl}/metrics`)).text()
  await appendFile(seenFile, [...successfulRoutes(metrics)].map((route) => `${route}\n`).join(''))
}

/** `METHOD template` of every series of the request histogram whose status is below 400. */
export function successfulRoutes(metrics: string): Set<string> {
  const seen = new Set<string>()
  for (const line of metrics.split('\n')) {
    if (!line.startsWith('http_server_request_duration_seconds_count{')) continue
    const label = (name: string) => new RegExp(`${name}="([^"]*)"`).exec(line)?.[1] ?? ''
    if (Number(label('http_response_status_code')) < 400)
      seen.add(`${label('http_request_method')} ${label('http_route')}`)
  }
  return seen
}
