import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import type { ManualClock } from '../../../test/make/clock.ts'
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

  describe('with several alerts', () => {
    const alert = (fingerprint: string, status = 'firing') => ({
      ...{ status, labels: { alertname: 'Many' }, annotations: {}, fingerprint },
    })
    const many = (count: number) => Array.from({ length: count }, (_, at) => alert(`many-${at}`))
    let facade: ReturnType<typeof makeFacade>
    let writes: { count: number; open: number; mostOpen: number }
    let disconnected: AbortController
    const told = () => facade.records.peekAll(PlatformAlert).map(({ spec }) => spec.told?.times)

    beforeEach(() => {
      facade = makeFacade()
      writes = { count: 0, open: 0, mostOpen: 0 }
      disconnected = new AbortController()
      const { records } = facade
      const counted = async <Result>(write: () => Promise<Result>) => {
        writes.count += 1
        writes.open += 1
        writes.mostOpen = Math.max(writes.mostOpen, writes.open)
        await new Promise(setImmediate)
        writes.open -= 1
        return write()
      }
      const [create, update] = [records.create.bind(records), records.update.bind(records)]
      records.create = (...given) => counted(() => create(...given))
      records.update = (...given) => counted(() => update(...given))
    })
    const receive = async (alerts: object[]) => {
      const caller = { principalId: operator }
      const given = { services: facade.services, caller, body: { alerts }, signal: disconnected.signal }
      return (await alertmanagerRoute.handler(given as unknown as Context)).body as { results: { alertId: string }[] }
    }

    it('stops writing when the client disconnects', async () => {
      const { records } = facade
      const create = records.create.bind(records)
      records.create = async (...given) => {
        disconnected.abort()
        return create(...given)
      }
      await receive(many(3))
      expect(records.peekAll(PlatformAlert)).to.have.length(1)
    })

    it('writes 8 at once and answers in their order', async () => {
      const alerts = many(40)
      const { results } = await receive(alerts)
      expect(results.map(({ alertId }) => alertId)).to.deep.equal(alerts.map(({ fingerprint }) => fingerprint))
      expect(writes).to.deep.include({ count: 40, mostOpen: 8 })
    })

    it('stores the last state of an alert that is delivered twice', async () => {
      await receive([alert('twice'), ...many(5), alert('twice', 'resolved')])
      const states = facade.records.peekAll(PlatformAlert).filter(({ spec }) => spec.alertId === 'twice')
      expect(states.map(({ spec }) => spec.status)).to.deep.equal(['Resolved'])
    })

    it('writes nothing of alerts that are sent again, but counts them when they are repeated a minute later', async () => {
      await receive(many(3))
      await receive(many(4))
      expect([writes.count, told()]).to.deep.equal([4, [1, 1, 1, 1]])
      await receive([alert('many-0', 'resolved')])
      expect(writes.count).to.equal(5)
      await (facade.services.clock as ManualClock).advance(60_000)
      await receive(many(2))
      expect([writes.count, told()]).to.deep.equal([7, [2, 2, 1, 1]])
    })

    it('stores the other alerts if one cannot be stored', async () => {
      const { records } = facade
      const create = records.create.bind(records)
      records.create = async (...given) => {
        if ((given[1].spec as { alertId: string }).alertId === 'many-0') throw new Error('It will not.')
        return create(...given)
      }
      const failure = await receive(many(20)).catch(({ message }) => message)
      expect([failure, records.peekAll(PlatformAlert).length]).to.deep.equal(['It will not.', 19])
    })
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
