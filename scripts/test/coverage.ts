import { SERVED_ROUTES } from '../../src/api/index.ts'

/**
 * Built routes that no request of the end-to-end tests has seen succeed, by the platform's own metrics: a route without
 * a test of success cannot hide in a file that nobody wrote.
 */
export async function untestedRoutes(managementUrl: string): Promise<string[]> {
  const metrics = await (await fetch(`${managementUrl}/metrics`)).text()
  const seen = successfulRoutes(metrics)
  return SERVED_ROUTES.filter((route) => route.isBuilt && !seen.has(`${route.method} ${route.path}`)).map(
    (route) => `${route.method} ${route.path}`,
  )
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
