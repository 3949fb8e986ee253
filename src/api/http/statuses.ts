import type { Route } from './route.ts'

/** Behind these another system stands, or the code of a tenant, that may fail on its own. */
const ASKS_ANOTHER = /\/(objectstorageaccounts|registries|sources|deployments|sso|editor|invoke)(\/|$)/

/** What some of the systems behind these can do, and others cannot. */
const NOT_BY_ALL = /\/(identity-providers|token|webhook)(\/|$)/

/**
 * Whether a route may refuse with this status itself. Statuses of what is refused before any route runs are its own only
 * where it declares them, or another system lacks what it asks for.
 */
export function refusesItself({ answers, path }: Route, status: number): boolean {
  if ([401, 403, 406, 429].includes(status)) return answers.includes(status)
  return status !== 501 || answers.includes(status) || NOT_BY_ALL.test(path)
}

/** Every status that a route may answer with, in their order: what its document names. */
export function statusesOf(route: Route): number[] {
  const { authorization, method, path } = route
  const isAnonymous = authorization.kind === 'anonymous'
  // A write may conflict with another or break a rule; data needs an engine, which may not be ready.
  const writes = method === 'GET' ? [] : [409, ...(method === 'DELETE' ? [] : [422])]
  const isData = authorization.kind === 'iam' && authorization.isData
  const asksEngine = isData || path.includes('/editor/') || path.startsWith('/vaults/')
  // A route without an action of its own may still take less from one caller than from another.
  const all = [
    ...route.answers,
    ...[400, ...(isAnonymous ? [] : [401, 403]), 404, 406, ...writes],
    ...(asksEngine ? [409, 422, 502] : []),
    ...(ASKS_ANOTHER.test(path) ? [502] : []),
    ...(route.answers.includes(206) ? [416] : []),
    ...[429, 500, 503],
    ...(NOT_BY_ALL.test(path) ? [501] : []),
  ]
  return [...new Set(all)].sort((one, other) => one - other)
}
