import { expect } from 'chai'
import { startForRoutes } from '../../../test/worlds/everyRoute.ts'
import { SERVED_ROUTES } from '../index.ts'
import { ANY_TYPE } from './body.ts'

const WRONG = 'text/plain'

const EMBODIED = SERVED_ROUTES.filter(
  ({ bodyKind, mediaTypes, query }) =>
    bodyKind !== 'none' && !mediaTypes.includes(ANY_TYPE) && (query === undefined || query.safeParse({}).success),
)

describe('a route with a body', () => {
  let server: Awaited<ReturnType<typeof startForRoutes>>
  before(async () => {
    server = await startForRoutes()
  })
  after(() => server.stop())

  it('is found more than 100 times, raw bodies included', () => {
    expect(EMBODIED).to.have.length.above(100)
    expect(EMBODIED.filter(({ bodyKind }) => bodyKind === 'raw').map(({ path }) => path.split('/').at(-1))).to.include(
      'source',
    )
  })

  for (const { method, path, mediaTypes } of EMBODIED) {
    it(`rejects text/plain and names the documented media types: ${method} ${path}`, async () => {
      const call = server.ask({ method, path }).set('content-type', WRONG)
      const answer = await call.send('{}')
      expect(answer.status, JSON.stringify(answer.body)).to.equal(400)
      expect(JSON.stringify(answer.body)).to.include(`must be sent as ${mediaTypes.join(' or ')}`)
    })
  }
})
