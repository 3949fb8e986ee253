// @inTurn proxied: installs the kinds of Velero in the cluster.
import { join } from 'node:path'
import { CreateBucketCommand } from '@aws-sdk/client-s3'
import { expect } from 'chai'
import { createBackupTargets } from '../../src/adapters/backuptarget/client.ts'
import { DRIVERS, openStore } from '../../src/adapters/objectstorage/client.ts'
import type { ObjectStore } from '../../src/adapters/objectstorage/port.ts'
import type { AccessKeyPair } from '../../src/contracts/objectstorage.ts'
import {
  PLATFORM_SCHEDULE,
  SETTINGS_NAME,
  TARGET_SECRETS,
  VELERO_SECRET,
} from '../../src/contracts/platformbackups/names.ts'
import { relationalNames } from '../../src/contracts/relational.ts'
import { messageOf } from '../../src/core/errors.ts'
import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { secretData } from '../../src/core/secretData.ts'
import { PlatformBackupSettings } from '../../src/crds/platformBackups.ts'
import { RelationalCluster } from '../../src/crds/relational.ts'
import { namespace as namespaces, secret } from '../../src/kube/builtin.ts'
import { createKubeClient } from '../../src/kube/client.ts'
import { installManifests } from '../../src/kube/crds.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import { postgresqlCluster } from '../../src/kube/postgresql.ts'
import {
  veleroBackup,
  veleroBackupStorageLocation,
  veleroDeleteBackupRequest,
  veleroSchedule,
} from '../../src/kube/velero.ts'
import { loadKubeconfig } from '../../src/kubeconfig/kubeconfig.ts'
import { gatewayApiIsMissing } from '../cluster/gatewayApi.ts'
import { borrowPlatform, giveBack } from '../cluster/lent.ts'
import type { OwnPlatform } from '../cluster/platform.ts'
import { veleroDefinitions } from '../cluster/velero.ts'
import { s3Client } from '../make/s3Client.ts'
import { until } from '../make/until.ts'
import { backupTargetContract } from '../suites/backupTargetContract.ts'
import { nobodysUser } from '../suites/objectStoreContract.ts'
import { isReady, makeFleet, objectOf } from '../worlds/fleet.ts'
import { callOwn } from '../worlds/ownFacade.ts'

type Location = KubeObject & { spec: Record<string, unknown> & { objectStorage: object }; status?: object }
type Schedule = KubeObject & {
  spec: { schedule: string; paused?: boolean; template: { ttl: string; storageLocation: string } }
}
type Settings = KubeObject & { status?: { phase?: string; statusMessage?: string; observedGeneration?: number } }

const PLACE = { namespace: SYSTEM_NAMESPACE, name: SETTINGS_NAME }
const SCHEDULE = { namespace: 'velero', name: PLATFORM_SCHEDULE }

/** The CRDs are Velero's own and the store is real; Velero's server is simulated. */
describe('backups of the platform', () => {
  let own: OwnPlatform
  let store: ObjectStore
  let endpoint: string
  let root: AccessKeyPair
  let target: { bucket: string; endpoint: string } & AccessKeyPair

  before(async function () {
    const missing = gatewayApiIsMissing()
    if (missing !== undefined) {
      console.log(`    skipped: ${missing}`)
      this.skip()
    }
    own = await borrowPlatform('proxied')
    if (!own.hasStore) {
      console.log('    skipped: no object store runs here, because no Go was found that builds it')
      this.skip()
    }
    await own.startOperator()
    const { environment } = own.command
    const of = (name: string) => environment[`PLATFORM_OBJECT_STORE_${name}`] ?? ''
    endpoint = of('ENDPOINT')
    root = { accessKeyId: of('ACCESS_KEY_ID'), secretAccessKey: of('SECRET_ACCESS_KEY') }
    store = openStore({
      ...{ driver: DRIVERS.versitygw, version: '', endpoint, iamEndpoint: of('USERS_ENDPOINT'), credentials: root },
      ...{ accessLog: undefined, publicEndpoint: undefined, regionName: 'us-east-1' },
    })
    const s3 = s3Client(endpoint, root)
    for (const Bucket of ['platform', 'other']) await s3.send(new CreateBucketCommand({ Bucket }))
    s3.destroy()
    const key = await store.ensureKey({
      ...{ user: nobodysUser(), isActive: true, known: undefined, among: ['platform'] },
      grants: [{ bucket: 'platform', permission: 'ReadWrite' }],
      keep: async () => {},
    })
    target = { bucket: 'platform', endpoint, ...key }
  })
  after(async () => {
    await store?.close()
    await giveBack(own)
  })

  const call = (method: string, path: string, body?: object) => callOwn(own, method, `/lifecycle/backups${path}`, body)
  const refused = async (...given: Parameters<typeof call>) => {
    const { status, body } = await call(...given)
    return [status, body.code]
  }
  const says = (phase: string) =>
    until(`it is ${phase}`, async () => {
      const { metadata, status } = await own.admin.get<Settings>(PlatformBackupSettings.resource, PLACE)
      if (status?.phase === phase && status.observedGeneration === metadata.generation)
        return status.statusMessage ?? ' '
      throw new Error(`${status?.phase}: ${status?.statusMessage}`)
    })
  const change = (spec: object) => own.admin.mergePatch(PlatformBackupSettings.resource, PLACE, { spec })
  const schedule = () => own.admin.get<Schedule>(veleroSchedule, SCHEDULE)
  const location = (name = 'default') =>
    own.admin.get<Location>(veleroBackupStorageLocation, { namespace: 'velero', name })
  const texts = async (name: string, namespace: string) => {
    const found = await own.admin.get<KubeObject & { data: Record<string, string> }>(secret, { namespace, name })
    return Object.values(found.data).map((value) => Buffer.from(value, 'base64').toString('utf8'))
  }
  const isAbsent = async (ask: Promise<unknown>) =>
    ask.then(
      () => false,
      (error: unknown) => isKubeError(error, 'NotFound'),
    )

  describe('createBackupTargets at a real store', () => {
    backupTargetContract(() => ({
      targets: createBackupTargets(),
      good: { ...target, region: 'us-east-1', forcePathStyle: true },
      ...{ missing: 'nothing-here', forbidden: 'other' },
    }))
  })

  it('reports a missing Velero in status and conditions, and returns 409 for backups', async () => {
    expect(await says('EngineMissing')).to.match(/^Velero is not installed .*installs it with its plugin/)
    expect(await refused('POST', '')).to.deep.equal([409, 'schedule-missing'])
    expect(await refused('PUT', '/schedule', { cron: 'no' })).to.deep.equal([409, 'schedule-missing'])
    expect((await call('GET', '')).body.items).to.deep.equal([])
    expect((await call('GET', '/target')).body).to.include({ isConfigured: false })
    expect((await call('GET', '/schedule')).body).to.include({ cron: '0 1 * * *', ttlHours: 720, nextRunAt: null })
    const { body } = await call('GET', '/conditions')
    expect(body.overall).to.equal('Failing')
    expect(body.conditions.find(({ type }: { type: string }) => type === 'CrdsMatch').reason).to.equal('EngineMissing')
  })

  it('has one settings object, which the API server validates like REST', async () => {
    const other = objectOf(PlatformBackupSettings, 'other', SYSTEM_NAMESPACE, {})
    const error = await own.admin.create(PlatformBackupSettings.resource, other).catch((thrown: unknown) => thrown)
    expect(isKubeError(error) && error.denial?.message).to.match(/there is one PlatformBackupSettings, named default/)
    for (const spec of [
      { schedule: { cron: 'at noon' } },
      { schedule: { ttlHours: 0 } },
      { target: { bucket: 'platform', endpoint: 'ftp://store', secretName: TARGET_SECRETS[0] } },
      { target: { bucket: 'platform', endpoint, secretName: 'another' } },
      { target: { bucket: 'platform', endpoint, secretName: TARGET_SECRETS[0], caCertificate: 'PEM' } },
    ])
      expect(isKubeError(await change(spec).catch((thrown: unknown) => thrown), 'Invalid')).to.equal(true)
  })

  it('needs a target that can be written to, and then creates location, Secret and Schedule', async () => {
    await own.admin.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'velero' } })
    await installManifests(own.admin, await veleroDefinitions())
    expect(await says('ConfigurationInvalid')).to.match(/There is no target/)
    expect(await refused('PUT', '/target', { ...target, bucket: 'nothing-here' })).to.deep.equal([
      422,
      'target-rejected',
    ])
    expect(await refused('PUT', '/target', { ...target, secretAccessKey: '' })).to.deep.equal([400, 'invalid-target'])
    const tested = await call('POST', '/target/test', { ...target, bucket: 'other' })
    expect([tested.status, tested.body.code]).to.deep.equal([200, 'AccessDenied'])
    const { status, body } = await call('PUT', '/target', { ...target, prefix: 'here' })
    expect([status, body.bucket, body.accessKeyId]).to.deep.equal([202, 'platform', target.accessKeyId])
    expect(JSON.stringify(body)).to.not.contain(target.secretAccessKey)
    await says('Available')
    const { spec } = await location()
    expect(spec).to.deep.include({
      provider: 'aws',
      default: true,
      objectStorage: { bucket: 'platform', prefix: 'here' },
    })
    expect((await texts(VELERO_SECRET, 'velero')).join()).to.contain(`aws_secret_access_key=${target.secretAccessKey}`)
    expect((await schedule()).spec).to.deep.include({ schedule: '0 1 * * *' })
    expect((await schedule()).spec.template).to.include({ ttl: '720h0m0s', storageLocation: 'default' })
    expect((await call('PUT', '/target', { ...target, prefix: 'here' })).status).to.equal(200)
    // Nothing secret is in the settings, their status or the log.
    const stored = JSON.stringify(await own.admin.get(PlatformBackupSettings.resource, PLACE))
    expect(stored).to.not.contain(target.secretAccessKey)
  })

  it('shows the status of the target that Velero reports', async () => {
    const status = { phase: 'Available', lastValidationTime: '2026-01-01T00:00:00Z' }
    await own.admin.mergePatch(veleroBackupStorageLocation, { namespace: 'velero', name: 'default' }, { status })
    const { body } = await call('GET', '/target')
    expect(body).to.include({ status: 'Available', lastValidatedAt: '2026-01-01T00:00:00Z', source: 'Configured' })
    await own.admin.mergePatch(
      veleroBackupStorageLocation,
      { namespace: 'velero', name: 'default' },
      { status: { phase: 'Unavailable', message: 'no route' } },
    )
    expect(await says('BackupFailing')).to.match(/cannot reach the target. no route/)
    await own.admin.mergePatch(
      veleroBackupStorageLocation,
      { namespace: 'velero', name: 'default' },
      { status: { phase: 'Available' } },
    )
    await says('Available')
  })

  it('applies the schedule of REST or kubectl', async () => {
    expect(await refused('PUT', '/schedule', { cron: '0 1 * *', ttlHours: 1 })).to.deep.equal([400, 'invalid-schedule'])
    const { status, body } = await call('PUT', '/schedule', { cron: '30 2 * * 7', ttlHours: 48 })
    expect([status, body.cron, body.ttlHours]).to.deep.equal([200, '30 2 * * 7', 48])
    await until('the Schedule of Velero has changed', async () => {
      const { spec } = await schedule()
      return spec.schedule === '30 2 * * 0' && spec.template.ttl === '48h0m0s'
    })
    await change({ schedule: { paused: true } })
    await until('it is paused', async () => (await schedule()).spec.paused)
    expect((await call('GET', '/schedule')).body).to.include({ isPaused: true, nextRunAt: null })
    await change({ schedule: { paused: false } })
  })

  it('takes backups on demand one at a time, shows failures, and has Velero delete them', async () => {
    const answers = await Promise.all([call('POST', ''), call('POST', '')])
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([202, 409])
    const { name } = answers.find(({ status }) => status === 202)?.body ?? {}
    const blocked = answers.find(({ status }) => status === 409)?.body
    expect(blocked).to.include({ code: 'backup-in-progress', backup: name })
    expect(await refused('DELETE', `/${name}`)).to.deep.equal([409, 'backup-in-progress'])
    const at = { namespace: 'velero', name }
    const status = { startTimestamp: new Date().toISOString(), completionTimestamp: new Date().toISOString() }
    await own.admin.mergePatch(veleroBackup, at, {
      status: { ...status, phase: 'PartiallyFailed', errors: 2, warnings: 0 },
    })
    expect(await says('BackupFailing')).to.match(/ended as PartiallyFailed with 2 errors/)
    const [listed] = (await call('GET', '?filter=trigger:eq:Manual')).body.items
    expect(listed).to.include({ name, phase: 'PartiallyFailed', errors: 2 })
    expect(listed.startedBy).to.be.a('string')
    expect((await call('GET', '/conditions')).body.overall).to.equal('Degraded')
    await own.admin.mergePatch(veleroBackup, at, { status: { phase: 'Completed', errors: 0 } })
    await says('Available')
    expect((await call('GET', '/conditions')).body.overall).to.equal('Healthy')
    expect((await call('DELETE', `/${name}`)).status).to.equal(202)
    const { items } = await own.admin.list(veleroDeleteBackupRequest, { namespace: 'velero' })
    expect(items.map(({ spec }) => (spec as { backupName: string }).backupName)).to.deep.equal([name])
  })

  it('changes the target by kubectl only after its new key was accepted', async () => {
    const [name] = (await isAbsent(own.admin.get(secret, { namespace: SYSTEM_NAMESPACE, name: TARGET_SECRETS[0] })))
      ? TARGET_SECRETS
      : [TARGET_SECRETS[1]]
    const data = (secretAccessKey: string) =>
      secretData({ 'access-key-id': root.accessKeyId, 'secret-access-key': secretAccessKey })
    await own.admin.create(secret, {
      ...{ apiVersion: 'v1', kind: 'Secret', metadata: { namespace: SYSTEM_NAMESPACE, name }, data: data('wrong') },
    } as KubeObject)
    await change({ target: { bucket: 'other', secretName: name } })
    expect(await says('ConfigurationInvalid')).to.match(/AuthenticationFailed/)
    expect((await location()).spec.objectStorage).to.include({ bucket: 'platform' })
    const ref = { namespace: SYSTEM_NAMESPACE, name }
    await own.admin.mergePatch(secret, ref, { data: data(root.secretAccessKey) })
    await change({ target: { prefix: 'there' } })
    await says('Available')
    expect((await location()).spec.objectStorage).to.include({ bucket: 'other', prefix: 'there' })
    expect((await call('GET', '/target')).body).to.include({ bucket: 'other', accessKeyId: root.accessKeyId })
  })

  it('restricts backups by its service accounts: hooks only in tenants, no kube-system', async () => {
    const { folder } = own.controlPlane
    const hook = (includedNamespaces?: string[]) => ({
      resources: [{ name: 'x', includedNamespaces, pre: [{ exec: { command: ['id'] } }] }],
    })
    const refusal = async (account: string, kind: 'Backup' | 'Schedule', what: object) => {
      const path = join(folder, `${account}-kubeconfig`)
      const user = await own.controlPlane.issueClientCertificate(
        `system:serviceaccount:${SYSTEM_NAMESPACE}:freehold-${account}`,
      )
      await own.controlPlane.writeKubeconfig(path, { name: account, user })
      const client = createKubeClient(loadKubeconfig(path), { fieldManager: 'test', userAgent: 'test' })
      const spec = kind === 'Backup' ? what : { schedule: '0 1 * * *', template: what }
      const object = { apiVersion: 'velero.io/v1', kind, metadata: { name: 'stolen', namespace: 'velero' }, spec }
      const answer = client.create(kind === 'Backup' ? veleroBackup : veleroSchedule, object, { dryRun: true })
      const outcome = await answer.then(
        () => 'admitted',
        (error: unknown) => (isKubeError(error) && error.denial?.message) || messageOf(error),
      )
      await client.close()
      return outcome
    }
    const tenants = { includedNamespaces: ['shop-0123456789'] }
    for (const [account, kind] of [
      ['facade', 'Backup'],
      ['controllers', 'Backup'],
      ['controllers', 'Schedule'],
    ] as const) {
      for (const spaces of [undefined, [], ['kube-system'], ['shop-0123456789', 'kube-system']])
        expect(await refusal(account, kind, { ...tenants, hooks: hook(spaces) })).to.contain('run commands only in')
      for (const what of [{}, { includedNamespaces: ['*'] }, { includedNamespaces: ['kube-system'] }])
        expect(await refusal(account, kind, what)).to.contain('leave out kube-system')
      expect(await refusal(account, kind, { ...tenants, hooks: hook(['shop-0123456789']) })).to.equal('admitted')
    }
  })

  it('suspends and resumes archiving of a PostgreSQL cluster whose archiving fails', async () => {
    const {
      namespaces: [home = ''],
    } = await makeFleet(own.admin, { groups: 1, databases: 0 })
    const database = { namespace: home, name: 'orders' }
    await own.admin.create(
      RelationalCluster.resource,
      objectOf(RelationalCluster, 'orders', home, { computePlan: 'relational-small', backupEnabled: false }),
    )
    await until('it is ready', async () => isReady(await own.admin.get(RelationalCluster.resource, database)))
    const cluster = { namespace: home, name: relationalNames('orders').cluster }
    expect(await refused('POST', '/archiving/suspend', { ...cluster, name: '' })).to.deep.equal([
      400,
      'invalid-cluster',
    ])
    expect(await refused('POST', '/archiving/suspend', database)).to.deep.equal([404, 'cluster-not-found'])
    expect(await refused('POST', '/archiving/suspend', cluster)).to.deep.equal([409, 'archiving-not-configured'])
    // A database outside of the platform, whose engine reports that archiving fails.
    const foreign = { namespace: 'velero', name: 'catalogue' }
    const conditions = (status: string) => [
      {
        type: 'ContinuousArchiving',
        status,
        message: 'no space',
        reason: 'X',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
    ]
    await own.admin.create(postgresqlCluster, {
      ...{ apiVersion: 'postgresql.cnpg.io/v1', kind: 'Cluster', metadata: foreign },
      spec: { instances: 1, plugins: [{ name: 'barman-cloud.cloudnative-pg.io', isWALArchiver: true }] },
    } as KubeObject)
    const engineSays = (status: string) =>
      own.admin.mergePatch(
        postgresqlCluster,
        foreign,
        { status: { conditions: conditions(status) } },
        { subresource: 'status' },
      )
    await engineSays('True')
    expect(await refused('POST', '/archiving/suspend', foreign)).to.deep.equal([409, 'archiving-healthy'])
    expect(await refused('POST', '/archiving/resume', foreign)).to.deep.equal([409, 'archiving-not-suspended'])
    await engineSays('False')
    const { status, body } = await call('POST', '/archiving/suspend', foreign)
    expect([status, body.archiving, body.message]).to.deep.equal([200, 'Suspended', 'no space'])
    const annotations = async () => (await own.admin.get(postgresqlCluster, foreign)).metadata.annotations ?? {}
    await until(
      'the annotation of the cluster has changed',
      async () => (await annotations())['cnpg.io/skipWalArchiving'] === 'enabled',
    )
    expect(await refused('POST', '/archiving/suspend', foreign)).to.deep.equal([409, 'archiving-healthy'])
    const { databases } = (await call('GET', '/conditions')).body
    expect(databases.find(({ name }: { name: string }) => name === 'catalogue').archiving).to.equal('Suspended')
    expect((await call('POST', '/archiving/resume', foreign)).body.archiving).to.equal('ResumePending')
    await until(
      'the annotation of the cluster has changed',
      async () => (await annotations())['cnpg.io/skipWalArchiving'] === undefined,
    )
    expect((await call('POST', '/archiving/resume', foreign)).body.archiving).to.equal('ResumePending')
    await engineSays('True')
    await until('it is resumed', async () => (await refused('POST', '/archiving/resume', foreign))[0] === 409)
    // Other files use this platform.
    await own.admin.remove(postgresqlCluster, foreign)
  })

  it('deletes the Schedule with the settings, and keeps the backup location', async () => {
    await own.admin.remove(PlatformBackupSettings.resource, PLACE)
    await until('the Schedule is deleted', () => isAbsent(schedule()))
    expect((await location()).spec.objectStorage).to.include({ bucket: 'other' })
    await until('the settings are gone', () => isAbsent(own.admin.get(PlatformBackupSettings.resource, PLACE)))
    expect((await call('PUT', '/target', target)).status).to.equal(202)
    await says('Available')
    expect((await location()).spec.objectStorage).to.include({ bucket: 'platform' })
    await until('the Schedule is there again', async () => !(await isAbsent(schedule())))
  })
})
