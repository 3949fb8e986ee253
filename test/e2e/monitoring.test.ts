import { expect } from 'chai'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import { PlatformAlert } from '../../src/crds/monitoring.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import {
  call,
  expectCall,
  itemsOf,
  makeBoundary,
  makeCaller,
  makeGroup,
  uniqueName,
  until,
} from '../worlds/platform.ts'
import { administrator, clientWithToken } from '../worlds/tenant.ts'

type Alert = {
  id: string
  alertId: string
  title: string
  status: string
  occurrences: number
  boundaryId: string | null
}
type Result = { id: string; created: boolean }
type Problem = { code: string; engine?: string }

const ALERTS = '/admin/monitoring/alerts'

describe('monitoring', () => {
  let admin: KubeClient
  let boundaryId: string
  let space: string
  let groups: string[]

  before(async () => {
    admin = await administrator()
    boundaryId = (await makeBoundary()).id
    space = boundaryNamespace(boundaryId)
    groups = [(await makeGroup(boundaryId)).name, (await makeGroup(boundaryId)).name]
    const vector = `/boundaries/${boundaryId}/resourcegroups/${groups[0]}/resources/vectorclusters/products`
    await expectCall(201, 'POST', vector, { computePlan: 'vector-dev' })
    await expectCall(202, 'PUT', `${vector}/actions/stop`)
  })
  after(() => admin.close())

  const base = (group = groups[0]) =>
    `/boundaries/${boundaryId}/resourcegroups/${group}/resources/monitoring/vectorclusters/products`
  const ofBoundary = () => `/boundaries/${boundaryId}/resources/monitoring/alerts`
  const about = (alertId: string, more: object = {}, resourceGroup = groups[0]) => ({
    ...{ alertId, title: 'A disk is nearly full', level: 2, resourceType: 'vectorclusters', resourceName: 'products' },
    metadata: { boundaryId, resourceGroup },
    ...more,
  })
  const report = async (body: object) => (await expectCall<Result>(202, 'POST', ALERTS, body)).body

  it('shows an alert to readers of its resource until it is resolved', async () => {
    const alertId = uniqueName('disk')
    const reader = await makeCaller({ Reader: `/boundaries/${boundaryId}` })
    const first = await report(about(alertId))
    const again = await report(about(alertId, { title: 'Worse' }))
    expect([first.created, again.created, again.id]).to.deep.equal([true, false, first.id])
    for (const path of [`${base()}/alerts`, ofBoundary(), ALERTS]) {
      const found = (await itemsOf<Alert>(path, path === ALERTS ? {} : reader)).find((one) => one.alertId === alertId)
      expect(found, path).to.include({ id: first.id, title: 'Worse', occurrences: 2, boundaryId })
    }
    const stored = await until('the controllers have seen it', async () => {
      const found = await admin.get(PlatformAlert.resource, { namespace: space, name: first.id })
      return (found.status as { occurrences?: number } | undefined)?.occurrences === 2 ? found : undefined
    })
    expect(stored?.metadata.namespace).to.equal(space)
    await report(about(alertId, { status: 'Resolved' }))
    expect(await itemsOf<Alert>(`${base()}/alerts`, reader)).to.deep.equal([])
    const [over] = await itemsOf<Alert>(`${base()}/alerts?includeResolved=true`, reader)
    expect(over?.status).to.equal('Resolved')
  })

  it('accepts webhooks of Alertmanager', async () => {
    const fingerprint = uniqueName('f')
    const labels = { alertname: 'NodeDown', severity: 'critical', namespace: space }
    const alert = { status: 'firing', labels, annotations: { summary: 'It is down.' }, fingerprint }
    await expectCall(202, 'POST', `${ALERTS}/alertmanager`, { version: '4', alerts: [alert] })
    const found = (await itemsOf<Alert>(ofBoundary())).find(({ alertId }) => alertId === fingerprint)
    expect(found).to.include({ title: 'It is down.', level: 4, resourceGroup: null })
  })

  it('lets kubectl read and write alerts under the rules of REST', async () => {
    const alertId = uniqueName('kubectl')
    const { id } = await report(about(alertId, {}, groups[1]))
    const reader = await makeCaller({ Reader: `/boundaries/${boundaryId}` })
    const operator = await makeCaller({ 'Platform Owner': '/' })
    const [tenant, platform] = [await clientWithToken(reader.token), await clientWithToken(operator.token)]
    const ref = { namespace: space, name: id }
    const spec = { alertId, title: 'By hand', level: 1 }
    const object = (namespace: string) => ({
      apiVersion: PlatformAlert.apiVersion,
      kind: PlatformAlert.kind,
      metadata: { name: alertId, namespace },
      spec,
    })
    const refusal = (work: Promise<unknown>) =>
      work.then(
        () => undefined,
        (error) => (isKubeError(error) ? error.reason : String(error)),
      )
    try {
      await until(
        'kubectl may read it',
        async () => (await tenant.get(PlatformAlert.resource, ref)).metadata.name === id,
      )
      expect(await refusal(tenant.create(PlatformAlert.resource, object(space)))).to.equal('Forbidden')
      expect(await refusal(tenant.mergePatch(PlatformAlert.resource, ref, { spec: { title: 'x' } }))).to.equal(
        'Forbidden',
      )
      expect(await refusal(tenant.list(PlatformAlert.resource, { namespace: SYSTEM_NAMESPACE }))).to.equal('Forbidden')
      await until('the operator may write', async () => {
        await platform.create(PlatformAlert.resource, object(SYSTEM_NAMESPACE))
        return true
      })
      const moved = { spec: { alertId: 'another' } }
      const own = { namespace: SYSTEM_NAMESPACE, name: alertId }
      expect(await refusal(platform.mergePatch(PlatformAlert.resource, own, moved))).to.equal('Invalid')
      expect(await refusal(platform.create(PlatformAlert.resource, object('default')))).to.not.equal(undefined)
      // With a deny on one of the groups, REST omits its alerts; kubectl, which cannot, shows none.
      const scope = `/boundaries/${boundaryId}/resourcegroups/${groups[1]}`
      const deny = {
        principalId: reader.principalId,
        principalType: 'ServicePrincipal',
        actions: ['monitoring/read'],
        scope,
      }
      await expectCall(201, 'POST', `/boundaries/${boundaryId}/providers/authorization/denyAssignments`, deny)
      await until(
        'kubectl is denied',
        async () => (await refusal(tenant.get(PlatformAlert.resource, ref))) === 'Forbidden',
      )
      expect(await refusal(tenant.list(PlatformAlert.resource, { namespace: space }))).to.equal('Forbidden')
      const seen = await itemsOf<Alert>(ofBoundary(), reader)
      expect(seen.map((one) => one.alertId)).to.not.include(alertId)
      expect((await itemsOf<Alert>(ofBoundary())).map((one) => one.alertId)).to.include(alertId)
    } finally {
      await Promise.all([tenant.close(), platform.close()])
    }
  })

  it('returns 503 without Prometheus, and no points of a stopped resource', async () => {
    const from = new Date(Date.now() - 3_600_000).toISOString()
    const query = new URLSearchParams({
      from,
      to: new Date().toISOString(),
      metric: 'CpuUsage',
      aggregation: 'Average',
    })
    const { status, body } = await call<Problem>('GET', `/admin/monitoring/metrics?${query}`)
    expect([status, body.code, body.engine]).to.deep.equal([503, 'ENGINE_MISSING', 'Prometheus'])
    const { body: ofStopped } = await expectCall<{ series: { points: object[] }[] }>(200, 'GET', `${base()}?${query}`)
    expect(ofStopped.series.map(({ points }) => points)).to.deep.equal([[]])
    query.set('metric', 'Nothing')
    const refused = await call<{ supported: string[] }>('GET', `${base()}?${query}`)
    expect([refused.status, refused.body.supported.includes('Vectors')]).to.deep.equal([400, true])
  })

  it('shows nodes and volumes to platform administrators only', async () => {
    const nodes = await itemsOf<{ name: string; status: string }>('/admin/monitoring/nodes')
    expect(nodes.map(({ status }) => status)).to.include('Ready')
    for (const list of ['volumes', 'claims']) await expectCall(200, 'GET', `/admin/monitoring/storage/${list}`)
    type Cluster = { isLocal: boolean; cpuRequested: string | null }
    const [local] = (await itemsOf<Cluster>('/clusters')).filter(({ isLocal }) => isLocal)
    expect(local?.cpuRequested).to.match(/^\d+m?$/)
    const owner = await makeCaller({ Owner: `/boundaries/${boundaryId}` })
    for (const path of ['nodes', 'storage/volumes', 'storage/claims', 'alerts'])
      await expectCall(403, 'GET', `/admin/monitoring/${path}`, undefined, owner)
  })
})
