import { expect } from 'chai'
import { request } from '../../../test/make/request.ts'
import { bearer, startFacade } from '../../../test/worlds/facadeServer.ts'
import { BUILT_IN_ROLES } from '../../iam/roles.ts'
import { SERVED_ROUTES } from '../index.ts'
import type { Route } from './route.ts'
import { templateSegments } from './template.ts'

const B = '11111111-1111-4111-8111-111111111111'
const OTHER = '12111111-1111-4111-8111-111111111111'
const ids = {
  stranger: '20000000-0000-4000-8000-000000000000',
  foreignOwner: '21000000-0000-4000-8000-000000000000',
  reader: '22000000-0000-4000-8000-000000000000',
  owner: '23000000-0000-4000-8000-000000000000',
  root: '24000000-0000-4000-8000-000000000000',
} as const

/** A path of the route whose objects do not exist, in a boundary that does. */
function filled(route: Route): string {
  const segments = templateSegments(route.path).map(({ kind, text }) => {
    if (kind === 'literal') return text
    if (text === 'boundaryId') return B
    if (text === 'resourceType') return 'vectorclusters'
    return text.endsWith('Id') || text === 'resourceUid' ? OTHER : 'nothing'
  })
  return `/${segments.join('/')}`
}

describe('authorization of every served route', () => {
  let server: Awaited<ReturnType<typeof startFacade>>
  before(async () => {
    const limits = { requestsPerMinute: 1_000_000, anonymousRequestsPerMinute: 1_000_000 }
    server = await startFacade({ limits, checkReplies: false })
    for (const id of [B, OTHER]) server.boundary(id)
    server.grant(ids.foreignOwner, 'Owner', `/boundaries/${OTHER}`)
    server.grant(ids.reader, 'Reader', `/boundaries/${B}`)
    server.grant(ids.owner, 'Owner', `/boundaries/${B}`)
    server.grant(ids.root, 'Owner', '/')
  })
  after(() => server.stop())

  const ask = async (route: Route, authorization?: string) => {
    const method = route.method.toLowerCase() as 'get' | 'post' | 'put' | 'patch' | 'delete'
    const call = request(server.app)[method](filled(route))
    if (authorization !== undefined) call.set('authorization', authorization)
    return (await call).status
  }
  const signedIn = SERVED_ROUTES.filter(({ authorization }) => authorization.kind !== 'anonymous')
  const permitted = SERVED_ROUTES.filter(({ authorization }) => authorization.kind === 'iam')

  it('returns 401 without a token and with an invalid one', async () => {
    for (const route of signedIn) {
      expect([await ask(route), await ask(route, 'Bearer x')], `${route.method} ${route.path}`).to.deep.equal([
        401, 401,
      ])
    }
    expect(signedIn.length).to.be.above(380)
  })

  it('returns neither 401 nor 403 for anonymous routes', async () => {
    for (const route of SERVED_ROUTES.filter(({ authorization }) => authorization.kind === 'anonymous')) {
      // They ask for credentials of their own, and answer 401 without them.
      if (['/registry/auth/token', '/v1/internal/registries/notify'].includes(route.path)) continue
      expect([401, 403], `${route.method} ${route.path}`).to.not.include(await ask(route))
    }
  })

  it('returns 403 to a stranger and to the Owner of another boundary', async () => {
    for (const route of permitted) {
      for (const id of [ids.stranger, ids.foreignOwner]) {
        // A reader of any boundary may read the list configuration of boundaries.
        if (route.path === '/boundaries/config' && id === ids.foreignOwner) continue
        expect(await ask(route, bearer(id)), `${route.method} ${route.path}`).to.equal(403)
      }
    }
    expect(permitted.length).to.be.above(340)
  })

  it('returns 403 to a Reader for write and data actions', async () => {
    const reader = BUILT_IN_ROLES.find(({ displayName }) => displayName === 'Reader')
    expect(reader?.dataActions).to.deep.equal([])
    for (const route of permitted) {
      if (route.authorization.kind !== 'iam') continue
      const { isData, action } = route.authorization
      if (!isData && !/\/(write|delete|scale|manage)$/.test(action)) continue
      expect(await ask(route, bearer(ids.reader)), `${route.method} ${route.path}`).to.equal(403)
    }
  })

  it('returns 403 to the Owner of a boundary for routes of root scope', async () => {
    for (const route of permitted.filter(({ scope, path }) => scope === 'root' && path !== '/boundaries/config')) {
      expect(await ask(route, bearer(ids.owner)), `${route.method} ${route.path}`).to.equal(403)
    }
  })

  it('returns neither 401 nor 403 to the Owner at the root, except for data actions', async () => {
    for (const route of permitted) {
      if (route.authorization.kind === 'iam' && route.authorization.isData) continue
      expect([401, 403], `${route.method} ${route.path}`).to.not.include(await ask(route, bearer(ids.root)))
    }
  })
})
