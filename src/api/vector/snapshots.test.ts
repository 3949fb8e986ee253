import { expect } from 'chai'
import { settle } from '../../../test/make/clock.ts'
import { BOUNDARY as B, OWNER, startShop } from '../../../test/worlds/shop.ts'
import { systemClock } from '../../core/clock.ts'
import { groupNamespace } from '../../core/names.ts'
import { VectorCluster } from '../../crds/vector.ts'
import type { TakenSnapshot } from '../../crds/vectorSnapshots.ts'

const READER = '33333333-3333-4333-8333-333333333333'
const BASE = `/boundaries/${B}/resourcegroups/shop/resources/vectorclusters/orders`
const REF = { namespace: groupNamespace(B, 'shop'), name: 'orders' }
const AT = '2026-01-01T00:00:00Z'
const file = { peer: 'vc-orders-0', collection: 'docs', file: 'docs-1.snapshot', sizeBytes: 7 }

describe('snapshots of vector databases over REST', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  beforeEach(async () => {
    server = await startShop({}, { clock: { ...systemClock, now: () => Date.parse(AT) } })
    server.grant(READER, 'Reader', `/boundaries/${B}`)
    await server.ask('post', BASE, OWNER).send({})
  })
  afterEach(() => server.stop())

  const take = (body: object = {}, as = OWNER) => server.ask('post', `${BASE}/snapshots`, as).send(body)
  const list = async () => (await server.ask('get', `${BASE}/snapshots`, READER)).body.items
  /** Plays the controller. */
  const report = async (snapshots: TakenSnapshot[]) => {
    server.client.edit(VectorCluster.resource, REF, (object) => Object.assign(object, { status: { snapshots } }))
    await settle()
  }
  const done = (name: string): TakenSnapshot => ({ name, files: [file], startedAt: AT, completedAt: AT })

  it('adds a snapshot to the spec, named after the time by default', async () => {
    const { status, body } = await take({ description: 'before the import' })
    expect([status, body.status]).to.deep.equal([202, 'Pending'])
    expect(body.name).to.match(/^manual-[0-9]{14}$/)
    const { spec } = (await server.client.get(VectorCluster.resource, REF)) as unknown as VectorCluster
    expect(spec.snapshots).to.deep.equal([{ name: body.name, description: 'before the import' }])
    expect((await server.ask('get', `${BASE}/snapshots/${body.name}`, READER)).body).to.deep.equal(body)
  })

  it('gives snapshots of the same second different names', async () => {
    const names = []
    for (let count = 0; count < 3; count += 1) {
      const { body } = await take()
      names.push(body.name)
      await report(names.map(done))
    }
    expect(names).to.deep.equal(['manual-20260101000000', 'manual-20260101000000-2', 'manual-20260101000000-3'])
  })

  it('returns QUOTA_EXCEEDED for the eleventh snapshot', async () => {
    const names = Array.from({ length: 10 }, (_, index) => `s${index}`)
    for (const [index, name] of names.entries()) {
      expect((await take({ name })).status).to.equal(202)
      await report(names.slice(0, index + 1).map(done))
    }
    const { status, body } = await take({ name: 'next' })
    expect([status, body.code]).to.deep.equal([422, 'QUOTA_EXCEEDED'])
    expect(body).to.deep.include({ quota: 'snapshots', limit: 10, used: 10, requested: 1 })
    expect(body.error ?? body.message).to.match(/10 snapshots.*delete one/i)
    expect((await take({ name: 's0' })).body.code).to.equal('ALREADY_EXISTS')
  })

  it('lists files and sizes, also of snapshots that are being deleted', async () => {
    await take({ name: 'first' })
    await report([done('first'), done('left')])
    expect(await list()).to.deep.equal([
      ...['first', 'left'].map((name) => ({
        ...{ name, description: null, status: name === 'first' ? 'Completed' : 'Deleting', statusMessage: null },
        ...{ sizeBytes: 7, startedAt: AT, completedAt: AT, files: [file] },
      })),
    ])
  })

  const refusals: [string, TakenSnapshot[], object, number, string][] = [
    ['while another one is running', [], {}, 409, 'SNAPSHOT_RUNNING'],
    ['with the name of an existing one', [done('first')], { name: 'first' }, 409, 'ALREADY_EXISTS'],
    [
      'with the name of one that is being deleted',
      [done('first'), done('left')],
      { name: 'left' },
      409,
      'ALREADY_EXISTS',
    ],
    ['with an invalid name', [done('first')], { name: 'No name' }, 400, 'BAD_REQUEST'],
  ]
  for (const [sentence, stored, body, status, code] of refusals) {
    it(`rejects a snapshot ${sentence}`, async () => {
      await take({ name: 'first' })
      await report(stored)
      const answer = await take(body)
      expect([answer.status, answer.body.code]).to.deep.equal([status, code])
    })
  }

  it('rejects a snapshot of a stopped database, and one by a Reader', async () => {
    expect((await take({}, READER)).status).to.equal(403)
    await server.ask('put', `${BASE}/actions/stop`, OWNER)
    const { status, body } = await take()
    expect([status, body.code]).to.deep.equal([409, 'INVALID_STATE'])
  })

  it('deletes a snapshot by name, with 404 for a missing one and 403 for a Reader', async () => {
    await take({ name: 'first' })
    await report([done('first')])
    expect((await server.ask('delete', `${BASE}/snapshots/none`, OWNER)).status).to.equal(404)
    expect((await server.ask('delete', `${BASE}/snapshots/first`, READER)).status).to.equal(403)
    expect((await server.ask('delete', `${BASE}/snapshots/first`, OWNER)).status).to.equal(202)
    expect((await list()).map((one: { status: string }) => one.status)).to.deep.equal(['Deleting'])
    await report([])
    expect(await list()).to.deep.equal([])
  })

  it('keeps snapshots if the database is replaced with PUT', async () => {
    await take({ name: 'first' })
    const { body } = await server.ask('get', BASE, OWNER)
    expect((await server.ask('put', BASE, OWNER).send({ ...body, replicas: 2 })).status).to.equal(200)
    expect((await list()).map((one: { name: string }) => one.name)).to.deep.equal(['first'])
  })
})
