import { expect } from 'chai'
import { request } from '../../../test/make/request.ts'
import { bearer, startFacade } from '../../../test/worlds/facadeServer.ts'
import { groupNamespace } from '../../core/names.ts'
import { Boundary } from '../../crds/boundaries.ts'
import type { AnyKind } from '../../crds/define.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { VectorCluster } from '../../crds/vector.ts'

const B = '11111111-1111-4111-8111-111111111111'
const OWNER = '22222222-2222-4222-8222-222222222222'
const GROUP = `/boundaries/${B}/resourcegroups/shop/resources/vectorclusters`
const ALL = `/boundaries/${B}/resources/vectorclusters`

describe('lists of resources', () => {
  let server: Awaited<ReturnType<typeof startFacade>>
  beforeEach(async () => {
    server = await startFacade()
    server.boundary(B)
    for (const group of ['shop', 'mill']) server.group(B, group)
    server.grant(OWNER, 'Owner', `/boundaries/${B}`)
    for (const name of ['c', 'a', 'd', 'b']) await create('shop', name)
    await create('mill', 'b')
  })
  afterEach(() => server.stop())

  const create = (group: string, name: string, body: object = {}) =>
    request(server.app)
      .post(`/boundaries/${B}/resourcegroups/${group}/resources/vectorclusters/${name}`)
      .set('authorization', bearer(OWNER))
      .send(body)
      .expect(201)
  const page = async (path: string) => {
    const { status, body } = await request(server.app).get(path).set('authorization', bearer(OWNER))
    expect(status, JSON.stringify(body)).to.equal(200)
    return body as { items: { name: string; resourceGroup: string }[]; pagination: { totalItems: number } }
  }
  const names = async (path: string) => (await page(path)).items.map(({ name }) => name).join('')
  const walk = async (sort = 'name') =>
    `${await names(`${GROUP}?pageSize=2&sort=${sort}`)}|${await names(`${GROUP}?pageSize=2&page=2&sort=${sort}`)}`

  it('keep one order over their pages, ascending and descending', async () => {
    expect([await walk(), await walk('-name')]).to.deep.equal(['ab|cd', 'dc|ba'])
  })

  it('read only the rows of a page once the order is cached', async () => {
    await walk()
    const cache = server.caches.get(VectorCluster.resource)
    let listings = 0
    const list = cache.list.bind(cache)
    cache.list = (filter) => {
      listings += 1
      return list(filter)
    }
    expect(await walk()).to.equal('ab|cd')
    expect(listings).to.equal(0)
  })

  it('read no object once the records are cached', async () => {
    await walk()
    const cache = server.caches.get(VectorCluster.resource)
    const get = cache.get.bind(cache)
    let reads = 0
    cache.get = (namespace, name) => {
      reads += 1
      return get(namespace, name)
    }
    expect(await walk()).to.equal('ab|cd')
    expect(reads).to.equal(0)
  })

  it('show a changed boundary name and plan at once', async () => {
    const firstItem = async () => {
      const [item] = (await page(`${GROUP}?pageSize=2`)).items as unknown as { boundary: string; cpuLimit: string }[]
      return [item?.boundary, item?.cpuLimit]
    }
    const change = (kind: AnyKind, name: string, changed: object) => {
      const edited = server.client.edit(kind.resource, { name }, (object) =>
        Object.assign(object.spec as object, changed),
      )
      server.caches.get(kind.resource).observeWrite(edited)
    }
    expect([await firstItem(), await firstItem()]).to.deep.equal([
      ['Shop', '1'],
      ['Shop', '1'],
    ])
    change(Boundary, B, { displayName: 'Store' })
    expect(await firstItem()).to.deep.equal(['Store', '1'])
    change(ComputePlan, 'vector-dev', { cpuLimit: '4' })
    expect(await firstItem()).to.deep.equal(['Store', '4'])
  })

  it('show created and deleted objects', async () => {
    expect([await walk(), await walk('-computePlan')]).to.deep.equal(['ab|cd', 'ab|cd'])
    await create('shop', 'aa')
    const remove = { namespace: groupNamespace(B, 'shop'), name: 'b' }
    const { metadata } = await server.client.get(VectorCluster.resource, remove)
    server.caches.observer().removed(VectorCluster.resource, remove, metadata.uid)
    expect(await names(GROUP)).to.equal('aaacd')
    expect((await page(GROUP)).pagination.totalItems).to.equal(4)
  })

  it('distinguish resources with the same name in two groups', async () => {
    const listed = async () => (await page(ALL)).items.map(({ name, resourceGroup }) => `${resourceGroup}/${name}`)
    const before = await listed()
    expect(before.slice().sort()).to.deep.equal(['mill/b', 'shop/a', 'shop/b', 'shop/c', 'shop/d'])
    expect(before.map((text) => text.slice(-1)).join('')).to.equal('abbcd')
    await create('mill', 'a0')
    expect((await listed()).slice(0, 2)).to.deep.equal(['shop/a', 'mill/a0'])
  })
})
