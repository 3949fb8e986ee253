import { expect } from 'chai'
import { startWithOneOfEachKind } from '../../test/worlds/oneOfEachKind.ts'
import { activityOfRequest } from './activity/requests.ts'
import type { FinishedRequest } from './http/requestObserver.ts'
import { SERVED_ROUTES } from './index.ts'

const BUILT = SERVED_ROUTES
const READS = BUILT.filter(({ method }) => method === 'GET')
const CHANGES = BUILT.filter(
  ({ method, path }) => /^(PUT|PATCH)$/.test(method) && READS.some((read) => read.path === path),
)
/** Those that name one object, of which a caller may have read a version. */
const DELETIONS = BUILT.filter(({ method, path }) => method === 'DELETE' && (path.endsWith('}') || /pins$/.test(path)))

describe('routes with one object of each kind', () => {
  let server: Awaited<ReturnType<typeof startWithOneOfEachKind>>
  let [single, conflicts] = [0, 0]
  let finished: FinishedRequest[] = []
  before(async () => {
    server = await startWithOneOfEachKind({ observer: (one) => void finished.push(one) })
  })
  after(() => server.stop())

  it('include more than 150 GET routes', () => expect(READS.length).to.be.greaterThan(150))
  for (const { path } of READS) {
    it(`GET ${path} returns no 500, and an ETag for a single object`, async () => {
      const { status, body, headers } = await server.ask('get', server.pathOf(path))
      expect(status, JSON.stringify(body)).to.not.equal(500)
      if (status !== 200 || !path.endsWith('}')) return
      single += 1
      expect(headers.etag, 'the version of what is read').to.match(/^".+"$/)
    })
  }
  it('include more than 20 GET routes that return a single object', () => expect(single).to.be.greaterThan(20))

  let same = 0
  for (const { method, path } of CHANGES) {
    it(`${method} ${path} of the record as read records no activity`, async () => {
      const read = await server.ask('get', server.pathOf(path))
      if (read.status !== 200) return
      const send = () => server.ask(method.toLowerCase() as 'put', server.pathOf(path)).send(read.body)
      // The first may fill in what the sample left out.
      if ((await send()).status !== 200) return
      finished = []
      expect((await send()).status).to.equal(200)
      expect(finished.map((one) => activityOfRequest(one, () => true))).to.deep.equal([undefined])
      same += 1
    })
  }
  it('include more than 15 records that can be sent back', () => expect(same).to.be.greaterThan(15))

  it('include more than 25 DELETE routes', () => expect(DELETIONS.length).to.be.greaterThan(25))
  for (const { path } of DELETIONS) {
    it(`DELETE ${path} removes nothing under an outdated If-Match`, async () => {
      const answer = await server.ask('delete', server.pathOf(path)).set('if-match', '"0-1-stale000"')
      expect(answer.status, JSON.stringify(answer.body)).to.be.oneOf([400, 404, 409, 422, 501])
      if (['CONFLICT', 'conflict'].includes(answer.body.code)) conflicts += 1
    })
  }
  it('include more than 18 DELETE routes that return 409', () => expect(conflicts).to.be.greaterThan(18))
})
