import { expect } from 'chai'
import { BOUNDARY, startShop } from '../../../test/worlds/shop.ts'
import { groupNamespace } from '../../core/names.ts'
import { VectorCluster } from '../../crds/vector.ts'

const NAMESPACE = groupNamespace(BOUNDARY, 'shop')
const AT = `/boundaries/${BOUNDARY}/resourcegroups/shop/resources/vectorclusters/search`
const lastTransitionTime = '2026-11-01T10:00:00Z'
const ready = {
  type: 'Ready',
  status: 'True',
  reason: 'Stopped',
  message: '',
  observedGeneration: 1,
  lastTransitionTime,
}

describe('a request refused with INVALID_STATE', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  before(async () => {
    server = await startShop()
    server.put(VectorCluster, 'search', { running: false, computePlan: 'vector-dev' }, NAMESPACE)
    const ref = { namespace: NAMESPACE, name: 'search' }
    const status = { conditions: [ready], firstReadyAt: lastTransitionTime }
    await server.client.mergePatch(VectorCluster.resource, ref, { status }, { subresource: 'status' })
    await server.client.mergePatch(VectorCluster.resource, ref, { spec: { tags: { team: 'search' } } })
    server.caches.get(VectorCluster.resource).observeWrite(await server.client.get(VectorCluster.resource, ref))
  })
  after(() => server.stop())

  const refused = [
    ['put', 'actions/restart'],
    ['post', 'snapshots'],
    ['post', 'apikey/rotate'],
  ] as const
  for (const [method, what] of refused)
    it(`returns status and phase of the record: ${what}`, async () => {
      const { status, phase } = (await server.ask('get', AT)).body
      expect([status, phase]).to.deep.equal(['Updating', 'Accepted'])
      const { body } = await server.ask(method, `${AT}/${what}`).send({})
      expect(body).to.include({ code: 'INVALID_STATE', status, phase })
    })
})
