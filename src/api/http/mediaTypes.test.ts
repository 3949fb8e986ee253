import { expect } from 'chai'
import request from 'supertest'
import { bearer, startFacade } from '../../../test/worlds/facadeServer.ts'
import { SERVED_ROUTES } from '../index.ts'
import { ANY_TYPE } from './body.ts'

const B = '11111111-1111-4111-8111-111111111111'
const OWNER = '22222222-2222-4222-8222-222222222222'
const WRONG = 'text/plain'

const EMBODIED = SERVED_ROUTES.filter(
  ({ bodyKind, isBuilt, mediaTypes, query }) =>
    bodyKind !== 'none' &&
    isBuilt &&
    !mediaTypes.includes(ANY_TYPE) &&
    (query === undefined || query.safeParse({}).success),
)

describe('a route that takes a body', () => {
  let server: Awaited<ReturnType<typeof startFacade>>
  before(async () => {
    server = await startFacade()
    server.boundary(B)
    server.group(B, 'shop')
    server.grant(OWNER, 'Owner', '/')
  })
  after(() => server.stop())

  it('is looked for among all', () => {
    expect(EMBODIED).to.have.length.above(100)
    expect(EMBODIED.filter(({ bodyKind }) => bodyKind === 'raw').map(({ path }) => path.split('/').at(-1))).to.include(
      'source',
    )
  })

  for (const { method, path, mediaTypes } of EMBODIED) {
    it(`refuses one of a type that is not documented, and names those that are: ${method} ${path}`, async () => {
      const at = path
        .replace('{boundaryId}', B)
        .replace(/\{resourceGroup(Name)?\}/, 'shop')
        .replaceAll(/\{[^}]+\}/g, 'nothing')
      const agent = request(server.app)
      const call = { POST: agent.post, PUT: agent.put, PATCH: agent.patch, DELETE: agent.delete }[method as 'POST']
      const asked = call.call(agent, at).set('authorization', bearer(OWNER)).set('content-type', WRONG)
      const answer = await asked.send('{}')
      expect(answer.status, JSON.stringify(answer.body)).to.equal(400)
      expect(JSON.stringify(answer.body)).to.include(`must be sent as ${mediaTypes.join(' or ')}`)
    })
  }
})
