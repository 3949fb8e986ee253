import { expect } from 'chai'
import request from 'supertest'
import { bearer, startFacade } from '../../../test/worlds/facadeServer.ts'
import { SERVED_ROUTES } from '../index.ts'

const B = '11111111-1111-4111-8111-111111111111'
const OWNER = '22222222-2222-4222-8222-222222222222'

/** Routes that take no body, at a boundary that is there; other parameters name nothing, which is found out later. */
const BODILESS = SERVED_ROUTES.filter(
  ({ bodyKind, method, isBuilt, authorization, query }) =>
    bodyKind === 'none' &&
    method !== 'GET' &&
    isBuilt &&
    authorization.kind !== 'anonymous' &&
    (query === undefined || query.safeParse({}).success),
)

describe('a route that takes no body', () => {
  let server: Awaited<ReturnType<typeof startFacade>>
  before(async () => {
    server = await startFacade()
    server.boundary(B)
    server.group(B, 'shop')
    server.grant(OWNER, 'Owner', '/')
  })
  after(() => server.stop())

  for (const { method, path } of BODILESS) {
    it(`refuses one that says something, before it does anything: ${method} ${path}`, async () => {
      const at = path
        .replace('{boundaryId}', B)
        .replace(/\{resourceGroup(Name)?\}/, 'shop')
        .replaceAll(/\{[^}]+\}/g, 'nothing')
      const before = server.client.calls.length
      const agent = request(server.app)
      const call = { POST: agent.post, PUT: agent.put, PATCH: agent.patch, DELETE: agent.delete }[method as 'POST']
      const answer = await call.call(agent, at).set('authorization', bearer(OWNER)).send({ dryRun: true })
      expect([answer.status, answer.body.code], JSON.stringify(answer.body)).to.deep.equal([
        400,
        'MODEL_BINDING_FAILED',
      ])
      expect(JSON.stringify(answer.body)).to.include('dryRun')
      expect(server.client.calls.length).to.equal(before)
    })
  }
})
