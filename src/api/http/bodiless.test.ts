import { expect } from 'chai'
import { startForRoutes } from '../../../test/worlds/everyRoute.ts'
import { SERVED_ROUTES } from '../index.ts'

/** Routes that take no body. */
const BODILESS = SERVED_ROUTES.filter(
  ({ bodyKind, method, authorization, query }) =>
    bodyKind === 'none' &&
    method !== 'GET' &&
    authorization.kind !== 'anonymous' &&
    (query === undefined || query.safeParse({}).success),
)

describe('a route without a body', () => {
  let server: Awaited<ReturnType<typeof startForRoutes>>
  before(async () => {
    server = await startForRoutes()
  })
  after(() => server.stop())

  for (const { method, path } of BODILESS) {
    it(`rejects a non-empty body before any call: ${method} ${path}`, async () => {
      const before = server.client.calls.length
      const answer = await server.ask({ method, path }).send({ dryRun: true })
      expect([answer.status, answer.body.code], JSON.stringify(answer.body)).to.deep.equal([
        400,
        'MODEL_BINDING_FAILED',
      ])
      expect(JSON.stringify(answer.body)).to.include('dryRun')
      const ofNull = await server.ask({ method, path }).type('json').send('null')
      expect([ofNull.status, ofNull.body.code]).to.deep.equal([400, 'MODEL_BINDING_FAILED'])
      expect(server.client.calls.length).to.equal(before)
    })

    it(`accepts a chunked body of no bytes, without a media type: ${method} ${path}`, async () => {
      const answer = await server.ask({ method, path }).set('transfer-encoding', 'chunked')
      expect(answer.body.code, JSON.stringify(answer.body)).to.not.equal('MODEL_BINDING_FAILED')
    })
  }
})
