import type { Route } from './route.ts'

/** Routes that depend on another system, or on a tenant's code, that may fail on its own. */
const UPSTREAM_PATHS = /\/(objectstorageaccounts|registries|sources|deployments|sso|editor|invoke)(\/|$)/

/** Routes to features that some of the systems behind them lack. */
const OPTIONAL_FEATURE_PATHS = /\/(identity-providers|token|webhook)(\/|$)/

/**
 * Whether a route itself may refuse with this status. Statuses of refusals before any route runs count only if the
 * route declares them; 501 also if another system may lack the feature.
 */
export function routeMayRefuseWith({ answers, path }: Route, status: number): boolean {
  if ([401, 403, 406, 429].includes(status)) return answers.includes(status)
  return status !== 501 || answers.includes(status) || OPTIONAL_FEATURE_PATHS.test(path)
}

/** Returns every status that a route may answer with, sorted, for its document. */
export function statusesOf(route: Route): number[] {
  const { authorization, method, path } = route
  const isAnonymous = authorization.kind === 'anonymous'
  // A write may conflict or break a rule; data needs an engine, which may not be ready.
  const writes = method === 'GET' ? [] : [409, ...(method === 'DELETE' ? [] : [422])]
  const isData = authorization.kind === 'iam' && authorization.isData
  const asksEngine = isData || path.includes('/editor/') || path.startsWith('/vaults/')
  // Even a route that only needs a sign-in may refuse a caller, so 403 is listed for all.
  const all = [
    ...route.answers,
    ...[400, ...(isAnonymous ? [] : [401, 403]), 404, 406, ...writes],
    ...(asksEngine ? [409, 422, 502] : []),
    ...(UPSTREAM_PATHS.test(path) ? [502] : []),
    ...(route.answers.includes(206) ? [416] : []),
    ...[429, 500, 503],
    ...(OPTIONAL_FEATURE_PATHS.test(path) ? [501] : []),
  ]
  return [...new Set(all)].sort((one, other) => one - other)
}
