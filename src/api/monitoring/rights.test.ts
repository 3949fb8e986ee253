import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { BOUNDARY, startShop } from '../../../test/worlds/shop.ts'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import { DenyAssignment } from '../../crds/rbac.ts'
import { VectorCluster } from '../../crds/vector.ts'

const GROUP = `/boundaries/${BOUNDARY}/resourcegroups/shop`
const PRODUCTS = `${GROUP}/resources/vectorclusters/products`
const monitoring = (name: string) => `${GROUP}/resources/monitoring/vectorclusters/${name}`
const SPAN = 'from=2026-01-01T00:00:00Z&to=2026-01-01T01:00:00Z'
/** The rest of each path after the name of the resource. */
const ROUTES = [
  `?metric=CpuUsage&aggregation=Average&${SPAN}`,
  '/alerts',
  `/requests?${SPAN}`,
  `/utilization?metric=Cpu&aggregation=Average&${SPAN}`,
]

describe('metrics and alerts of a resource', () => {
  let shop: Awaited<ReturnType<typeof startShop>>
  before(async () => {
    shop = await startShop()
    for (const name of ['products', 'orders'])
      shop.put(VectorCluster, name, { storageSize: '5Gi' }, groupNamespace(BOUNDARY, 'shop'))
  })
  after(() => shop.stop())
  const isRefused = async (caller: string, name: string) => {
    const answers = await Promise.all(ROUTES.map((rest) => shop.ask('get', `${monitoring(name)}${rest}`, caller)))
    return answers.map(({ status }) => status === 403)
  }

  it('are allowed by a role at the resource, for this resource only', async () => {
    const reader = randomUUID()
    shop.grant(reader, 'Reader', PRODUCTS)
    expect(await isRefused(reader, 'products')).to.deep.equal(ROUTES.map(() => false))
    expect(await isRefused(reader, 'orders')).to.deep.equal(ROUTES.map(() => true))
  })

  it('are forbidden by a deny at the resource, for this resource only', async () => {
    const reader = randomUUID()
    shop.grant(reader, 'Reader', `/boundaries/${BOUNDARY}`)
    const spec = { principalId: reader, actions: ['monitoring/read'], scope: PRODUCTS, scopeIncarnation: 'life' }
    shop.put(DenyAssignment, randomUUID(), spec, boundaryNamespace(BOUNDARY))
    expect(await isRefused(reader, 'products')).to.deep.equal(ROUTES.map(() => true))
    expect(await isRefused(reader, 'orders')).to.deep.equal(ROUTES.map(() => false))
  })
})
