import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import type { Route } from '../../src/api/http/route.ts'
import { AREAS, SERVED_ROUTES } from '../../src/api/index.ts'
import {
  type Answer,
  type CallOptions,
  call,
  type ErrorBody,
  makeBoundary,
  makeCaller,
  makeGroup,
} from '../worlds/platform.ts'

/** Concurrent requests: other tests share the platform. */
const AT_ONCE = 8

type Places = { boundaryId: string; group: string }
type Body = ErrorBody & { action?: string }

/** The minimal queries of routes. */
const SPAN = { from: '2026-01-01T00:00:00Z', to: '2026-01-01T01:00:00Z' }
const QUERIES: readonly Record<string, string>[] = [
  ...[{}, { path: '/x' }, { name: 'x' }, { installation_id: '1' }, { clusterId: randomUUID() }],
  ...[SPAN, { ...SPAN, metric: 'x' }, { ...SPAN, metric: 'x', aggregation: 'Last' }],
]

/** Values for path parameters: existing places, and well-formed ids of missing things. */
function pathOf({ path, query }: Route, { boundaryId, group }: Places): string {
  const asked = QUERIES.find((sample) => query?.safeParse(sample).success !== false) ?? {}
  const search = new URLSearchParams(asked).toString()
  const filled = path.replace(/\{([A-Za-z]+)\}/g, (_whole, name: string) => {
    if (name === 'boundaryId') return boundaryId
    if (name === 'resourceGroupName' || name === 'resourceGroup') return group
    if (name === 'resourceType') return 'vectorclusters'
    if (name === 'action') return 'start'
    if (name === 'module') return 'nothing'
    if (name === 'path') return 'nothing.md'
    return name.endsWith('Id') ? randomUUID() : 'nothing-here'
  })
  return search === '' ? filled : `${filled}?${search}`
}

const ACCOUNT_BODIES = [
  { email: 'nobody@example.com', roleDefinitionName: 'Reader' },
  { password: 'Correct-horse-7', firstName: 'A', lastName: 'B' },
]

const KEY = { key: { id: 1 } }
const SQL_BODIES = [
  { productKey: 'AAAAA-BBBBB-CCCCC-DDDDD-EEEEE' },
  { sql: 'SELECT 1' },
  { values: { name: 'x' } },
  { rows: [{ ...KEY, values: { name: 'x' } }] },
  { rows: [{ name: 'x' }] },
  { keys: [KEY] },
]

/** The kernel answers problem-details, with codes in kebab-case. */
const notFoundOf = ({ errors }: Route) => (errors === 'problem' ? '404 not-found' : '404 NOT_FOUND')

/** Invitations, sources, components and plans have codes of their own for what is missing (interface sections 7, 4.20, records 19). */
function missingThing(route: Route): string {
  const { method, path } = route
  if (path.includes('/sources/{sourceName}')) return '404 source-unknown'
  if (path.startsWith('/lifecycle/components/')) return '404 ComponentNotFound'
  if (path.startsWith('/lifecycle/rollouts/plans/')) return '404 PlanNotFound'
  const isOwn = /invitations\/\{(invitationId|token)\}/.test(path) && method !== 'GET'
  return isOwn ? '404 not_found' : notFoundOf(route)
}

function missingBoundary(route: Route): string {
  const { method, path } = route
  // Anybody may send one, and does not learn which boundaries exist.
  if (/\/sources\/\{sourceName\}\/(finalize|validate|webhooks)$/.test(path)) return '404 source-unknown'
  return method === 'POST' && path.endsWith('/invitations') ? '503 tenant_resolution_failed' : notFoundOf(route)
}

/** Some body that the route's schema accepts, so that a refusal is about something else. */
function goodBody({ body: read, documentedBody, bodyKind, isBodyOptional, example }: Route): unknown {
  // A patch of a missing object is validated as a whole.
  const body = documentedBody ?? read
  const account = ACCOUNT_BODIES.find((sample) => body?.safeParse(sample).success === true)
  if (account !== undefined) return account
  if (body === undefined || bodyKind !== 'json') return undefined
  const member = { principalId: randomUUID(), roleDefinitionName: 'Reader' }
  const identity = { resourceName: 'x', resourceType: 'apps', resourceUid: 'x' }
  const binding = { issuer: 'https://login.example.com', claimValue: 'x', groupId: randomUUID() }
  const jit = { roleDefinitionName: 'Reader', scope: '/', justification: 'x' }
  const more = [binding, { domains: [] }, { alias: 'x', displayName: 'x' }, jit, { value: 'x' }]
  const samples: object[] = [
    { clusterId: randomUUID() },
    { acknowledge: true },
    {},
    { displayName: 'x' },
    { targetScale: 1 },
    { newName: 'copy' },
    { name: 'abc' },
    { name: 'abc', resourceGroup: 'shop' },
    { path: '/x' },
    { from: '/x', to: '/y' },
    { status: 'Active' },
    { accountName: 'abc' },
    { action: 'jobs/read' },
    { image: 'docker.io/library/busybox' },
    { sourceKind: 'Image', image: 'docker.io/library/busybox' },
    { components: [{ name: 'web', image: 'docker.io/library/busybox' }] },
    { runtime: 'nodejs' },
    { handler: 'index' },
    { files: [{ path: 'index.js', content: '' }] },
    { tenantId: null },
    { action: 'deploy.started', resourceType: 'apps', resourceName: 'x', resourceGroup: 'x' },
    { title: 'x', description: 'x' },
    { resourceGroup: 'abc' },
    { enabled: true },
    { schedule: '0 3 * * *', retentionDays: 7 },
    member,
    identity,
    ...more,
    ...SQL_BODIES,
    { content: 'format: 1' },
    { observedAtUtc: SPAN.from, exposures: [], sites: [] },
    { blueprintId: randomUUID(), clusterId: randomUUID(), name: 'shop' },
  ]
  return samples.find((sample) => body.safeParse(sample).success) ?? example ?? (isBodyOptional ? undefined : {})
}

async function deviations(
  routes: readonly Route[],
  request: (route: Route) => Promise<Answer<Body>>,
  wanted: (route: Route) => string,
  seen: (answer: Answer<Body>) => string = ({ status, body }) => `${status} ${body?.code}`,
): Promise<string[]> {
  const found: string[] = []
  const waiting = [...routes]
  const work = async () => {
    for (let route = waiting.shift(); route !== undefined; route = waiting.shift()) {
      const answer = await request(route)
      const [is, due] = [seen(answer), wanted(route)]
      if (is !== due) found.push(`${route.method} ${route.path}: ${is} instead of ${due}. ${answer.text.slice(0, 200)}`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return found
}

describe('refusals of every route', () => {
  let places: Places
  let stranger: CallOptions

  before(async () => {
    const { id: boundaryId } = await makeBoundary()
    places = { boundaryId, group: (await makeGroup(boundaryId)).name }
    stranger = { token: (await makeCaller()).token }
  })

  const send = (options: CallOptions, body?: (route: Route) => unknown, at?: Partial<Places>) => (route: Route) =>
    call<Body>(route.method, pathOf(route, { ...places, ...at }), body?.(route), options)

  it('covers at least 406 routes, and additions', () => {
    const routes = AREAS.flatMap((area) => area.routes)
    expect(AREAS.flatMap((area) => area.additions)).to.not.be.empty
    expect(routes.length).to.be.at.least(406)
  })

  const parts = AREAS.flatMap(({ name, routes, additions }) => [
    { name, routes },
    ...(additions.length === 0 ? [] : [{ name: `${name}, additions`, routes: additions }]),
  ])
  it('returns 200 for lists across the groups of a boundary', async () => {
    const lists = SERVED_ROUTES.filter(
      ({ method, path }) =>
        method === 'GET' && /^\/boundaries\/\{boundaryId\}\/resources\/[a-z]+(\/config)?$/.test(path),
    )
    expect(lists).to.not.be.empty
    expect(
      await deviations(
        lists,
        send({}),
        () => '200',
        ({ status }) => `${status}`,
      ),
    ).to.deep.equal([])
  })

  it('returns the plan that a list of plans shows', async () => {
    const one = /^\/boundaries\/\{boundaryId\}\/resources\/[a-z]+plans\/\{resourceId\}$/
    const routes = SERVED_ROUTES.filter(({ method, path }) => method === 'GET' && one.test(path))
    expect(routes).to.not.be.empty
    for (const { path } of routes) {
      const list = path.replace('{boundaryId}', places.boundaryId).replace('/{resourceId}', '')
      const { items } = (await call<{ items: { id: string }[] }>('GET', list)).body
      expect(items, path).to.not.be.empty
      expect((await call('GET', `${list}/${items[0]?.id}`)).body, path).to.deep.equal(items[0])
    }
  })

  for (const { name, routes } of parts) {
    const signedIn = routes.filter(({ authorization }) => authorization.kind !== 'anonymous')
    const permitted = routes.filter(({ authorization }) => authorization.kind === 'iam')
    const withBody = routes.filter(({ bodyKind }) => bodyKind === 'json')

    describe(name, () => {
      if (signedIn.length > 0) {
        it('returns 401 without a token', async () => {
          expect(await deviations(signedIn, send({ token: null }), () => '401 UNAUTHORIZED')).to.deep.equal([])
        })

        it('returns 401 for an invalid token', async () => {
          // One route of each method: refused tokens count against the address, which all tests share.
          const some = [...new Map(signedIn.map((route) => [route.method, route])).values()]
          const garbage = 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.'
          expect(await deviations(some, send({ token: garbage }), () => '401 UNAUTHORIZED')).to.deep.equal([])
        })
      }

      if (permitted.length > 0) {
        it('returns 403 with the permission to a caller without a role, before it reads body or object', async () => {
          const action = ({ authorization }: Route) => (authorization.kind === 'iam' ? authorization.action : '')
          const found = await deviations(
            permitted,
            send(stranger, ({ bodyKind }) => (bodyKind === 'none' ? undefined : '{')),
            (route) => `403 FORBIDDEN ${action(route)}`,
            ({ status, body }) => `${status} ${body?.code} ${body?.action}`,
          )
          expect(found).to.deep.equal([])
        })
      }

      if (withBody.length > 0) {
        it('returns 400 for a body that is not JSON', async () => {
          for (const bad of ['{', '{"a":1,"a":2}', 'no']) {
            expect(
              await deviations(
                withBody,
                send({}, () => bad),
                () => '400 MODEL_BINDING_FAILED',
              ),
              bad,
            ).to.deep.equal([])
          }
          const text = { headers: { 'content-type': 'text/plain' } }
          expect(
            await deviations(
              withBody,
              send(text, () => '{}'),
              () => '400 MODEL_BINDING_FAILED',
            ),
          ).to.deep.equal([])
        })
      }

      const inBoundary = routes.filter(({ path }) => path.includes('{boundaryId}'))
      if (inBoundary.length > 0) {
        it('returns 404 in a missing boundary', async () => {
          const request = (route: Route) => send({}, goodBody, { boundaryId: randomUUID() })(route)
          expect(await deviations(inBoundary, request, missingBoundary)).to.deep.equal([])
        })
      }

      const isCreation = ({ method, path }: Route) => method === 'POST' && path.endsWith('}')
      const inGroup = routes.filter(({ path }) => /\{resourceGroup(Name)?\}/.test(path))
      const ofGroup = inGroup.filter((route) => !isCreation(route) || route.path.includes('/resources/'))
      if (ofGroup.length > 0) {
        it('returns 404 in a missing group', async () => {
          const request = send({}, goodBody, { group: 'no-such-group' })
          expect(await deviations(ofGroup, request, notFoundOf)).to.deep.equal([])
        })
      }

      const ofThing = routes.filter((route) => {
        const names = [...route.path.matchAll(/\{([A-Za-z]+)\}/g)].map(([, name = '']) => name)
        const others = names.filter(
          (one) => !['boundaryId', 'resourceGroupName', 'resourceGroup', 'action'].includes(one),
        )
        // The question whether a name is available is answered for every name.
        return others.length > 0 && !isCreation(route) && !route.path.endsWith('/validate')
      })
      if (ofThing.length > 0) {
        it('returns 404 for a missing object', async () => {
          expect(await deviations(ofThing, send({}, goodBody), missingThing)).to.deep.equal([])
        })
      }
    })
  }
})
