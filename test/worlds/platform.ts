import { randomBytes } from 'node:crypto'
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { CODES_FILE } from '../../scripts/test/codes.ts'
import type { BoundaryDto } from '../../src/api/boundaries/record.ts'
import { Router } from '../../src/api/http/router.ts'
import { statusesOf } from '../../src/api/http/statuses.ts'
import { SERVED_ROUTES } from '../../src/api/index.ts'
import type { ResourceGroupDto } from '../../src/api/resourcegroups/record.ts'
import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import { parseScope } from '../../src/core/scope.ts'
import { RoleAssignment, RoleDefinition } from '../../src/crds/rbac.ts'
import { actionNames, compilePermissions } from '../../src/iam/permissions.ts'
import type { PagedListResponse } from '../make/page.ts'
import { patiently, pauseAfterAnswer, replyTo } from '../make/patience.ts'
import { until } from '../make/until.ts'
import { administrator, makeServiceAccount, testPlatform, tokenFor } from './tenant.ts'

export { until } from '../make/until.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD' | 'OPTIONS'
export type Answer<Body> = { status: number; headers: Headers; text: string; body: Body }
export type ErrorBody = {
  error: string
  code: string
  module: string
  correlationId: string
  traceId: string
  errors?: { field: string; message: string }[]
}
export type CallOptions = {
  /** Null sends no token; by default the first Owner's is sent. */
  token?: string | null
  headers?: Record<string, string>
  /** False returns 429 and 503 instead of retrying, for tests about them. */
  isPatient?: boolean
}

/** Renewed well before its end, and shared by all tests of a process. */
const TOKEN_MILLISECONDS = 600_000
let owner: { token: Promise<string>; since: number } | undefined

/** A token of the first Owner, who may do everything. */
export function ownerToken(): Promise<string> {
  if (owner === undefined || performance.now() - owner.since > TOKEN_MILLISECONDS) {
    const { clientId, clientSecret } = testPlatform()
    owner = { token: tokenFor(clientId, clientSecret), since: performance.now() }
  }
  return owner.token
}

/**
 * One request to the facade. A string body is sent as it is, everything else as JSON. A body that is not JSON leaves
 * `body` undefined. Answers that say to retry are retried: many tests share one principal and one machine.
 */
export async function call<Body = ErrorBody>(
  method: Method,
  path: string,
  body?: unknown,
  options: CallOptions = {},
): Promise<Answer<Body>> {
  const token = options.token === undefined ? await ownerToken() : options.token
  const headers: Record<string, string> = {
    ...(token !== null && { authorization: `Bearer ${token}` }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...options.headers,
  }
  const text = typeof body === 'string' || body === undefined ? body : JSON.stringify(body)
  const url = `${testPlatform().facadeUrl}${path}`
  const init: RequestInit = { method, headers, redirect: 'manual', ...(text !== undefined && { body: text }) }
  const ask = async () => {
    const answer = await replyTo(fetch(url, init))
    const read = parse(answer.text)
    if (answer.status >= 400) {
      requireDocumented(method, path, answer.status)
      noteCode(method, path, read)
    }
    return { ...answer, body: read as Body }
  }
  return options.isPatient === false ? ask() : patiently(ask, pauseAfterAnswer)
}

const router = new Router(SERVED_ROUTES)

/** @throws Error for a refusal that the route's document does not list */
function requireDocumented(method: Method, path: string, status: number): void {
  const [bare = ''] = path.split('?')
  const route = findRoute(method, bare)
  if (route === undefined || statusesOf(route).includes(status)) return
  throw new Error(`${method} ${path} refuses with ${status}, which the document of ${route.path} does not name.`)
}

/** Undefined also for an invalid path. */
function findRoute(method: Method, path: string) {
  try {
    return router.find(method, path)?.route
  } catch {
    return undefined
  }
}

/** For the check that some test provokes every documented refusal. */
function noteCode(method: Method, path: string, body: unknown): void {
  const { code } = (body ?? {}) as { code?: string }
  if (code === undefined) return
  const [bare = ''] = path.split('?')
  appendFileSync(join(testPlatform().folder, CODES_FILE), `${method} ${bare} ${code}\n`)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Like `call`, but any other status is a failure of the test's preparation. */
export async function expectCall<Body>(
  status: number,
  method: Method,
  path: string,
  body?: unknown,
  options: CallOptions = {},
): Promise<Answer<Body>> {
  const answer = await call<Body>(method, path, body, { isPatient: ![429, 503].includes(status), ...options })
  if (answer.status !== status) {
    throw new Error(`${method} ${path} answered ${answer.status} instead of ${status}: ${answer.text.slice(0, 500)}`)
  }
  return answer
}

/** Deletes something that usually takes moments. On a busy machine the answer is 202, and the end is awaited. */
export async function expectRemoved(path: string): Promise<void> {
  const { status, text } = await call('DELETE', path)
  if (status === 204) return
  if (status !== 202) throw new Error(`DELETE ${path} answered ${status}: ${text.slice(0, 500)}`)
  await until(`${path} is gone`, async () => (await call('DELETE', path)).status === 404)
}

/** A unique name. */
export function uniqueName(stem: string): string {
  return `${stem}-${randomBytes(4).toString('hex')}`
}

/** A boundary for one test, created by REST. */
export async function makeBoundary(displayName = uniqueName('Test'), options: CallOptions = {}): Promise<BoundaryDto> {
  return (await expectCall<BoundaryDto>(201, 'POST', '/boundaries', { displayName }, options)).body
}

/** A group whose namespace its controller has prepared, so that resources can be created in it. */
export async function makeGroup(boundaryId: string, name = uniqueName('group')): Promise<ResourceGroupDto> {
  const path = `/boundaries/${boundaryId}/resourcegroups/${name}`
  await expectCall(201, 'POST', path)
  return until(`group ${name} is running`, async () => {
    const { body } = await expectCall<ResourceGroupDto>(200, 'GET', path)
    return body.status === 'Running' && body
  })
}

export type GroupPlace = {
  boundaryId: string
  group: string
  namespace: string
  /** The path of its resources of a kind. */
  resources: (segment: string) => string
}

/** A group in a separate boundary. */
export async function makeGroupPlace(): Promise<GroupPlace> {
  const { id: boundaryId } = await makeBoundary()
  const { name: group } = await makeGroup(boundaryId)
  return {
    boundaryId,
    group,
    namespace: groupNamespace(boundaryId, group),
    resources: (segment) => `/boundaries/${boundaryId}/resourcegroups/${group}/resources/${segment}`,
  }
}

/** All items of a list, page after page. */
export async function itemsOf<Item>(path: string, options: CallOptions = {}): Promise<Item[]> {
  const items: Item[] = []
  for (let page = 1; ; page += 1) {
    const mark = path.includes('?') ? '&' : '?'
    const paged = `${path}${mark}page=${page}&pageSize=500`
    const { body } = await expectCall<PagedListResponse<Item>>(200, 'GET', paged, undefined, options)
    items.push(...body.items)
    if (!body.pagination.hasNextPage) return items
  }
}

export type TestCaller = { principalId: string; token: string }

/**
 * A service account with exactly these roles, all effective when this returns. A role with root actions only is not
 * visible from any boundary: a test that uses one waits for it itself.
 *
 * @param roles by role name: the scope that it is given at
 */
export async function makeCaller(roles: Record<string, string> = {}): Promise<TestCaller> {
  const admin = await administrator()
  try {
    const { clientId: principalId, token } = await makeServiceAccount(admin)
    for (const [roleDefinitionName, scope] of Object.entries(roles)) {
      const parsed = parseScope(scope)
      if (parsed === undefined) throw new Error(`${scope} is not a scope.`)
      const namespace = 'boundaryId' in parsed ? boundaryNamespace(parsed.boundaryId) : SYSTEM_NAMESPACE
      await admin.create(RoleAssignment.resource, {
        apiVersion: RoleAssignment.apiVersion,
        kind: RoleAssignment.kind,
        metadata: { name: uniqueName('test'), namespace },
        spec: { principalId, principalType: 'ServicePrincipal', roleDefinitionName, scope },
      })
      const { items } = await admin.list(RoleDefinition.resource)
      const role = (items as unknown as RoleDefinition[]).find(({ spec }) => spec.displayName === roleDefinitionName)
      const [action] = role === undefined ? [] : actionNames(compilePermissions(role.spec).belowRoot)
      // A role at the root is visible from any boundary.
      const boundaryId =
        'boundaryId' in parsed ? parsed.boundaryId : (await itemsOf<{ id: string }>('/boundaries'))[0]?.id
      if (boundaryId === undefined || action === undefined) continue
      await untilCounts(principalId, boundaryId, { action, scope: scope === '/' ? `/boundaries/${boundaryId}` : scope })
    }
    return { principalId, token }
  } finally {
    await admin.close()
  }
}

/** The facade learns of an assignment through its watch, a moment after the write. */
async function untilCounts(principalId: string, boundaryId: string, check: { action: string; scope: string }) {
  const path = `/boundaries/${boundaryId}/providers/authorization/checkAccess`
  await until(`the assignment at ${check.scope} is in effect`, async () => {
    type Result = { results: { allowed: boolean }[] }
    const { status, body } = await call<Result>('POST', path, { principalId, checks: [check] })
    return status === 200 && body.results[0]?.allowed === true
  })
}
