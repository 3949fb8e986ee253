import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { BOUNDARY, OWNER, startShop } from '../../../test/worlds/shop.ts'
import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { PlatformAlert } from '../../crds/monitoring.ts'
import { DenyAssignment } from '../../crds/rbac.ts'
import { VectorCluster } from '../../crds/vector.ts'

const OTHER = '99999999-9999-4999-8999-999999999999'
const LETTERS = 'abcdefab-cdef-4abc-8def-abcdefabcdef'
const ALERTS = '/admin/monitoring/alerts'
const OF_RESOURCE = `/boundaries/${BOUNDARY}/resourcegroups/shop/resources/monitoring/vectorclusters/products/alerts`
const OF_BOUNDARY = `/boundaries/${BOUNDARY}/resources/monitoring/alerts`

describe('alerts', () => {
  const operator = randomUUID()
  const stranger = randomUUID()
  const restricted = randomUUID()
  let shop: Awaited<ReturnType<typeof startShop>>

  before(async () => {
    shop = await startShop()
    shop.boundary(OTHER)
    shop.group(OTHER, 'shop')
    shop.group(BOUNDARY, 'stock')
    shop.put(VectorCluster, 'products', { storageSize: '5Gi' }, groupNamespace(BOUNDARY, 'shop'))
    shop.grant(operator, 'Platform Owner', '/')
    shop.grant(stranger, 'Owner', `/boundaries/${OTHER}`)
    shop.grant(restricted, 'Reader', `/boundaries/${BOUNDARY}`)
    const scope = `/boundaries/${BOUNDARY}/resourcegroups/stock`
    const deny = { principalId: restricted, principalType: 'User', actions: ['monitoring/read'], scope }
    shop.put(DenyAssignment, randomUUID(), { ...deny, scopeIncarnation: 'life' }, boundaryNamespace(BOUNDARY))
  })
  after(() => shop.stop())

  const report = (body: object, as = operator) =>
    shop.ask('post', ALERTS, as).send({ title: 'Something', level: 2, ...body })
  const about = (alertId: string, more: object = {}, group = 'shop', boundaryId = BOUNDARY) => ({
    alertId,
    resourceType: 'vectorclusters',
    resourceName: 'products',
    metadata: { boundaryId, resourceGroup: group },
    ...more,
  })
  const list = async (path: string, as = operator) => {
    const { status, body } = await shop.ask('get', path, as)
    expect(status, JSON.stringify(body)).to.equal(200)
    return body.items as Record<string, unknown>[]
  }
  const one = async (alertId: string, path = `${ALERTS}?includeResolved=true`, as = operator) =>
    (await list(`${path}${path.includes('?') ? '&' : '?'}filter=alertId:eq:${alertId}`, as))[0]

  it('are created once and counted on repetition', async () => {
    const first = await report(
      about('again', { metadata: { ...about('').metadata, runbookUrl: 'https://run.test/x' } }),
    )
    expect([first.status, first.body.status, first.body.created]).to.deep.equal([202, 'Firing', true])
    const again = await report(about('again', { level: 4, title: 'Worse', detail: 'two\nlines' }))
    expect(again.body).to.deep.equal({ ...first.body, created: false })
    const shown = await one('again')
    for (const time of [shown?.firstSeenAt, shown?.lastSeenAt]) expect(time).to.match(/:\d\dZ$/)
    expect(first.headers.etag).to.match(/^"/).and.to.not.equal(again.headers.etag)
    expect(shown).to.include({
      id: first.body.id,
      title: 'Worse',
      level: 4,
      levelName: 'Critical',
      status: 'Firing',
      boundaryId: BOUNDARY,
      resourceGroup: 'shop',
      occurrences: 2,
      resolvedAt: null,
      runbookUrl: null,
    })
  })

  it('have a runbookUrl only if it is an http or https URL', async () => {
    await report(about('link', { metadata: { runbookUrl: 'https://run.test/x' } }))
    await report(about('script', { metadata: { runbookUrl: 'javascript:alert(1)' } }))
    expect([(await one('link'))?.runbookUrl, (await one('script'))?.runbookUrl]).to.deep.equal([
      'https://run.test/x',
      null,
    ])
  })

  it('are resolved, and fire again under the same id', async () => {
    const { body } = await report(about('over'))
    const over = await report(about('over', { status: 'Resolved' }))
    expect(over.body).to.deep.equal({ ...body, status: 'Resolved', created: false })
    expect(await one('over', OF_RESOURCE, OWNER)).to.equal(undefined)
    const shown = await one('over', `${OF_RESOURCE}?includeResolved=true`, OWNER)
    expect([shown?.status, shown?.resolvedAt]).to.deep.equal(['Resolved', shown?.lastSeenAt])
    await report(about('over'))
    expect(await one('over', OF_RESOURCE, OWNER)).to.include({ status: 'Firing', occurrences: 2, resolvedAt: null })
  })

  it('are not created by status Resolved', async () => {
    const { status, body } = await report(about('never', { status: 'Resolved' }))
    expect([status, body.created, body.status]).to.deep.equal([202, false, 'Resolved'])
    expect(await one('never')).to.equal(undefined)
  })

  it('are found without metadata if the alertId is unique', async () => {
    await report(about('placeless'))
    const { metadata: _, ...bare } = about('placeless', { status: 'Resolved' })
    await report(bare)
    expect(await one('placeless')).to.include({ status: 'Resolved', boundaryId: BOUNDARY, resourceGroup: 'shop' })
  })

  it('are distinct per group and boundary', async () => {
    await report(about('twin'))
    await report(about('twin', {}, 'stock'))
    await report(about('twin', {}, 'shop', OTHER))
    const all = await list(`${ALERTS}?filter=alertId:eq:twin`)
    expect(new Set(all.map(({ boundaryId, resourceGroup }) => `${boundaryId}/${resourceGroup}`)).size).to.equal(3)
    expect(await list(`${OF_RESOURCE}?filter=alertId:eq:twin`, OWNER)).to.have.length(1)
    expect(await list(`${OF_BOUNDARY}?filter=alertId:eq:twin`, OWNER)).to.have.length(2)
  })

  it('accept the boundaryId in upper case', async () => {
    shop.boundary(LETTERS)
    await report(about('capitals', { metadata: { boundaryId: LETTERS.toUpperCase() } }))
    expect((await one('capitals'))?.boundaryId).to.equal(LETTERS)
    expect((await report(about('capitals', { metadata: { boundaryId: LETTERS } }))).body.created).to.equal(false)
  })

  it('belong to the platform for unknown metadata, hidden from tenants', async () => {
    const places = [
      {},
      { boundaryId: randomUUID() },
      { boundaryId: 'x/..' },
      { boundaryId: BOUNDARY, resourceGroup: 'no' },
    ]
    for (const [index, metadata] of places.entries()) await report(about(`lost-${index}`, { metadata }))
    const all = await list(`${ALERTS}?search=lost`)
    expect(all.map(({ boundaryId, resourceGroup }) => [boundaryId, resourceGroup])).to.deep.equal(
      places.map(() => [null, null]),
    )
    expect(await list(`${OF_BOUNDARY}?search=lost`, OWNER)).to.deep.equal([])
  })

  it('are hidden from callers without access to their resource', async () => {
    await report(about('hidden', { resourceName: 'x' }, 'stock'))
    await report(about('open'))
    expect(await one('hidden', OF_BOUNDARY, restricted)).to.equal(undefined)
    expect(await one('open', OF_BOUNDARY, restricted)).to.not.equal(undefined)
    for (const path of [OF_BOUNDARY, OF_RESOURCE]) expect((await shop.ask('get', path, stranger)).status).to.equal(403)
    expect((await shop.ask('get', ALERTS, OWNER)).status).to.equal(403)
    expect((await report(about('mine'), OWNER)).status).to.equal(403)
  })

  it('exclude those from before the resource was created', async () => {
    const namespace = groupNamespace(BOUNDARY, 'shop')
    await report(about('former', { resourceName: 'anew' }))
    shop.put(VectorCluster, 'anew', { storageSize: '5Gi' }, namespace)
    const later = shop.client.edit(VectorCluster.resource, { namespace, name: 'anew' }, ({ metadata }) => {
      metadata.creationTimestamp = '2999-01-01T00:00:00Z'
    })
    shop.caches.get(VectorCluster.resource).observeWrite(later)
    expect(await list(OF_RESOURCE.replace('products', 'anew'), OWNER)).to.deep.equal([])
  })

  it('continue the count of an alert written with kubectl', async () => {
    const spec = PlatformAlert.spec.parse({ alertId: 'by-hand', title: 'By hand', level: 1 })
    shop.put(PlatformAlert, 'by-hand', spec, SYSTEM_NAMESPACE)
    const { body } = await report({ alertId: 'by-hand' })
    expect(body.created).to.equal(false)
    expect(await one('by-hand')).to.include({ id: body.id, occurrences: 2 })
  })

  it('are limited by `limit`, newest first', async () => {
    const items = await list(`${OF_RESOURCE}?limit=2`, OWNER)
    expect(items).to.have.length(2)
    const [newest = '', older = ''] = items.map(({ lastSeenAt }) => String(lastSeenAt))
    expect(newest >= older).to.equal(true)
  })

  const refused: [sentence: string, body: object][] = [
    ['no id', { alertId: '' }],
    ['an unknown level', { alertId: 'a', level: 6 }],
    ['a level that is a name', { alertId: 'a', level: 'Warning' }],
    ['an unknown status', { alertId: 'a', status: 'Pending' }],
    ['a detail that is too long', { alertId: 'a', detail: 'x'.repeat(8193) }],
    [
      '51 metadata entries',
      { alertId: 'a', metadata: Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`k${i}`, ''])) },
    ],
    ['an unknown field', { alertId: 'a', told: { times: 1 } }],
  ]
  for (const [sentence, body] of refused)
    it(`are rejected with ${sentence}`, async () => expect((await report(body)).status).to.equal(400))

  for (const path of ['vectorclusters/none', 'managedidentities/products', 'nothing/products'])
    it(`return 404 for ${path}`, async () => {
      const { status, body } = await shop.ask('get', OF_RESOURCE.replace('vectorclusters/products', path))
      expect([status, body.code]).to.deep.equal([404, 'NOT_FOUND'])
    })
})
