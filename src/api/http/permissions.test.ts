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

describe('every route for everybody', () => {
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

  it('is closed without a token, and with an invalid one', async () => {
    for (const route of signedIn) {
      expect([await ask(route), await ask(route, 'Bearer x')], `${route.method} ${route.path}`).to.deep.equal([
        401, 401,
      ])
    }
    expect(signedIn.length).to.be.above(380)
  })

  it('is open to everybody where the interface says so', async () => {
    for (const route of SERVED_ROUTES.filter(({ authorization }) => authorization.kind === 'anonymous')) {
      // Without credentials it asks for others than a bearer token.
      if (route.path === '/registry/auth/token') continue
      expect([401, 403], `${route.method} ${route.path}`).to.not.include(await ask(route))
    }
  })

  it('is 403 for a stranger and for the Owner of another boundary, whatever exists', async () => {
    for (const route of permitted) {
      for (const id of [ids.stranger, ids.foreignOwner]) {
        // Whoever may read some boundary may know what lists of boundaries can be asked for.
        if (route.path === '/boundaries/config' && id === ids.foreignOwner) continue
        expect(await ask(route, bearer(id)), `${route.method} ${route.path}`).to.equal(403)
      }
    }
    expect(permitted.length).to.be.above(340)
  })

  it('is 403 for a Reader who would write, and for one who would see a secret', async () => {
    const reader = BUILT_IN_ROLES.find(({ displayName }) => displayName === 'Reader')
    expect(reader?.dataActions).to.deep.equal([])
    for (const route of permitted) {
      if (route.authorization.kind !== 'iam') continue
      const { isData, action } = route.authorization
      if (!isData && !/\/(write|delete|scale|manage)$/.test(action)) continue
      expect(await ask(route, bearer(ids.reader)), `${route.method} ${route.path}`).to.equal(403)
    }
  })

  it('is 403 for the Owner of a boundary at the root', async () => {
    for (const route of permitted.filter(({ scope, path }) => scope === 'root' && path !== '/boundaries/config')) {
      expect(await ask(route, bearer(ids.owner)), `${route.method} ${route.path}`).to.equal(403)
    }
  })

  it('is never 403 nor 401 for the Owner of everything, save where data actions are asked for', async () => {
    for (const route of permitted) {
      if (route.authorization.kind === 'iam' && route.authorization.isData) continue
      expect([401, 403], `${route.method} ${route.path}`).to.not.include(await ask(route, bearer(ids.root)))
    }
  })
})
