import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { Authority } from '../../../scripts/controlplane/pki.ts'
import { request } from '../../../test/make/request.ts'
import { bearer } from '../../../test/worlds/facadeServer.ts'
import { hoursAgo, PlatformBackupsWorld } from '../../../test/worlds/platformBackups.ts'
import { PLATFORM_SCHEDULE, SCHEDULE_LABEL, TARGET_SECRETS } from '../../contracts/platformbackups/names.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { PlatformBackupSettings } from '../../crds/platformBackups.ts'
import { RolloutExecution } from '../../crds/rollouts.ts'
import { secret } from '../../kube/builtin.ts'
import { veleroBackup, veleroBackupStorageLocation, veleroDeleteBackupRequest } from '../../kube/velero.ts'

const PATH = '/lifecycle/backups'
const TARGET = {
  bucket: 'backups',
  accessKeyId: 'id',
  secretAccessKey: 'secret',
  endpoint: 'https://store.test',
}

describe('backups of the platform over REST', () => {
  let world: PlatformBackupsWorld
  beforeEach(async () => {
    world = await PlatformBackupsWorld.start()
  })
  afterEach(() => world.facade.stop())

  const backup = (name: string, status: object, annotations: object = {}) =>
    world.seed(veleroBackup, name, { status }, { labels: { [SCHEDULE_LABEL]: PLATFORM_SCHEDULE }, annotations })

  describe('backups', () => {
    it('returns schedule-missing as problem details without a Velero Schedule', async () => {
      const { status, body, headers } = await world.call('post', '')
      expect(status).to.equal(409)
      expect(headers['content-type']).to.match(/problem\+json/)
      expect(body).to.include({ title: 'schedule-missing', code: 'schedule-missing', module: 'lifecycle' })
      expect(body).to.not.have.property('error')
    })

    it('starts a backup from the template of the schedule, and rejects a second one meanwhile', async () => {
      world.schedule()
      const { status, body } = await world.call('post', '')
      expect(status).to.equal(202)
      expect(body).to.include({ trigger: 'Manual', phase: 'New', startedBy: world.owner })
      const { items } = await world.facade.client.list(veleroBackup, { namespace: 'velero' })
      expect(items[0]?.spec).to.deep.equal({ ttl: '720h0m0s' })
      expect((await world.call('get', '')).body.items.map(({ name }: { name: string }) => name)).to.deep.equal([
        body.name,
      ])
      const again = await world.call('post', '')
      expect([again.status, again.code, again.body.backup, again.body.phase]).to.deep.equal([
        ...[409, 'backup-in-progress', body.name, 'New'],
      ])
    })

    const MANUAL = { 'freehold.dev/backup-trigger': 'Manual' }
    const blocking: [string, object, object, number][] = [
      [
        'rejects a backup while a manual one is queued',
        { phase: 'Queued', startTimestamp: hoursAgo(2.9) },
        MANUAL,
        409,
      ],
      [
        'starts a backup despite an unfinished one older than three hours',
        { phase: 'InProgress', startTimestamp: hoursAgo(3.1) },
        MANUAL,
        202,
      ],
      ['starts a backup after one has ended', { phase: 'PartiallyFailed', startTimestamp: hoursAgo(0.1) }, MANUAL, 202],
      ['starts a backup despite a scheduled one', { phase: 'InProgress', startTimestamp: hoursAgo(0.1) }, {}, 202],
    ]
    for (const [title, status, annotations, expected] of blocking) {
      it(title, async () => {
        world.schedule()
        backup('before', status, annotations)
        expect((await world.call('post', '')).status).to.equal(expected)
      })
    }

    it('lists backups of the platform with the values of Velero, newest first', async () => {
      backup('older', { phase: 'Completed', startTimestamp: hoursAgo(30), warnings: 1 })
      backup('newer', {
        phase: 'InProgress',
        startTimestamp: hoursAgo(1),
        progress: { totalItems: 9, itemsBackedUp: 4 },
      })
      world.seed(veleroBackup, 'tenant', { status: { phase: 'Completed' } }, { labels: { [SCHEDULE_LABEL]: 'other' } })
      const { items } = (await world.call('get', '', undefined, world.reader)).body
      expect(items.map(({ name }: { name: string }) => name)).to.deep.equal(['newer', 'older'])
      expect(items[0]).to.include({ trigger: 'Scheduled', itemsTotal: 9, itemsDone: 4, startedBy: null })
      const filtered = await world.call('get', '?filter=phase:eq:Completed&sort=startedAt')
      expect(filtered.body.items).to.have.length(1)
      expect((await world.call('get', '?filter=trigger:eq:Other')).code).to.equal('bad-request')
    })

    it('lists queued backups first and those that Velero rejected last', async () => {
      backup('runs', { phase: 'InProgress', startTimestamp: hoursAgo(1) })
      backup('refused', { phase: 'FailedValidation' })
      backup('waits', { phase: 'Queued' })
      const { items } = (await world.call('get', '')).body
      expect(items.map(({ name }: { name: string }) => name)).to.deep.equal(['waits', 'runs', 'refused'])
      expect(items[0].startedAt).to.equal(null)
    })

    it('deletes a backup through Velero, unless it is running', async () => {
      backup('done', { phase: 'Completed', startTimestamp: hoursAgo(30) })
      backup('runs', { phase: 'InProgress', startTimestamp: hoursAgo(1) })
      expect((await world.call('delete', '/done')).status).to.equal(202)
      expect((await world.call('delete', '/done')).status).to.equal(202)
      expect((await world.facade.client.list(veleroDeleteBackupRequest)).items.map(({ spec }) => spec)).to.deep.equal([
        { backupName: 'done' },
      ])
      expect((await world.call('delete', '/runs')).code).to.equal('backup-in-progress')
      expect((await world.call('delete', '/nothing')).status).to.equal(404)
      expect((await world.call('delete', '/done', undefined, world.reader)).status).to.equal(403)
    })

    it('shows 0 errors and warnings for a completed backup, since Velero omits zeros', async () => {
      backup('done', { phase: 'Completed', startTimestamp: hoursAgo(2), completionTimestamp: hoursAgo(1) })
      backup('runs', { phase: 'InProgress', startTimestamp: hoursAgo(1) })
      const { items } = (await world.call('get', '?sort=startedAt')).body
      expect(items.map(({ errors, warnings }: Record<string, unknown>) => [errors, warnings])).to.deep.equal([
        [0, 0],
        [null, null],
      ])
    })

    for (const phase of ['Processed', 'InProgress'])
      it(`requests a deletion again after a request that Velero left ${phase}`, async () => {
        backup('done', { phase: 'Completed', startTimestamp: hoursAgo(30) })
        world.seed(veleroDeleteBackupRequest, 'done', { spec: { backupName: 'done' }, status: { phase } })
        expect((await world.call('delete', '/done')).status).to.equal(202)
        const { items } = await world.facade.client.list(veleroDeleteBackupRequest)
        expect(items.map(({ spec }) => spec)).to.deep.equal([{ backupName: 'done' }, { backupName: 'done' }])
      })
  })

  describe('schedule of backups', () => {
    it('returns its defaults and that it is missing', async () => {
      const { body } = await world.call('get', '/schedule', undefined, world.reader)
      expect(body).to.include({ cron: '0 1 * * *', ttlHours: 720, isPaused: false, nextRunAt: null })
      expect(body.validationErrors[0]).to.match(/There is no Velero Schedule/)
    })

    it('returns schedule-missing before it validates the body', async () => {
      const { status, code } = await world.call('put', '/schedule', { cron: 'no', ttlHours: 0 })
      expect([status, code]).to.deep.equal([409, 'schedule-missing'])
    })

    const bodies: [string, object][] = [
      ['a cron expression of four fields', { cron: '0 1 * *', ttlHours: 1 }],
      ['a cron expression of six fields', { cron: '0 0 1 * * *', ttlHours: 1 }],
      ['a day that does not exist', { cron: '0 1 31 2 *', ttlHours: 1 }],
      ['a retention of 0 hours', { cron: '0 1 * * *', ttlHours: 0 }],
      ['a missing cron expression', { ttlHours: 1 }],
      ['a missing retention', { cron: '0 1 * * *' }],
    ]
    for (const [title, body] of bodies) {
      it(`rejects ${title}`, async () => {
        world.schedule()
        const { status, code } = await world.call('put', '/schedule', body)
        expect([status, code]).to.deep.equal([400, 'invalid-schedule'])
        expect((await world.stored()).spec.schedule.cron).to.equal('0 1 * * *')
      })
    }

    it('stores the schedule, and accepts the record as read', async () => {
      world.schedule()
      world.settings({ schedule: { paused: true } })
      const { status, body } = await world.call('put', '/schedule', { cron: '30 2 * * 1', ttlHours: 48 })
      expect([status, body.cron, body.ttlHours, body.isPaused]).to.deep.equal([200, '30 2 * * 1', 48, true])
      expect((await world.stored()).spec.schedule).to.deep.equal({ cron: '30 2 * * 1', ttlHours: 48, paused: true })
      expect((await world.call('put', '/schedule', body)).status).to.equal(200)
      expect((await world.call('put', '/schedule', body, world.reader)).status).to.equal(403)
    })

    it('shows no next run for a stored schedule that never runs, and rejects it in a PUT', async () => {
      world.schedule()
      world.settings({})
      const stored = await world.stored()
      const spec = { ...stored.spec, schedule: { ...stored.spec.schedule, cron: '0 1 31 2 1,*' } }
      const { client, caches } = world.facade
      const { resource } = PlatformBackupSettings
      caches.get(resource).observeWrite(client.seed(resource, { ...stored, spec } as unknown as KubeObject))
      const { status, body } = await world.call('get', '/schedule')
      expect([status, body.cron, body.nextRunAt]).to.deep.equal([200, '0 1 31 2 1,*', null])
      expect((await world.call('put', '/schedule', body)).code).to.equal('invalid-schedule')
    })

    it('returns 409 for If-Match with an outdated ETag', async () => {
      world.schedule()
      world.settings({})
      let ttlHours = 1
      const ask = async (method: 'get' | 'put', ifMatch = '*') => {
        ttlHours += 1
        const sent = request(world.facade.app)[method](`${PATH}/schedule`).set('authorization', bearer(world.owner))
        const body = method === 'put' ? { cron: '30 2 * * 1', ttlHours } : undefined
        const { status, headers } = await sent.set('if-match', ifMatch).send(body)
        return { status, etag: headers.etag ?? '' }
      }
      const { etag: read } = await ask('get')
      const first = await ask('put', read)
      expect([first.status, (await ask('put', read)).status]).to.deep.equal([200, 409])
      expect((await ask('put', first.etag)).status).to.equal(200)
    })
  })

  describe('target of backups', () => {
    const put = (change: object = {}) => world.call('put', '/target', { ...TARGET, ...change })

    it('shows no target, the one of the installation or the configured one, without its secret', async () => {
      expect((await world.call('get', '/target', undefined, world.reader)).body).to.include({
        isConfigured: false,
        bucket: '',
      })
      const spec = { provider: 'aws', default: true, objectStorage: { bucket: 'first' }, config: { s3Url: 'http://a' } }
      world.seed(veleroBackupStorageLocation, 'default', {
        spec,
        status: { phase: 'Available', lastValidationTime: hoursAgo(1) },
      })
      const installed = (await world.call('get', '/target')).body
      expect(installed).to.include({
        bucket: 'first',
        endpoint: 'http://a',
        source: 'Installation',
        status: 'Available',
      })
      expect((await put()).status).to.equal(202)
      const { body } = await world.call('get', '/target', undefined, world.reader)
      expect(body).to.include({ source: 'Configured', accessKeyId: 'id', hasSecretAccessKey: true, status: 'Unknown' })
      expect(JSON.stringify(body)).to.not.match(/"secret"/)
    })

    it('shows no condition of the earlier target after a change', async () => {
      expect((await put()).status).to.equal(202)
      const settings = await world.stored()
      const { generation = 1 } = settings.metadata
      const statusMessage = 'The target was refused (Unreachable).'
      const Ready = { type: 'Ready', status: 'False', reason: 'ConfigurationInvalid', observedGeneration: generation }
      const Stalled = { ...Ready, type: 'Stalled', status: 'True' }
      const status = { statusMessage, conditions: [Ready, Stalled].map((one) => ({ ...one, message: statusMessage })) }
      world.facade.client.seed(PlatformBackupSettings.resource, { ...settings, status } as unknown as KubeObject)
      expect((await world.call('get', '/target')).body).to.include({ status: 'Unknown', message: statusMessage })
      const { body } = await put({ prefix: 'other' })
      expect(body.message).to.contain('is being carried out')
    })

    it('returns 409 for If-Match without stored settings, also for the schedule', async () => {
      world.schedule()
      await world.facade.client.remove(PlatformBackupSettings.resource, {
        namespace: SYSTEM_NAMESPACE,
        name: 'default',
      })
      const body = { '/target': TARGET, '/schedule': { cron: '0 1 * * *', ttlHours: 720 } }
      for (const path of ['/target', '/schedule'] as const)
        for (const tag of ['*', '"1-1-aaaaaaaa"']) {
          const answer = await request(world.facade.app)
            .put(`${PATH}${path}`)
            .set({ authorization: bearer(world.owner), 'if-match': tag })
            .send(body[path])
          expect([path, tag, answer.status, answer.body.code]).to.deep.equal([path, tag, 409, 'conflict'])
        }
      expect((await world.facade.client.list(PlatformBackupSettings.resource)).items).to.have.lengthOf(0)
    })

    const refused: [string, object][] = [
      ['a missing bucket', { bucket: undefined }],
      ['a missing key', { accessKeyId: '' }],
      ['a missing secret', { secretAccessKey: null }],
      ['a path as endpoint', { endpoint: '/backups' }],
      ['another protocol in the endpoint', { endpoint: 'ftp://store.test' }],
      ['credentials in the endpoint', { endpoint: 'https://me:you@store.test' }],
      ['another provider', { provider: 'gcp' }],
      ['an invalid certificate', { caCertificate: 'PEM' }],
      [
        'a certificate with invalid content',
        { caCertificate: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n' },
      ],
      ['a secret with a line break', { secretAccessKey: 'a\nrole_arn=b' }],
    ]
    for (const [title, change] of refused) {
      it(`rejects ${title} without testing the target`, async () => {
        const { status, code } = await put(change)
        expect([status, code]).to.deep.equal([400, 'invalid-target'])
        expect(world.targets.tested).to.deep.equal([])
        const test = await world.call('post', '/target/test', { ...TARGET, ...change })
        expect([test.status, test.body.success, test.body.code]).to.deep.equal([200, false, 'invalid-target'])
      })
    }

    it('rejects a target whose bucket cannot be listed, and stores nothing', async () => {
      for (const [change, reason] of [
        [{ bucket: 'other' }, 'BucketMissing'],
        [{ secretAccessKey: 'wrong' }, 'AuthenticationFailed'],
        [{ endpoint: 'https://nowhere.test' }, 'Unreachable'],
      ] as const) {
        const { status, body } = await put(change)
        expect([status, body.code, body.reason]).to.deep.equal([422, 'target-rejected', reason])
        expect(JSON.stringify(body)).to.not.contain('wrong')
      }
      expect((await world.stored()).spec.target).to.equal(undefined)
      for (const name of TARGET_SECRETS)
        expect(
          await world.facade.client.get(secret, { namespace: SYSTEM_NAMESPACE, name }).catch(() => 'none'),
        ).to.equal('none')
    })

    it('stores the target with its key in a Secret, and returns 200 for the same request again', async () => {
      const { status, body } = await put()
      expect([status, body.bucket, body.hasSecretAccessKey]).to.deep.equal([202, 'backups', true])
      const { target } = (await world.stored()).spec
      expect(target).to.include({ bucket: 'backups', region: 'us-east-1', secretName: TARGET_SECRETS[0] })
      const { data } = await world.facade.client.get<KubeObject & { data: Record<string, string> }>(secret, {
        ...{ namespace: SYSTEM_NAMESPACE, name: TARGET_SECRETS[0] },
      })
      expect(Buffer.from(data['secret-access-key'] ?? '', 'base64').toString()).to.equal('secret')
      expect((await put()).status).to.equal(200)
      world.targets.key.secretAccessKey = 'newer'
      expect((await put({ secretAccessKey: 'newer' })).status).to.equal(202)
      expect((await world.stored()).spec.target?.secretName).to.equal(TARGET_SECRETS[1])
      expect(world.removed).to.deep.equal([TARGET_SECRETS[0]])
    })

    it('accepts a CA certificate and shows its expiry', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'freehold-target-'))
      const { certPem: caCertificate } = await Authority.open(folder, 'ca')
      await rm(folder, { recursive: true })
      expect((await put({ caCertificate })).body).to.include({ hasCaCertificate: true })
      expect(Date.parse((await world.call('get', '/target')).body.caExpiresAt)).to.be.greaterThan(Date.now())
    })

    it('returns rollout-in-flight during a rollout', async () => {
      const id = randomUUID()
      world.facade.client.seed(RolloutExecution.resource, {
        apiVersion: RolloutExecution.apiVersion,
        kind: RolloutExecution.kind,
        metadata: { name: id, namespace: SYSTEM_NAMESPACE },
        status: { state: 'Paused' },
      })
      const { status, body } = await put()
      expect([status, body.code, body.executionId]).to.deep.equal([409, 'rollout-in-flight', id])
    })

    it('returns target-changed if the settings change meanwhile', async () => {
      const original = world.targets.test.bind(world.targets)
      world.targets.test = async (target) => {
        await world.facade.client.mergePatch(
          PlatformBackupSettings.resource,
          { namespace: SYSTEM_NAMESPACE, name: 'default' },
          { spec: { schedule: { ttlHours: 5 } } },
        )
        return original(target)
      }
      const { status, code } = await put()
      expect([status, code]).to.deep.equal([409, 'target-changed'])
      expect((await world.stored()).spec.target).to.equal(undefined)
    })

    it('tests a target without storing it', async () => {
      const good = await world.call('post', '/target/test', TARGET)
      expect(good.body).to.include({ success: true, code: 'Ok' })
      const bad = await world.call('post', '/target/test', { ...TARGET, bucket: 'other' })
      expect([bad.status, bad.body.code]).to.deep.equal([200, 'BucketMissing'])
      expect((await world.call('post', '/target/test', TARGET, world.reader)).status).to.equal(403)
      expect((await world.stored()).spec.target).to.equal(undefined)
    })
  })
})
