import { expect } from 'chai'
import type { RelationalClusterDto } from '../../src/client/generated.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { RelationalCluster } from '../../src/crds/relational.ts'
import { service } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import { postgresqlCluster } from '../../src/kube/postgresql.ts'
import type { PagedListResponse } from '../make/page.ts'
import { objectOf } from '../worlds/fleet.ts'
import {
  call,
  expectCall,
  itemsOf,
  makeCaller,
  makeGroup,
  makeGroupPlace,
  type TestCaller,
  uniqueName,
  until,
} from '../worlds/platform.ts'
import { administrator } from '../worlds/tenant.ts'

type Snapshot = { id: string; name: string; status: string; kind: string; completedAt: string | null }
type Window = { isAvailable: boolean; earliest: string | null; latest: string | null; archiving: string }
type Connection = Record<'connectionString' | 'host' | 'username' | 'password' | 'database' | 'jdbcUrl', string> & {
  readOnlyConnectionString: string | null
  pooledConnectionString: string | null
}

describe('relational databases over REST', () => {
  let admin: KubeClient
  let boundaryId: string
  let group: string
  let home: string
  let base: string
  let reader: TestCaller
  before(async () => {
    admin = await administrator()
    const place = await makeGroupPlace()
    boundaryId = place.boundaryId
    group = place.group
    home = place.namespace
    base = place.resources('relationalclusters')
    reader = await makeCaller({ Reader: `/boundaries/${boundaryId}` })
  })
  after(async () => {
    await call('DELETE', `/boundaries/${boundaryId}/resourcegroups/${group}`)
    await admin.close()
  })

  const read = async (name: string) => (await expectCall<RelationalClusterDto>(200, 'GET', `${base}/${name}`)).body
  const reaches = (name: string, status: string) =>
    until(`${name} is ${status}`, async () => {
      const dto = await read(name)
      if (dto.status === status) return dto
      throw new Error(`${dto.status} ${dto.phase}: ${dto.statusMessage}`)
    })
  const running = async (body: object = {}) => {
    const name = uniqueName('db')
    await expectCall(201, 'POST', `${base}/${name}`, body)
    await reaches(name, 'Running')
    return name
  }
  const snapshotOf = async (name: string, body: object = {}) => {
    const { body: made } = await expectCall<Snapshot>(202, 'POST', `${base}/${name}/snapshots`, body)
    return until('the snapshot is completed', async () => {
      const found = (await itemsOf<Snapshot>(`${base}/${name}/snapshots`)).find(({ id }) => id === made.id)
      return found?.status === 'Completed' && found
    })
  }
  const untilDeleted = (name: string) =>
    until(`${name} is gone`, async () => (await call('GET', `${base}/${name}`)).status === 404)
  const refusal = async (...given: Parameters<typeof call>) => {
    const { status, body } = await call(...given)
    return `${status} ${body?.code}`
  }

  it('creates from an empty body, stops, starts, restarts, scales and deletes', async () => {
    const name = uniqueName('db')
    const made = await expectCall<RelationalClusterDto>(201, 'POST', `${base}/${name}`, {})
    expect(made.body).to.deep.include({
      name,
      boundaryId,
      resourceGroup: group,
      computePlan: 'relational-dev',
      replicas: 1,
      engineVersion: '17',
      databaseName: 'app',
      backupEnabled: true,
      restoredFrom: null,
    })
    const first = await reaches(name, 'Running')
    expect(first.readyReplicas).to.equal(1)
    expect(first.currentPrimary).to.equal(`relc-${name}-1`)
    expect(first.archiving).to.equal('Healthy')
    await expectCall(202, 'PUT', `${base}/${name}/actions/stop`)
    await reaches(name, 'Stopped')
    await expectCall(202, 'PUT', `${base}/${name}/actions/start`)
    await reaches(name, 'Running')
    await expectCall(202, 'PUT', `${base}/${name}/actions/restart`)
    await until('the engine is told to restart', async () => {
      const { metadata } = await admin.get(postgresqlCluster, { namespace: home, name: `relc-${name}` })
      return metadata.annotations?.['kubectl.kubernetes.io/restartedAt'] !== undefined
    })
    await expectCall(202, 'POST', `${base}/${name}/scale`, { targetScale: 3 })
    await until('three are ready', async () => (await read(name)).readyReplicas === 3)
    const scale = await expectCall<{ targetScale: number }>(200, 'GET', `${base}/${name}/scale`)
    expect(scale.body).to.include({ targetScale: 3, minScale: 1, maxScale: 9 })
    expect(await refusal('POST', `${base}/${name}/scale`, { targetScale: 10 })).to.equal('400 BAD_REQUEST')
    expect([202, 204]).to.include((await call('DELETE', `${base}/${name}`)).status)
    await untilDeleted(name)
    const left = (await admin.list(service, { namespace: home })).items.filter(({ metadata }) =>
      metadata.name.endsWith(name),
    )
    expect(left.map(({ metadata }) => metadata.name)).to.deep.equal([])
  })

  it('rejects fields that kubectl rejects, and stores nothing', async () => {
    const cases: [object, string][] = [
      [{ cpuRequest: '2', cpuLimit: '1500m' }, '400 BAD_REQUEST'],
      [{ allowedCidrs: '10.0.0.1/8' }, '400 BAD_REQUEST'],
      [{ databaseName: 'postgres' }, '400 BAD_REQUEST'],
      [{ ownerName: 'pg_x' }, '400 BAD_REQUEST'],
      [{ replicas: 2, synchronousReplicas: 2 }, '400 BAD_REQUEST'],
      [{ backupSchedule: 'daily' }, '400 BAD_REQUEST'],
      [{ extensions: ['plpython3u'] }, '400 BAD_REQUEST'],
      [{ replicas: 0 }, '400 BAD_REQUEST'],
      [{ parameters: { archive_command: 'sh' } }, '422 PARAMETER_REFUSED'],
      [{ parameters: { ssl_ca_file: '/x' } }, '422 PARAMETER_REFUSED'],
      [{ imageName: 'example.com/own:1' }, '422 IMAGE_NOT_ALLOWED'],
      [{ computePlan: 'nothing' }, '422 PLAN_NOT_FOUND'],
      [{ computePlan: 'vector-dev' }, '400 BAD_REQUEST'],
      [{ color: 'blue' }, '400 MODEL_BINDING_FAILED'],
    ]
    for (const [body, due] of cases) {
      expect(await refusal('POST', `${base}/never`, body), JSON.stringify(body)).to.equal(due)
    }
    const { body } = await call<{ parameter: string }>('POST', `${base}/never`, {
      parameters: { shared_preload_libraries: 'x' },
    })
    expect(body.parameter).to.equal('shared_preload_libraries')
    const stored = await admin.list(RelationalCluster.resource, { namespace: home })
    expect(stored.items.map(({ metadata }) => metadata.name)).to.not.include('never')
  })

  it('replaces and patches; storage and version only increase', async () => {
    const name = await running({ storageSize: '6Gi', engineVersion: '16', tags: { team: 'shop' } })
    const before = await expectCall<RelationalClusterDto>(200, 'GET', `${base}/${name}`)
    const same = await expectCall<RelationalClusterDto>(200, 'PUT', `${base}/${name}`, before.body)
    expect(same.headers.get('etag')?.split('-')[0]).to.equal(before.headers.get('etag')?.split('-')[0])
    await expectCall(200, 'PATCH', `${base}/${name}`, {
      storageSize: '8Gi',
      engineVersion: '17',
      parameters: { work_mem: '8MB' },
      extensions: ['citext'],
    })
    await until('the engine has it', async () => {
      const found = await admin.get<KubeObject & { spec: Record<string, unknown> }>(postgresqlCluster, {
        namespace: home,
        name: `relc-${name}`,
      })
      return (found.spec.storage as { size: string }).size === '8Gi' && String(found.spec.imageName).endsWith(':17')
    })
    await reaches(name, 'Running')
    expect(await refusal('PATCH', `${base}/${name}`, { storageSize: '7Gi' })).to.equal('422 STORAGE_CANNOT_SHRINK')
    expect(await refusal('PATCH', `${base}/${name}`, { engineVersion: '16' })).to.equal('422 DOWNGRADE_REFUSED')
    expect(await refusal('PATCH', `${base}/${name}`, { databaseName: 'other' })).to.equal('400 BAD_REQUEST')
    const etag = before.headers.get('etag') ?? ''
    const stale = await call('PATCH', `${base}/${name}`, { tags: {} }, { headers: { 'if-match': etag } })
    expect([stale.status, stale.body.code]).to.deep.equal([409, 'CONFLICT'])
  })

  it('returns connection strings, the external address and health to permitted callers', async () => {
    const name = await running({ computePlan: 'relational-small', enablePooler: true, poolerMode: 'Transaction' })
    const inside = await expectCall<Connection>(200, 'GET', `${base}/${name}/connectionstring`)
    expect(inside.headers.get('cache-control')).to.equal('no-store')
    const { host, username, database, password } = inside.body
    expect([host, username, database]).to.deep.equal([`relcrw-${name}.${home}.svc`, 'app', 'app'])
    expect(inside.body.connectionString).to.equal(`postgresql://app:${password}@${host}:5432/app?sslmode=require`)
    expect(inside.body.readOnlyConnectionString).to.contain(`@relcro-${name}.${home}.svc:`)
    expect(inside.body.pooledConnectionString).to.contain(`@relcpool-${name}.${home}.svc:`)
    const external = `${base}/${name}/connectionstring/external`
    expect(await refusal('GET', external)).to.equal('409 LOAD_BALANCER_DISABLED')
    const disabled = await expectCall<{ status: string }>(200, 'GET', `${base}/${name}/external-ip`)
    expect(disabled.body).to.include({ enabled: false, status: 'Disabled' })
    await expectCall(200, 'PATCH', `${base}/${name}`, { enableLoadBalancer: true, allowedCidrs: '198.51.100.0/24' })
    const outside = await until('there is an address', async () => {
      const answer = await call<Connection>('GET', external)
      return answer.status === 200 && answer.body
    })
    expect(outside.host).to.match(/^203\.0\.113\./)
    const address = await expectCall<{ ipAddresses: string[] }>(200, 'GET', `${base}/${name}/external-ip`)
    expect(address.body).to.deep.include({ enabled: true, status: 'Ready', ipAddresses: [outside.host] })
    await until('the cluster is known to have load balancers', async () => {
      const clusters = await itemsOf<{ isLocal: boolean; capabilities: string[] }>('/clusters?filter=isLocal:eq:true')
      return clusters[0]?.capabilities.includes('LoadBalancer')
    })
    const health = await expectCall<{ status: string; checks: { name: string }[] }>(
      200,
      'GET',
      `${base}/${name}/health`,
    )
    expect(health.body.status).to.equal('Healthy')
    expect(health.body.checks.map((check) => check.name)).to.deep.equal([
      'Primary',
      'Replicas',
      'Archiving',
      'Backup',
      'Disk',
    ])
    expect(await refusal('GET', `${base}/${name}/connectionstring`, undefined, reader)).to.equal('403 FORBIDDEN')
  })

  it('takes snapshots, and restores to the end of one or to a later time', async () => {
    const name = await running()
    expect(await refusal('GET', `${base}/nothing/snapshots`)).to.equal('404 NOT_FOUND')
    const empty = await expectCall<Window>(200, 'GET', `${base}/${name}/snapshots/pitr-window`)
    expect(empty.body).to.include({ isAvailable: false, earliest: null, archiving: 'Healthy' })
    const snapshot = await snapshotOf(name, { name: 'before', description: 'Before the change', retentionDays: 7 })
    expect(snapshot).to.include({ name: 'before', kind: 'Manual', clusterName: name })
    const list = await expectCall<PagedListResponse<Snapshot>>(
      200,
      'GET',
      `${base}/${name}/snapshots?filter=kind:eq:Manual&filter=status:eq:Completed&sort=name`,
    )
    expect(list.body.pagination.totalItems).to.equal(1)
    expect(await refusal('POST', `${base}/${name}/snapshots`, { name: 'before' })).to.equal('409 ALREADY_EXISTS')
    expect(await refusal('POST', `${base}/${name}/snapshots`, { method: 'Volume' })).to.equal(
      '422 SNAPSHOT_CLASS_MISSING',
    )
    expect(await refusal('POST', `${base}/${name}/snapshots`, { retentionDays: 0 })).to.equal('400 BAD_REQUEST')
    const window = await until('there is a window', async () => {
      const { body } = await expectCall<Window>(200, 'GET', `${base}/${name}/snapshots/pitr-window`)
      return body.isAvailable && body
    })
    expect(Date.parse(window.latest ?? '')).to.be.at.least(Date.parse(window.earliest ?? ''))

    const restore = `${base}/${name}/snapshots/${snapshot.id}/restore`
    const early = await call<{ code: string; earliest: string }>('POST', restore, {
      newName: uniqueName('copy'),
      targetTime: '2020-01-01T00:00:00Z',
    })
    expect([early.status, early.body.code, early.body.earliest]).to.deep.equal([
      422,
      'OUTSIDE_RECOVERY_WINDOW',
      snapshot.completedAt,
    ])
    expect(await refusal('POST', restore, { newName: name })).to.equal('409 ALREADY_EXISTS')
    expect(await refusal('POST', restore, { newName: 'Not a name' })).to.equal('400 BAD_REQUEST')
    expect(await refusal('POST', restore, { newName: uniqueName('copy'), storageSize: '1Gi' })).to.equal(
      '422 STORAGE_CANNOT_SHRINK',
    )
    expect(await refusal('POST', restore, { newName: uniqueName('copy'), computePlan: 'nothing' })).to.equal(
      '422 PLAN_NOT_FOUND',
    )
    const whole = uniqueName('copy')
    type Result = { cluster: RelationalClusterDto; snapshotId: string; targetTime: string | null }
    const { body: result } = await expectCall<Result>(202, 'POST', restore, { newName: whole })
    expect([result.cluster.name, result.snapshotId, result.targetTime]).to.deep.equal([whole, snapshot.id, null])
    expect((await reaches(whole, 'Running')).restoredFrom).to.deep.equal({
      clusterName: name,
      snapshotId: snapshot.id,
      targetTime: null,
    })
    const later = uniqueName('copy')
    await expectCall(202, 'POST', restore, { newName: later, targetTime: window.latest })
    await reaches(later, 'Running')
    const engine = await admin.get<KubeObject & { spec: { bootstrap: { recovery: { recoveryTarget: object } } } }>(
      postgresqlCluster,
      { namespace: home, name: `relc-${later}` },
    )
    expect(engine.spec.bootstrap.recovery.recoveryTarget).to.include({ targetTime: window.latest })

    const last = `${base}/${name}/snapshots/${snapshot.id}`
    expect(await refusal('DELETE', last)).to.equal('409 LAST_RECOVERY_BASE')
    expect((await call('DELETE', last, undefined, reader)).status).to.equal(403)
    await expectCall(204, 'DELETE', `${last}?force=true`)
    await until('the snapshot is deleted', async () => (await call('DELETE', last)).status === 404)
    await expectCall(202, 'PUT', `${base}/${name}/actions/stop`)
    expect(await refusal('POST', `${base}/${name}/snapshots`, {})).to.equal('409 INVALID_STATE')
    const off = await running({ backupEnabled: false })
    expect(await refusal('POST', `${base}/${off}/snapshots`, {})).to.equal('422 BACKUP_TARGET_MISSING')
  })

  it('transfers name and password to a restored database, which serves the old connection string', async () => {
    const name = await running()
    const before = (await expectCall<Connection>(200, 'GET', `${base}/${name}/connectionstring`)).body
    const { id } = await snapshotOf(name)
    const heir = uniqueName('heir')
    await expectCall(202, 'POST', `${base}/${name}/snapshots/${id}/restore`, { newName: heir, takeOverName: true })
    await reaches(heir, 'Running')
    await reaches(name, 'Stopped')
    const after = (await expectCall<Connection>(200, 'GET', `${base}/${name}/connectionstring`)).body
    expect(after.connectionString).to.equal(before.connectionString)
    await until('the Service selects the restored database', async () => {
      const { spec } = await admin.get<KubeObject & { spec: { selector: Record<string, string> } }>(service, {
        namespace: home,
        name: `relcrw-${name}`,
      })
      return spec.selector['cnpg.io/cluster'] === `relc-${heir}`
    })
    const other = (await makeGroup(boundaryId)).name
    expect(
      await refusal('POST', `${base}/${name}/snapshots/${id}/restore`, {
        newName: uniqueName('heir'),
        resourceGroup: other,
        takeOverName: true,
      }),
    ).to.equal('400 BAD_REQUEST')
    const moved = uniqueName('moved')
    await expectCall(202, 'POST', `${base}/${name}/snapshots/${id}/restore`, { newName: moved, resourceGroup: other })
    const there = `/boundaries/${boundaryId}/resourcegroups/${other}/resources/relationalclusters/${moved}`
    await until(
      'the copy in the other group runs',
      async () => (await call<{ status: string }>('GET', there)).body.status === 'Running',
    )
  })

  it('takes one snapshot at a time, and returns 409 IN_USE for one that is being restored', async () => {
    const name = uniqueName('db')
    const waiting = { connectTo: 'nobody' }
    await admin.create(RelationalCluster.resource, objectOf(RelationalCluster, name, home, waiting))
    await until('REST shows it', async () => (await call('GET', `${base}/${name}`)).status === 200)
    const { body: first } = await expectCall<Snapshot>(202, 'POST', `${base}/${name}/snapshots`, {})
    expect(await refusal('POST', `${base}/${name}/snapshots`, {})).to.equal('409 SNAPSHOT_RUNNING')
    expect(
      await refusal('POST', `${base}/${name}/snapshots/${first.id}/restore`, { newName: uniqueName('copy') }),
    ).to.equal('409 INVALID_STATE')
    const source = await running()
    const { id } = await snapshotOf(source)
    const user = { ...waiting, restoreFrom: { clusterName: source, snapshotId: id } }
    const copy = uniqueName('copy')
    await admin.create(RelationalCluster.resource, objectOf(RelationalCluster, copy, home, user))
    await until('REST shows the copy', async () => (await call('GET', `${base}/${copy}`)).status === 200)
    expect(await refusal('DELETE', `${base}/${source}/snapshots/${id}?force=true`)).to.equal('409 IN_USE')
    expect(await refusal('GET', `${base}/${copy}/connectionstring`)).to.equal('409 INVALID_STATE')
    const other = (await makeGroup(boundaryId)).name
    const here = await makeCaller({ Contributor: `/boundaries/${boundaryId}/resourcegroups/${group}` })
    const elsewhere = { newName: uniqueName('moved'), resourceGroup: other }
    expect(await refusal('POST', `${base}/${source}/snapshots/${id}/restore`, elsewhere, here)).to.equal(
      '403 FORBIDDEN',
    )
  })

  it('refuses deletion under deletionProtection, and keeps a final snapshot', async () => {
    const name = await running({ deletionProtection: true, finalSnapshotOnDelete: true })
    expect(await refusal('DELETE', `${base}/${name}`)).to.equal('409 DELETION_PROTECTED')
    const byHand = await admin.remove(RelationalCluster.resource, { namespace: home, name }).catch((error) => error)
    expect(isKubeError(byHand, 'Forbidden'), String(byHand)).to.equal(true)
    await snapshotOf(name, { name: 'plain' })
    await expectCall(200, 'PATCH', `${base}/${name}`, { deletionProtection: false })
    await call('DELETE', `${base}/${name}`)
    await untilDeleted(name)
    const left = await itemsOf<Snapshot>(`${base}/${name}/snapshots`)
    expect(left.map(({ kind, status }) => [kind, status])).to.deep.equal([['Final', 'Completed']])
    const back = uniqueName('back')
    await expectCall(202, 'POST', `${base}/${name}/snapshots/${left[0]?.id}/restore`, { newName: back })
    await reaches(back, 'Running')
    const kept = await running()
    await snapshotOf(kept, { name: 'kept' })
    await call('DELETE', `${base}/${kept}?keepData=true`)
    await untilDeleted(kept)
    const kinds = (await itemsOf<Snapshot>(`${base}/${kept}/snapshots`)).map((snapshot) => snapshot.kind)
    expect(kinds.sort()).to.deep.equal(['Final', 'Manual'])
  })

  it('lists across groups, and offers plans with a verdict', async () => {
    const name = await running({ tags: { wanted: 'yes' } })
    const all = `/boundaries/${boundaryId}/resources/relationalclusters`
    const found = await itemsOf<RelationalClusterDto>(`${all}?filter=tags.wanted:eq:yes&filter=archiving:eq:Healthy`)
    expect(found.map((one) => one.name)).to.deep.equal([name])
    const own = await itemsOf<RelationalClusterDto>(`${base}?filter=backupEnabled:eq:true&sort=-storageSize`)
    expect(own.map((one) => one.name)).to.include(name)
    for (const path of [`${base}/config`, `${all}/config`]) {
      const { body } = await expectCall<{ collection: string; plans: { id: string }[] }>(200, 'GET', path)
      expect(body.collection).to.equal('relationalclusters')
      expect(body.plans.map(({ id }) => id)).to.include('relational-dev')
    }
    const plans = `/boundaries/${boundaryId}/resources/relationalcomputeplans`
    const offered = await itemsOf<{ id: string; maxConnections: number; isProductionReady: boolean }>(plans)
    expect(offered.find(({ id }) => id === 'relational-small')).to.include({
      maxConnections: 200,
      // Volumes of this cluster are folders of one machine.
      isProductionReady: false,
    })
    const one = await expectCall<{ id: string; verdict: string }>(200, 'GET', `${plans}/relational-dev`)
    expect(one.body).to.include({ id: 'relational-dev', verdict: 'Fits' })
    expect((await call('GET', `${plans}/vector-dev`)).status).to.equal(404)
    const history = await expectCall<PagedListResponse<object>>(200, 'GET', `${base}/${name}/editor/history?limit=5`)
    expect([history.body.items, history.body.pagination.pageSize]).to.deep.equal([[], 5])
    expect(await refusal('GET', `${base}/${name}/editor/history?limit=0`)).to.equal('400 BAD_REQUEST')
  })
})
