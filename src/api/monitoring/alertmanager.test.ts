import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { makeFacade } from '../../../test/worlds/facade.ts'
import { BOUNDARY, OWNER, startShop } from '../../../test/worlds/shop.ts'
import { groupNamespace } from '../../core/names.ts'
import { PlatformAlert } from '../../crds/monitoring.ts'
import { VectorCluster } from '../../crds/vector.ts'
import type { Context } from '../http/context.ts'
import { alertmanagerRoute } from './alertmanager.ts'

const NAMESPACE = groupNamespace(BOUNDARY, 'shop')
const PATH = '/admin/monitoring/alerts/alertmanager'

describe('POST /admin/monitoring/alerts/alertmanager', () => {
  const operator = randomUUID()
  let shop: Awaited<ReturnType<typeof startShop>>
  before(async () => {
    shop = await startShop()
    shop.grant(operator, 'Platform Owner', '/')
    for (const name of ['main', 'main-two']) shop.put(VectorCluster, name, { storageSize: '5Gi' }, NAMESPACE)
  })
  after(() => shop.stop())

  const delivered = (labels: object, more: object = {}) => ({
    ...{
      receiver: 'freehold',
      status: 'firing',
      version: '4',
      groupKey: '{}',
      truncatedAlerts: 0,
      externalURL: 'http://am',
    },
    alerts: [
      {
        status: 'firing',
        labels: { alertname: 'PodCrashLooping', severity: 'error', ...labels },
        annotations: { summary: 'It crashes.', description: 'Look\nat it.', runbook_url: 'https://run.test/x' },
        startsAt: '2026-01-01T00:00:00Z',
        endsAt: '0001-01-01T00:00:00Z',
        generatorURL: 'http://prometheus/graph',
        fingerprint: randomUUID().slice(0, 16),
        ...more,
      },
    ],
  })
  const deliver = async (labels: object, more: object = {}) => {
    const body = delivered(labels, more)
    const answer = await shop.ask('post', PATH, operator).send(body)
    expect(answer.status, JSON.stringify(answer.body)).to.equal(202)
    const { items } = (await shop.ask('get', '/admin/monitoring/alerts?includeResolved=true&pageSize=500', operator))
      .body
    return items.find(({ alertId }: { alertId: string }) => alertId === body.alerts[0]?.fingerprint)
  }

  it('takes a severity that it does not know for a warning', async () => {
    for (const severity of ['critical', 'page', 'constructor', 'toString'])
      expect((await deliver({ severity })).level, severity).to.equal(severity === 'critical' ? 4 : 2)
  })

  it('stops writing when the client disconnects', async () => {
    const disconnected = new AbortController()
    const alerts = Array.from({ length: 3 }, (_, at) => ({
      ...{ status: 'firing', labels: { alertname: 'Left' }, annotations: {}, fingerprint: `left-${at}` },
    }))
    const { services, records } = makeFacade()
    const create = records.create.bind(records)
    records.create = async (...given) => {
      disconnected.abort()
      return create(...given)
    }
    const caller = { principalId: operator }
    await alertmanagerRoute.handler({
      services,
      caller,
      body: { alerts },
      signal: disconnected.signal,
    } as unknown as Context)
    expect(records.peekAll(PlatformAlert)).to.have.length(1)
  })

  it('creates an alert of the resource of the pod or claim', async () => {
    expect(await deliver({ namespace: NAMESPACE, pod: 'vc-main-two-0' })).to.deep.include({
      ...{ title: 'It crashes.', subject: 'PodCrashLooping', detail: 'Look\nat it.', level: 3, status: 'Firing' },
      ...{ boundaryId: BOUNDARY, resourceGroup: 'shop', resourceType: 'vectorclusters', resourceName: 'main-two' },
      runbookUrl: 'https://run.test/x',
    })
    const ofClaim = await deliver({ namespace: NAMESPACE, persistentvolumeclaim: 'storage-vc-main-0' })
    expect(ofClaim).to.include({ resourceName: 'main' })
  })

  it('assigns an alert by its namespace, not by its other labels', async () => {
    const labels = { boundaryId: BOUNDARY, resourceGroup: 'shop', namespace: 'kube-system' }
    expect(await deliver(labels)).to.include({ boundaryId: null, resourceGroup: null, resourceType: '' })
  })

  it('resolves an alert', async () => {
    const shown = await deliver({ namespace: NAMESPACE }, { fingerprint: 'aaaa' })
    expect(shown).to.include({ status: 'Firing', boundaryId: BOUNDARY })
    expect(await deliver({ namespace: NAMESPACE }, { fingerprint: 'aaaa', status: 'resolved' })).to.include({
      id: shown.id,
      status: 'Resolved',
      occurrences: 1,
    })
  })

  it('accepts overlong texts with control characters', async () => {
    const long = 'x\u0000\u202e'.repeat(4_000)
    expect(
      await deliver({ alertname: long, odd: long }, { annotations: { summary: long, description: long } }),
    ).to.include({
      level: 3,
    })
  })

  it('returns 400 for another body and 403 without the permission', async () => {
    const other = await shop.ask('post', PATH, operator).send({ alertId: 'a', title: 'b', level: 1 })
    expect(other.status).to.equal(400)
    expect((await shop.ask('post', PATH, OWNER).send(delivered({}))).status).to.equal(403)
  })
})
