// @inTurn plain: installs the kinds of Velero in the cluster.
import { expect } from 'chai'
import { backupScheduleName } from '../../src/contracts/backups.ts'
import { groupNamespace } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { ContainerInstance } from '../../src/crds/containerinstances.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { SqlInstance } from '../../src/crds/sql.ts'
import { configMap, namespace as namespaces, persistentVolumeClaim, storageClass } from '../../src/kube/builtin.ts'
import { installManifests } from '../../src/kube/crds.ts'
import { absent, isKubeError } from '../../src/kube/errors.ts'
import {
  veleroBackup,
  veleroBackupStorageLocation,
  veleroDeleteBackupRequest,
  veleroSchedule,
  volumeSnapshotClass,
} from '../../src/kube/velero.ts'
import { gatewayApiIsMissing } from '../cluster/gatewayApi.ts'
import { borrowPlatform, giveBack } from '../cluster/lent.ts'
import type { OwnPlatform } from '../cluster/platform.ts'
import { veleroDefinitions } from '../cluster/velero.ts'
import { until } from '../make/until.ts'
import { makeFleet } from '../worlds/fleet.ts'
import { callOwn } from '../worlds/ownFacade.ts'

type Schedule = KubeObject & {
  spec: { schedule: string; paused: boolean; template: Record<string, unknown> & { hooks: { resources: object[] } } }
}
type Policy = {
  status: string
  lastBackup: { phase: string; message: string | null } | null
  nextRunAt: string | null
  backups: { id: string; phase: string }[]
}

const policy = { schedule: '0 2 * * 7', retentionDays: 7 }

/** The CRDs are Velero's own; its server cannot run here and is simulated. */
describe('backups of volumes, with the CRDs of Velero', () => {
  let own: OwnPlatform
  let home: string
  let base: string

  before(async function () {
    const missing = gatewayApiIsMissing()
    if (missing !== undefined) {
      console.log(`    skipped: ${missing}`)
      this.skip()
    }
    own = await borrowPlatform('plain')
    await own.startOperator()
    const fleet = await makeFleet(own.admin, { groups: 1, databases: 0 })
    home = fleet.namespaces[0] ?? ''
    const { metadata } = await own.admin.get(namespaces, { name: home })
    const [boundaryId, group] = [
      metadata.labels?.['freehold.dev/boundary'] ?? '',
      metadata.labels?.['freehold.dev/resource-group'] ?? '',
    ]
    expect(groupNamespace(boundaryId, group)).to.equal(home)
    base = `/boundaries/${boundaryId}/resourcegroups/${group}/resources/containerinstances`
    for (const name of ['shop', 'bare']) {
      const web = { name: 'web', image: 'docker.io/library/nginx:1.29', mounts: [{ volume: 'site', path: '/srv' }] }
      const volumes = ['site', 'cache'].map((volume) => ({ name: volume, kind: 'Persistent', size: '1Gi' }))
      const body = name === 'shop' ? { components: [web], volumes } : { components: [{ ...web, mounts: [] }] }
      await expectCall(201, 'POST', `${base}/${name}`, body)
    }
    await expectCall(201, 'POST', ledger(), { engine: 'MariaDb', computePlan: 'sql-dev' })
  })
  after(() => giveBack(own))

  const call = (method: string, path: string, body?: object) => callOwn(own, method, path, body)
  async function expectCall(status: number, ...given: Parameters<typeof call>) {
    const answer = await call(...given)
    if (answer.status !== status) throw new Error(`${given[0]} ${given[1]}: ${JSON.stringify(answer)}`)
    return answer.body
  }
  const at = () => `${base}/shop/backup-policy`
  const ledger = () => base.replace('containerinstances', 'sqlclusters/ledger')
  const read = (): Promise<Policy> => expectCall(200, 'GET', at())
  const refused = async (status: number, code: string, body: object, name = 'shop') => {
    const found = await expectCall(status, 'PUT', `${base}/${name}/backup-policy`, body)
    expect(found.code, found.error).to.equal(code)
  }
  /** Until the facade has seen what was written without it. */
  const untilRefused = (code: string, body: object) =>
    until(`it is refused with ${code}`, async () => (await call('PUT', at(), body)).body?.code === code)
  const says = (phase: string, kind: AnyKind = ContainerInstance) =>
    until(`it is ${phase}`, async () => {
      const { metadata, status } = await own.admin.get(kind.resource, { namespace: home, name: nameOf(kind) })
      const reported = status as { phase?: string; observedGeneration?: number; statusMessage?: string }
      if (reported.phase === phase && reported.observedGeneration === metadata.generation) return reported.statusMessage
      throw new Error(`${reported.phase}: ${reported.statusMessage}`)
    })
  const nameOf = (kind: AnyKind) => (kind === SqlInstance ? 'ledger' : 'shop')
  const place = (kind: AnyKind = ContainerInstance) => ({
    namespace: 'velero',
    name: backupScheduleName({ kind: kind.kind, metadata: { namespace: home, name: nameOf(kind) } }),
  })
  const schedule = (kind?: AnyKind) => own.admin.get<Schedule>(veleroSchedule, place(kind))
  const isGone = async (resource: typeof veleroSchedule, kind?: AnyKind) => {
    try {
      await own.admin.get(resource, place(kind))
      return false
    } catch (error) {
      if (isKubeError(error, 'NotFound')) return true
      throw error
    }
  }
  /** As Velero creates one: with the labels of the template and the annotations of the Schedule. */
  async function take(name: string, status: object, kind?: AnyKind) {
    const { metadata, spec } = await schedule(kind)
    await own.admin.create(veleroBackup, {
      apiVersion: 'velero.io/v1',
      kind: 'Backup',
      metadata: {
        name,
        namespace: 'velero',
        labels: (spec.template.metadata as { labels: Record<string, string> }).labels,
        annotations: metadata.annotations ?? {},
      },
      spec: {},
      status,
    } as KubeObject)
  }

  it('reports a missing Velero or volume, by REST and by kubectl', async () => {
    await expectCall(404, 'GET', at())
    await refused(422, 'NOTHING_TO_BACK_UP', policy, 'bare')
    await refused(422, 'BACKUP_TARGET_MISSING', policy)
    const patch = { spec: { backupPolicy: { ...policy, method: 'FileSystem' } } }
    await own.admin.mergePatch(ContainerInstance.resource, { namespace: home, name: 'shop' }, patch)
    expect(await says('EngineMissing')).to.match(/need Velero/)
    const bare = { namespace: home, name: 'bare' }
    const error = await own.admin
      .mergePatch(ContainerInstance.resource, bare, { spec: { backupPolicy: policy } })
      .catch((thrown: unknown) => thrown)
    const causes = isKubeError(error) ? error.causes.map(({ message }) => message) : [String(error)]
    expect(causes.join()).to.match(/needs a Persistent volume to back up/)
  })

  it('creates a Schedule once the backup location is available', async () => {
    await own.admin.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'velero' } })
    await installManifests(own.admin, await veleroDefinitions())
    expect(await says('ConfigurationInvalid')).to.match(/has no backup target/)
    const objectStorage = { bucket: 'backups' }
    await own.admin.create(veleroBackupStorageLocation, {
      apiVersion: 'velero.io/v1',
      kind: 'BackupStorageLocation',
      metadata: { name: 'default', namespace: 'velero' },
      spec: { provider: 'aws', default: true, objectStorage },
    } as KubeObject)
    await untilRefused('BACKUP_TARGET_MISSING', { ...policy, method: 'FileSystem' })
    await own.admin.mergePatch(
      veleroBackupStorageLocation,
      { namespace: 'velero', name: 'default' },
      { status: { phase: 'Available' } },
    )
    await says('Available')
    const { spec } = await schedule()
    expect(spec.schedule).to.equal('0 2 * * 0')
    expect(spec.template).to.include({ ttl: '168h0m0s', storageLocation: 'default', defaultVolumesToFsBackup: true })
    expect(spec.template.includedNamespaces).to.deep.equal([home])
  })

  it('backs up no SQL instance whose volume cannot be snapshotted', async () => {
    expect(await expectCall(200, 'GET', ledger())).to.include({ backupEnabled: false })
    const refusedTo = async (code: string) => {
      const answer = await expectCall(422, 'PATCH', ledger(), { backupEnabled: true })
      expect(answer.code, answer.error).to.equal(code)
    }
    await refusedTo('SNAPSHOT_CLASS_MISSING')
    const ref = { namespace: home, name: 'ledger' }
    await own.admin.mergePatch(SqlInstance.resource, ref, { spec: { backupEnabled: true } })
    expect(await says('ConfigurationInvalid', SqlInstance)).to.match(
      /no VolumeSnapshotClass. An administrator can create/,
    )
    await expectCall(200, 'PATCH', ledger(), { backupEnabled: null })
    await says('Available', SqlInstance)
  })

  it('takes method Snapshot only if a VolumeSnapshotClass fits the volumes', async () => {
    await untilRefused('SNAPSHOT_CLASS_MISSING', { ...policy, method: 'Snapshot' })
    const { items } = await own.admin.list<KubeObject & { provisioner: string }>(storageClass)
    await own.admin.create(volumeSnapshotClass, {
      apiVersion: 'snapshot.storage.k8s.io/v1',
      kind: 'VolumeSnapshotClass',
      metadata: { name: 'snapshots' },
      driver: items[0]?.provisioner,
      deletionPolicy: 'Delete',
    } as KubeObject)
    const hooks = [{ component: 'web', when: 'Before', command: ['sync'], timeoutSeconds: 90 }]
    await until('it is taken', async () => {
      const answer = await call('PUT', at(), { ...policy, volumes: ['site'], hooks, keepLast: 1 })
      return answer.status === 200
    })
    const found = await until('the Schedule takes snapshots', async () => {
      const now = await schedule()
      return now.spec.template.snapshotMoveData === true && now
    })
    expect(found.spec.template.hooks.resources).to.have.length(1)
    expect(JSON.stringify(found.spec.template.hooks)).to.contain('"timeout":"1m30s"')
    const { data } = await own.admin.get<KubeObject & { data: Record<string, string> }>(configMap, place())
    const { volumePolicies } = JSON.parse(data['policy.yaml'] ?? '')
    expect(volumePolicies.map(({ action }: { action: { type: string } }) => action.type)).to.deep.equal([
      'snapshot',
      'skip',
    ])
    const claims = await own.admin.list(persistentVolumeClaim, {
      namespace: home,
      labelSelector: 'freehold.dev/volume=site',
    })
    expect(claims.items).to.have.length(1)
    expect(volumePolicies[0].conditions.pvcLabels).to.deep.include({ 'freehold.dev/volume': 'site' })
    await refused(400, 'BAD_REQUEST', { ...policy, volumes: ['attic'] })
    await refused(400, 'BAD_REQUEST', { ...policy, schedule: 'at noon' })
    await refused(400, 'MODEL_BINDING_FAILED', { retentionDays: 7 })
  })

  it('backs up SQL instances from then on, unless they do not want it', async () => {
    const books = place(SqlInstance)
    await until('its cluster shows why', async () => {
      const { items } = await expectCall(200, 'GET', '/clusters')
      return ['SnapshotClasses', 'Velero'].every((each) => items[0].capabilities.includes(each))
    })
    const found = await until('there is a Schedule', () => own.admin.get<Schedule>(veleroSchedule, books).catch(absent))
    expect(found.spec).to.deep.include({ schedule: '0 2 * * *', paused: false })
    expect(found.spec.template).to.deep.include({ ttl: '336h0m0s', snapshotMoveData: true, includedNamespaces: [home] })
    await until('it is shown', async () => (await expectCall(200, 'GET', ledger())).backupEnabled === true)
    const record = (await expectCall(200, 'GET', ledger())) as object
    await expectCall(200, 'PUT', ledger(), record)
    const stored = await own.admin.get(SqlInstance.resource, { namespace: home, name: 'ledger' })
    expect(stored.spec).not.to.have.property('backupEnabled')
    const { data } = await own.admin.get<KubeObject & { data: Record<string, string> }>(configMap, books)
    const [{ conditions }] = JSON.parse(data['policy.yaml'] ?? '').volumePolicies
    const selector = Object.entries(conditions.pvcLabels).map(([name, value]) => `${name}=${value}`)
    const claims = await own.admin.list(persistentVolumeClaim, { namespace: home, labelSelector: selector.join() })
    expect(claims.items.map(({ metadata }) => metadata.name)).to.deep.equal(['storage-sqli-ledger-0'])

    await take('of-ledger', { phase: 'Failed', startTimestamp: '2026-01-01T02:00:00Z' }, SqlInstance)
    expect(await says('BackupFailing', SqlInstance)).to.match(/ended as Failed/)
    await expectCall(200, 'PATCH', ledger(), { backupEnabled: false })
    await until('the Schedule is deleted', () => isGone(veleroSchedule, SqlInstance))
    await until('its volume policy is deleted', () => isGone(configMap, SqlInstance))
    await own.admin.get(configMap, { namespace: home, name: 'sqli-ledger-config' })
    await says('Available', SqlInstance)

    await expectCall(200, 'PATCH', ledger(), { backupEnabled: true })
    await until('there is a Schedule again', async () => !(await isGone(veleroSchedule, SqlInstance)))
    await call('DELETE', ledger())
    await until('the Schedule goes with the instance', () => isGone(veleroSchedule, SqlInstance))
    await until('its volume policy too', () => isGone(configMap, SqlInstance))
  })

  it('shows backups as Velero reports them, and deletes those beyond keepLast', async () => {
    const { lastBackup, nextRunAt } = await read()
    expect(lastBackup).to.equal(null)
    expect(new Date(nextRunAt ?? '').getUTCDay()).to.equal(0)
    await take('one', { phase: 'Completed', startTimestamp: '2026-01-01T02:00:00Z' })
    await take('two', { phase: 'Completed', startTimestamp: '2026-01-02T02:00:00Z' })
    await until('the older one is given to Velero to delete', async () => {
      const { items } = await own.admin.list(veleroDeleteBackupRequest, { namespace: 'velero' })
      return items.some(({ spec }) => (spec as { backupName?: string }).backupName === 'one')
    })
    await until('both are shown', async () => (await read()).backups.length === 2)
    expect(await read()).to.deep.include({ status: 'Active' })
    await take('three', { phase: 'PartiallyFailed', startTimestamp: '2026-01-03T02:00:00Z', errors: 2 })
    expect(await says('BackupFailing')).to.match(/ended as PartiallyFailed with 2 errors/)
    const failing = await until('it is shown', async () => {
      const found = await read()
      return found.status === 'Failing' && found
    })
    expect(failing.backups.map(({ phase }) => phase)).to.deep.equal(['PartiallyFailed', 'Completed', 'Completed'])
    expect(failing.lastBackup?.message).to.match(/2 errors/)
  })

  it('accepts PUT of its own record, and pauses the Schedule', async () => {
    await expectCall(200, 'PUT', at(), await read())
    const paused = await expectCall(200, 'PUT', at(), { ...policy, method: 'FileSystem', enabled: false })
    expect(paused).to.include({ status: 'Paused', nextRunAt: null })
    await until('the Schedule is paused', async () => (await schedule()).spec.paused)
  })

  it('deletes the Schedule together with the policy, and keeps the backups', async () => {
    await expectCall(204, 'DELETE', at())
    await expectCall(404, 'DELETE', at())
    await until('the Schedule is deleted', () => isGone(veleroSchedule))
    await until('its volume policy is deleted', () => isGone(configMap))
    const { items } = await expectCall(200, 'GET', `${at()}/backups?filter=phase:eq:Completed&sort=startedAt`)
    expect(items.map(({ startedAt }: { startedAt: string }) => startedAt.slice(0, 10))).to.deep.equal([
      ...['2026-01-01', '2026-01-02'],
    ])
    await expectCall(404, 'GET', `${base}/nothing/backup-policy/backups`)
  })

  it('shows no backups of a deleted instance with the same name', async () => {
    await expectCall(200, 'PUT', at(), { ...policy, method: 'FileSystem' })
    expect((await read()).backups).to.have.length(3)
    await until('the Schedule is there again', async () => !(await isGone(veleroSchedule)))
    const before = (await expectCall(200, 'GET', `${base}/shop`)) as object
    await call('DELETE', `${base}/shop`)
    await until('it is deleted', async () => (await call('GET', `${base}/shop`)).status === 404)
    await until('the Schedule is deleted', () => isGone(veleroSchedule))
    await until('it is created again', async () => (await call('POST', `${base}/shop`, before)).status === 201)
    await expectCall(200, 'PUT', at(), { ...policy, method: 'FileSystem' })
    expect((await read()).backups).to.deep.equal([])
    expect((await expectCall(200, 'GET', `${at()}/backups`)).items).to.deep.equal([])
  })
})
