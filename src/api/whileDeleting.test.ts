import { expect } from 'chai'
import { startWithOneOfEachKind } from '../../test/worlds/oneOfEachKind.ts'
import { KINDS } from '../crds/index.ts'
import { SERVED_ROUTES } from './index.ts'

/** Routes with an object of a group. */
const ROUTES = SERVED_ROUTES.filter(({ path }) => path.includes('/resourcegroups/{'))
const THEN = '2026-01-01T00:00:00Z'

type Server = Awaited<ReturnType<typeof startWithOneOfEachKind>>

function deleteAll({ client, caches }: Server): void {
  for (const { resource, placement } of KINDS.filter(({ placement }) => placement === 'group'))
    for (const object of [...client.stored(resource)]) {
      const metadata = { ...object.metadata, deletionTimestamp: THEN, finalizers: [`held/${placement}`] }
      caches.get(resource).observeWrite(client.seed(resource, { ...object, metadata }))
    }
}

describe('resources that are being deleted', () => {
  let server: Server
  let refused = 0
  before(async () => {
    server = await startWithOneOfEachKind()
    deleteAll(server)
  })
  after(() => server.stop())

  for (const { method, path } of ROUTES) {
    it(`are named as the reason if ${method} ${path} returns INVALID_STATE`, async () => {
      const request = server.ask(method.toLowerCase() as 'get', server.pathOf(path))
      const { body } = await (method === 'GET' || method === 'DELETE' ? request : request.send({}))
      if (body?.code !== 'INVALID_STATE') return
      refused += 1
      expect(body.error).to.match(/ is being deleted\.$/)
    })
  }
  it('return INVALID_STATE for more than 20 routes', () => expect(refused).to.be.greaterThan(20))
})
