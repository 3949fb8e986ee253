import { expect } from 'chai'
import { encodeProductKey, sqlHost, sqlNames } from '../../src/contracts/sql.ts'
import { groupNamespace } from '../../src/core/names.ts'
import { DEFAULT_PLANS } from '../../src/crds/defaultPlans.ts'
import { ComputePlan } from '../../src/crds/plans.ts'
import { SqlInstance } from '../../src/crds/sql.ts'
import {
  configMap,
  networkPolicy,
  persistentVolumeClaim,
  pod,
  secret,
  service,
  statefulSet,
} from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { announceEdition } from '../make/engines.ts'
import { until } from '../make/until.ts'
import { kubectl as runKubectl } from '../worlds/kubectl.ts'
import { call, expectCall, makeBoundary, makeCaller, makeGroup, uniqueName } from '../worlds/platform.ts'
import { administrator } from '../worlds/tenant.ts'

describe('SQL instances with kubectl', () => {
  let client: KubeClient
  let namespace: string
  let base: string

  before(async () => {
    client = await administrator()
    const boundaryId = (await makeBoundary()).id
    const group = (await makeGroup(boundaryId)).name
    namespace = groupNamespace(boundaryId, group)
    base = `/boundaries/${boundaryId}/resourcegroups/${group}/resources/sqlclusters`
  })
  after(() => client.close())

  const kubectl = (...words: string[]) => runKubectl(['-n', namespace, ...words])
  const apply = (input: object) => runKubectl(['-n', namespace, 'apply', '-f', '-'], { input })
  const instance = (name: string, spec: object) => ({
    apiVersion: SqlInstance.apiVersion,
    kind: 'SqlInstance',
    metadata: { name, namespace },
    spec,
  })
  const patch = (name: string, spec: object) =>
    kubectl('patch', 'sqli', name, '--type=merge', '-p', JSON.stringify({ spec }))
  const stored = async (name: string) =>
    (await client.get(SqlInstance.resource, { namespace, name })) as unknown as SqlInstance
  /** Waits until the controller has finished with the newest generation and says this. */
  const says = (name: string, phase: string) =>
    until(`${name} is ${phase}`, async () => {
      const { metadata, status } = await stored(name)
      if (status?.observedGeneration === metadata.generation && status?.phase === phase) return status
      throw new Error(`${status?.status} ${status?.phase}: ${status?.statusMessage}`)
    })
  /** The engine's own version of an instance, although its pod is simulated. */
  const claims = (name: string, edition: string) => announceEdition(sqlHost(namespace, name), edition)
  const licensed = (name: string, licenseStatus: string, licenseVersion: number | undefined) =>
    until(`the license is ${licenseStatus}`, async () => {
      const { status } = await stored(name)
      if (status?.licenseStatus === licenseStatus && status.licenseVersion === licenseVersion) return status
      throw new Error(`${status?.licenseStatus} ${status?.licenseVersion}: ${status?.statusMessage}`)
    })

  it('becomes ready, and shows the main columns', async () => {
    await apply(instance('books', { engine: 'MariaDb', computePlan: 'sql-dev' }))
    await kubectl('wait', '--for=condition=Ready', 'sqli/books', '--timeout=2m')
    const [head = '', row = ''] = (await kubectl('get', 'sqli', 'books')).split('\n')
    expect(head.trim().split(/\s{2,}/)).to.deep.equal([
      'NAME',
      'READY',
      'STATUS',
      'ENGINE',
      'VERSION',
      'EDITION',
      'PLAN',
      'AGE',
    ])
    expect(row).to.match(/^books\s+True\s+Running\s+MariaDb\s+played\s+sql-dev\s/)
    expect(await kubectl('get', 'sqli', 'books', '-o', 'wide')).to.match(
      /NotRequired\s+Available\s+The engine is ready\./,
    )
  })

  it('is listed across the groups of its boundary for readers', async () => {
    const all = `${base.split('/resourcegroups/')[0]}/resources/sqlclusters`
    type List = { items: { name: string; resourceGroup: string }[] }
    const { body } = await expectCall<List>(200, 'GET', `${all}?filter=engine:eq:MariaDb`)
    expect(body.items.map(({ name }) => name)).to.deep.equal(['books'])
    const config = await expectCall<{ collection: string }>(200, 'GET', `${all}/config`)
    expect(config.body.collection).to.equal('sqlclusters')
    const stranger = await makeCaller({})
    expect((await call('GET', all, undefined, { token: stranger.token })).status).to.equal(403)
  })

  it('stops, starts and restarts through its spec', async () => {
    await patch('books', { running: false })
    expect(await says('books', 'Stopped')).to.include({ status: 'Stopped', readyReplicas: 0 })
    const restartedAt = '2026-11-21T10:00:00Z'
    await patch('books', { running: true, restartedAt })
    await until('it was restarted', async () => (await stored('books')).status?.restartedAt === restartedAt)
    await says('books', 'Available')
  })

  it('stops without its plan, and reports the missing plan when it is started', async () => {
    const name = uniqueName('plan')
    const spec = { ...DEFAULT_PLANS['sql-dev'], isDefault: false }
    await apply({ apiVersion: ComputePlan.apiVersion, kind: 'ComputePlan', metadata: { name }, spec })
    await apply(instance('orphan', { engine: 'MariaDb', computePlan: name }))
    await says('orphan', 'Available')
    await kubectl('delete', 'computeplan', name)
    await says('orphan', 'PlanNotFound')
    await patch('orphan', { running: false })
    const { statusMessage, readyReplicas } = await says('orphan', 'Stopped')
    expect(statusMessage).to.equal(
      `The engine does not run; the data is kept. It cannot be started now: There is no compute plan "${name}".`,
    )
    expect(readyReplicas).to.equal(0)
    const set = await client.get(statefulSet, { namespace, name: 'sqli-orphan' })
    expect(set.spec).to.have.property('replicas', 0)
    await patch('orphan', { running: true })
    expect(await says('orphan', 'PlanNotFound')).to.include({ status: 'Failed' })
    await kubectl('delete', 'sqli', 'orphan', '--timeout=2m')
  })

  it('applies another plan, with a larger volume and one replacement of the pod', async () => {
    await patch('books', { computePlan: 'sql-small' })
    await says('books', 'Available')
    const claim = await client.get(persistentVolumeClaim, { namespace, name: 'storage-sqli-books-0' })
    expect((claim.status as { capacity: object }).capacity).to.deep.equal({ storage: '50Gi' })
    const set = await client.get(statefulSet, { namespace, name: 'sqli-books' })
    expect(set.spec).to.have.nested.property('volumeClaimTemplates[0].spec.resources.requests.storage', '50Gi')
    expect(set.spec).to.have.nested.property('template.spec.containers[0].resources.limits.memory', '4Gi')
  })

  it('grows its volume without a restart, and accepts the same size in another unit', async () => {
    const before = (await client.get(pod, { namespace, name: 'sqli-books-0' })).metadata.uid
    await patch('books', { storageSize: '60Gi' })
    await says('books', 'Available')
    await patch('books', { storageSize: '61440Mi' })
    await says('books', 'Available')
    expect((await client.get(pod, { namespace, name: 'sqli-books-0' })).metadata.uid).to.equal(before)
  })

  it('is rejected by the API server with impossible changes', async () => {
    const refusal = (asked: Promise<unknown>) =>
      asked.then(
        () => 'accepted',
        (error: { stderr?: string }) => error.stderr ?? '',
      )
    expect(await refusal(patch('books', { storageSize: '1Gi' }))).to.match(/may grow but not shrink/)
    expect(await refusal(patch('books', { engine: 'MsSql' }))).to.match(/engine cannot be changed/)
    expect(await refusal(patch('books', { licenseVersion: 2 }))).to.match(/licenseVersion grows by one/)
    expect(await refusal(apply(instance('lawless', { engine: 'MsSql' })))).to.match(/acceptEula must be true/)
    expect(await refusal(apply(instance('odd', { engine: 'MariaDb', edition: 'Express' })))).to.match(/edition must be/)
  })

  it('applies product keys of its Secret, and returns to the previous one if the engine rejects one', async () => {
    await apply(instance('paid', { acceptEula: true, edition: 'Standard' }))
    expect(await says('paid', 'LicenseInvalid')).to.include({ licenseStatus: 'Missing' })
    const key = (version: number) =>
      encodeProductKey(version, { key: `AAAAA-BBBBB-CCCCC-DDDDD-EEEE${version}`, setAt: '', setBy: 'administrator' })
    const name = sqlNames('paid').license
    const license = (versions: number[]) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace },
      data: Object.assign({}, ...versions.map(key)) as object,
    })
    await claims('paid', 'Standard Edition (64-bit)')
    await apply(license([1]))
    await patch('paid', { licenseVersion: 1 })
    await licensed('paid', 'Active', 1)
    await says('paid', 'Available')

    await claims('paid', 'Developer Edition (64-bit)')
    await apply(license([1, 2]))
    await patch('paid', { licenseVersion: 2 })
    await licensed('paid', 'Rejected', 1)
    // With the former key it is as before. The simulated engine does not know its key, and is asked at each start.
    await claims('paid', 'Standard Edition (64-bit)')
    await patch('paid', { restartedAt: new Date().toISOString() })
    await says('paid', 'Available')
    const set = JSON.stringify((await client.get(statefulSet, { namespace, name: 'sqli-paid' })).spec)
    expect(set).to.contain('product-key.v1').and.not.contain('product-key.v2')
    const shown = await expectCall<{ licenseStatus: string; status: string }>(200, 'GET', `${base}/paid`)
    expect(shown.body).to.include({ licenseStatus: 'Rejected', status: 'Running' })

    await apply(license([1, 2, 3]))
    await patch('paid', { licenseVersion: 3 })
    await licensed('paid', 'Active', 3)
  })

  it('reports LicenseInvalid until the engine accepts a product key', async () => {
    await claims('refused', 'Developer Edition (64-bit)')
    await expectCall(201, 'POST', `${base}/refused`, { acceptEula: true, edition: 'Enterprise' })
    const productKey = 'QWERT-YUIOP-ASDFG-HJKLZ-XCVBN'
    await expectCall(200, 'POST', `${base}/refused/license`, { productKey })
    await licensed('refused', 'Rejected', undefined)
    expect((await says('refused', 'LicenseInvalid')).statusMessage).to.match(/product key/)
    await claims('refused', 'Enterprise Edition (64-bit)')
    await expectCall(200, 'POST', `${base}/refused/license`, { productKey })
    await licensed('refused', 'Active', 2)
    await says('refused', 'Available')
  })

  it('is deleted with its children, except a retained volume', async () => {
    await patch('books', { onDelete: 'Retain' })
    await kubectl('delete', 'sqli', 'books', '--timeout=2m')
    const names = async (resource: typeof secret) =>
      (await client.list(resource, { namespace })).items.map(({ metadata }) => metadata.name)
    for (const resource of [statefulSet, service, configMap, networkPolicy, pod]) {
      expect(
        (await names(resource)).filter((name) => name.includes('books')),
        resource.kind,
      ).to.deep.equal([])
    }
    const { license, history } = sqlNames('books')
    expect(await names(secret))
      .to.not.include(license)
      .and.to.not.include(history)
    expect(await names(persistentVolumeClaim)).to.include('storage-sqli-books-0')
  })
})
