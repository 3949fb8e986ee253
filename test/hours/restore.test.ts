import { rm } from 'node:fs/promises'
import { request as sendOn } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { CreateBucketCommand, ListObjectsV2Command, type S3Client } from '@aws-sdk/client-s3'
import { expect } from 'chai'
import { layout } from '../../scripts/controlplane/flags.ts'
import { applyManifests, crdManifests } from '../../scripts/platform/manifests.ts'
import { writeOperatorKubeconfig } from '../../scripts/platform/operator.ts'
import { platformAccess } from '../../scripts/platform.ts'
import { boundaryNamespace, groupNamespace } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { KINDS } from '../../src/crds/index.ts'
import { job, namespace, statefulSet } from '../../src/kube/builtin.ts'
import { installManifests } from '../../src/kube/crds.ts'
import { postgresqlBackup } from '../../src/kube/postgresql.ts'
import { veleroBackupStorageLocation } from '../../src/kube/velero.ts'
import { OwnPlatform } from '../cluster/platform.ts'
import { type SeaweedFs, seaweedfsIsMissing, startSeaweedfs } from '../cluster/seaweedfs.ts'
import {
  type BackupBucket,
  giveBucket,
  installVelero,
  type RunningVelero,
  restoreAll,
  startVelero,
  type VeleroPrograms,
  veleroOrSkip,
} from '../cluster/veleroServer.ts'
import { s3Client } from '../make/s3Client.ts'
import { until } from '../make/until.ts'
import { makeServiceAccount, tokenFor } from '../worlds/tenant.ts'

type Body = { [field: string]: unknown }
type Location = KubeObject & { spec: { config: { s3Url?: string } }; status?: { phase?: string } }

/** The store behind TLS: requests are signed for the host that they are sent to. */
async function securedStore(endpoint: string, { certPem, keyPem }: { certPem: string; keyPem: string }) {
  const { hostname, port } = new URL(endpoint)
  const server = createServer({ cert: certPem, key: keyPem }, (request, response) => {
    const { method, url, headers } = request
    const onward = sendOn({ hostname, port, method, path: url, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    onward.on('error', () => response.destroy())
    request.pipe(onward)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const stop = () => {
    server.closeAllConnections()
    return new Promise<void>((closed) => server.close(() => closed()))
  }
  return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, stop }
}

const BUCKET = 'platform'

/** Velero and the store are real; pods are simulated. */
describe('a platform restored by Velero', () => {
  let own: OwnPlatform
  let token: string
  let programs: VeleroPrograms
  let velero: RunningVelero | undefined
  let store: SeaweedFs | undefined
  let bucket: BackupBucket
  let backup: string

  async function call(method: string, path: string, body?: object): Promise<{ status: number; body: Body }> {
    const answer = await fetch(`${own.platform.facadeUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, body: (text === '' ? {} : JSON.parse(text)) as Body }
  }
  async function expectCall(status: number, ...given: Parameters<typeof call>): Promise<Body> {
    const answer = await call(...given)
    if (answer.status !== status)
      throw new Error(`${given[0]} ${given[1]}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  /** An empty cluster whose API server asks the facade as before, and that has what Velero needs. */
  async function loseEverything(): Promise<void> {
    await own.endOperator('SIGTERM')
    await velero?.stop()
    await own.controlPlane.restart(platformAccess(own.ports), () =>
      rm(layout(own.controlPlane.folder).etcdData, { recursive: true }),
    )
    await installManifests(own.admin, crdManifests(), { timeout: 180_000 })
    await installVelero(own.admin)
    velero = await startVelero(programs, own)
  }
  /** How many objects there are of each kind that is backed up. */
  async function countAll(): Promise<Record<string, number>> {
    const counts = KINDS.map(async ({ resource }) => {
      const { items: found } = await own.admin.list(resource, {})
      return [resource.plural, found.length] as const
    })
    return Object.fromEntries(await Promise.all(counts))
  }
  const signIn = async () => {
    const { clientId, clientSecret, tokenUrl } = own.platform
    token = await tokenFor(clientId, clientSecret, tokenUrl)
  }
  const items = async (path: string) => ((await expectCall(200, 'GET', path)).items as Body[]) ?? []

  before(async function () {
    const missing = await seaweedfsIsMissing()
    if (missing !== undefined) {
      console.log(`    skipped: ${missing}`)
      this.skip()
    }
    programs = await veleroOrSkip(this)
    store = await startSeaweedfs()
    const { endpoint, accessKeyId, secretAccessKey } = store
    bucket = { bucket: BUCKET, endpoint, accessKeyId, secretAccessKey }
    await inBucket((client) => client.send(new CreateBucketCommand({ Bucket: BUCKET })))
    own = await OwnPlatform.prepare()
    await installVelero(own.admin)
    velero = await startVelero(programs, own)
    await own.startOperator()
    await signIn()
  })
  after(async () => {
    await velero?.stop()
    await own?.stop()
    await store?.stop()
  })

  async function inBucket<T>(work: (client: S3Client) => Promise<T>): Promise<T> {
    // The library modifies the object that it is given.
    const client = s3Client(bucket.endpoint, { ...bucket })
    return work(client).finally(() => client.destroy())
  }
  const isInBucket = async (name: string) => {
    const { Contents = [] } = await inBucket((client) => client.send(new ListObjectsV2Command({ Bucket: BUCKET })))
    return Contents.some(({ Key = '' }) => Key.startsWith(`backups/${name}/`))
  }
  const conditionOf = async (type: string) => {
    const { conditions } = await expectCall(200, 'GET', '/lifecycle/backups/conditions')
    return (conditions as Body[]).find((one) => one.type === type)?.status
  }
  async function takeBackup(): Promise<string> {
    const { name } = await expectCall(202, 'POST', '/lifecycle/backups')
    const taken = await until('the backup has ended', async () => {
      const [found] = await items(`/lifecycle/backups?filter=name:eq:${name}`)
      return found?.completedAt !== null && found
    })
    expect(taken).to.include({ phase: 'Completed', errors: 0, failureReason: null, itemsDone: taken.itemsTotal })
    return String(name)
  }

  it('has the same ids, grants, secrets, resources and history', async () => {
    const boundary = await expectCall(201, 'POST', '/boundaries', { displayName: 'Acme' })
    const base = `/boundaries/${boundary.id}`
    const group = `${base}/resourcegroups/shop`
    const at = (path: string) => `${group}/resources/${path}`
    await expectCall(201, 'POST', group, {})
    const { clientId, clientSecret } = await makeServiceAccount(own.admin, 'Reader', own.platform.tokenUrl)
    const grant = { principalId: clientId, roleDefinitionName: 'Reader', scope: base }
    await expectCall(201, 'POST', `${base}/providers/authorization/roleAssignments`, grant)
    await expectCall(201, 'POST', at('secretvaults/keys'), {})
    await until('the vault takes secrets', async () => {
      const { status } = await call('PUT', at('secretvaults/keys/secrets/token'), { value: 'kept' })
      return status === 200
    })
    await expectCall(201, 'POST', at('vectorclusters/index'), {})
    await expectCall(201, 'POST', at('relationalclusters/orders'), {})
    await expectCall(201, 'POST', at('jobs/report'), { image: 'docker.io/library/busybox' })
    const env = [{ name: 'TOKEN', secret: { vaultName: 'keys', secretName: 'token' } }]
    const components = [{ name: 'web', image: 'docker.io/library/nginx:1.29', env }]
    await expectCall(201, 'POST', at('containerinstances/site'), { components })
    const statusOf = async (path: string) => (await call('GET', path)).body.status
    const running = ['vectorclusters/index', 'relationalclusters/orders', 'containerinstances/site'].map(at)
    for (const path of running) await until(`${path} runs`, async () => (await statusOf(path)) === 'Running')
    const snapshots = at('relationalclusters/orders/snapshots')
    await expectCall(202, 'POST', snapshots, { name: 'kept' })
    // As the engine does by the schedule; the backup of the platform does not include it.
    const nightly = {
      ...{ apiVersion: 'postgresql.cnpg.io/v1', kind: 'Backup', spec: { cluster: { name: 'relc-orders' } } },
      metadata: {
        name: 'nightly',
        namespace: groupNamespace(String(boundary.id), 'shop'),
        labels: { 'cnpg.io/scheduled-backup': 'relcbackup-orders' },
      },
    }
    await own.admin.create(postgresqlBackup, nightly)
    await until('the snapshots are taken', async () => {
      const taken = await items(snapshots)
      return taken.length === 2 && taken.every(({ status }) => status === 'Completed')
    })
    await until('the job is done', async () => /Succeeded|Completed/.test(String(await statusOf(at('jobs/report')))))
    const lists = [
      ['/boundaries', ['id']],
      [`${base}/resourcegroups`, ['id', 'name']],
      [`${base}/providers/authorization/roleAssignments`, ['id', 'scope']],
      ['/clusters', ['id', 'name']],
      [snapshots, ['id', 'name', 'status', 'completedAt']],
      [at('jobs'), ['id', 'name', 'status', 'startedAt', 'completedAt']],
      [at('containerinstances/site/revisions'), ['number', 'reason']],
    ] as const
    const known = () =>
      Promise.all(
        // Objects restored in the same second come in any order.
        lists.map(async ([path, fields]) =>
          (await items(path)).map((item) => fields.map((field) => String(item[field])).join(' ')).sort(),
        ),
      )
    const before = await known()
    const former = token
    await expectCall(202, 'PUT', '/lifecycle/backups/target', bucket)
    await until('Velero reaches the target', async () => (await conditionOf('TargetAvailable')) === 'True')
    backup = await until('it is backed up', takeBackup)
    expect(await isInBucket(backup)).to.equal(true)
    const counted = await countAll()

    await loseEverything()
    await giveBucket(own.admin, bucket)
    await restoreAll(own.admin, backup)
    expect(await countAll()).to.deep.equal(counted)
    const caPem = own.controlPlane.servingCaPem
    await applyManifests(own.admin, { url: `https://127.0.0.1:${own.ports.webhook}/admit`, caPem })
    // As each start of the platform does: the accounts differ from those of the old tokens.
    await writeOperatorKubeconfig(own.controlPlane, own.controlPlane.folder, own.admin)
    await own.startOperator()
    token = former
    expect((await call('GET', base)).status, 'an access token of before').to.equal(401)
    await signIn()

    expect((await expectCall(200, 'GET', at('secretvaults/keys/secrets/token'))).value).to.equal('kept')
    const made = async (path: string) => {
      const { items: found } = await own.admin.list(path === 'jobs' ? job : statefulSet, {})
      return found.map(({ metadata }) => metadata.name)
    }
    await until('the databases are made again', async () => (await made('sets')).some((name) => name.includes('index')))
    for (const path of running) await until(`${path} runs again`, async () => (await statusOf(path)) === 'Running')
    expect(await known()).to.deep.equal(before)
    expect(await made('jobs')).to.deep.equal([])
    const reader = await tokenFor(clientId, clientSecret, own.platform.tokenUrl)
    const seen = await fetch(`${own.platform.facadeUrl}${base}`, { headers: { authorization: `Bearer ${reader}` } })
    expect(seen.status).to.equal(200)
    await until('Velero may write to the target again', async () => (await conditionOf('TargetAvailable')) === 'True')
    expect(await conditionOf('RestoreTested')).to.equal('True')

    await expectCall(202, 'DELETE', group)
    await until('the group is deleted', async () => (await call('GET', group)).status === 404)
    await restoreAll(own.admin, backup, [
      boundaryNamespace(String(boundary.id)),
      groupNamespace(String(boundary.id), 'shop'),
    ])
    for (const path of running) await until(`${path} runs again`, async () => (await statusOf(path)) === 'Running')
    expect((await expectCall(200, 'GET', at('secretvaults/keys/secrets/token'))).value).to.equal('kept')

    await expectCall(202, 'DELETE', group)
    await until('the group is deleted', async () => (await call('GET', group)).status === 404)
    await expectCall(202, 'DELETE', base)
    await until('the boundary is deleted', async () => (await call('GET', base)).status === 404)
    const { items: left } = await own.admin.list(namespace, {})
    const names = left.map(({ metadata }) => metadata.name)
    expect(names.filter((name) => name.includes(String(boundary.id)))).to.deep.equal([])
  })

  it('deletes a backup with its objects in the bucket', async () => {
    await expectCall(202, 'DELETE', `/lifecycle/backups/${backup}`)
    await until('the backup is deleted', async () => (await items('/lifecycle/backups')).length === 0)
    expect(await isInBucket(backup)).to.equal(false)
  })

  it('backs up to a store with a certificate of its own authority', async () => {
    const certificate = await own.controlPlane.issueServingCertificate(['127.0.0.1'])
    const secured = await securedStore(bucket.endpoint, certificate)
    try {
      const target = { ...bucket, endpoint: secured.url }
      const test = () => expectCall(200, 'POST', '/lifecycle/backups/target/test', target)
      expect((await test()).code).to.equal('TlsFailed')
      const caCertificate = own.controlPlane.servingCaPem
      await expectCall(202, 'PUT', '/lifecycle/backups/target', { ...target, caCertificate })
      const location = { namespace: 'velero', name: 'default' }
      await until('Velero reaches it', async () => {
        const { spec, status } = await own.admin.get<Location>(veleroBackupStorageLocation, location)
        return spec.config.s3Url === secured.url && status?.phase === 'Available'
      })
      expect(await isInBucket(await takeBackup())).to.equal(true)
    } finally {
      await secured.stop()
    }
  })
})
