import { expect } from 'chai'
import { RESOURCES } from '../../test/crashes/apiServer.ts'
import { decoded, FAR_CONTROLLERS, joinFar, namesIn } from '../../test/crashes/far.ts'
import { FAR } from '../../test/crashes/operator.ts'
import { HOME, seedDatabaseEngine, seedGroup, seedSnapshots } from '../../test/crashes/seeds.ts'
import { World } from '../../test/crashes/world.ts'
import { isReady } from '../../test/worlds/fleet.ts'
import { jobNames } from '../contracts/jobs.ts'
import { relationalNames, snapshotBackupName } from '../contracts/relational.ts'
import { decodePasswords, SQL_USERS, sqlHost, sqlNames } from '../contracts/sql.ts'
import { entryName } from '../contracts/vaults/names.ts'
import { OWNER_NAME_LABEL } from '../core/labels.ts'
import { SYSTEM_NAMESPACE } from '../core/names.ts'
import type { KubeObject } from '../core/object.ts'
import { type SecretObject, secretData } from '../core/secretData.ts'
import { PlatformCluster } from '../crds/clusters.ts'
import type { AnyKind } from '../crds/define.ts'
import { FunctionNamespace } from '../crds/functions.ts'
import { RESOURCE_KINDS } from '../crds/index.ts'
import { PlatformJob } from '../crds/jobs.ts'
import { RelationalCluster } from '../crds/relational.ts'
import { RelationalSnapshot } from '../crds/relationalSnapshots.ts'
import { SqlInstance } from '../crds/sql.ts'
import { SecretVault, VaultEntry } from '../crds/vaults.ts'
import { VectorCluster } from '../crds/vector.ts'
import { namespace, persistentVolumeClaim, secret, service } from '../kube/builtin.ts'
import { postgresqlBackup } from '../kube/postgresql.ts'
import { volumeSnapshot } from '../kube/velero.ts'
import { BACKUP_SECRET } from './relational/backup.ts'

const NAME = 'books'
const SNAPSHOT = 'f0854e45-9295-490e-92af-fd60a52b56f3'
/** Functions run elsewhere but are not owned there by their namespace; they have a test of their own. */
const ANYWHERE = RESOURCE_KINDS.filter((kind) => kind.runsAnywhere === true && kind !== FunctionNamespace)

/** The required fields of each kind. */
const SPECS: Readonly<Record<string, object>> = {
  PlatformJob: { image: 'python', computePlan: 'job-small' },
  SqlInstance: { engine: 'MariaDb' },
  ContainerInstance: {
    isPublic: true,
    volumes: [{ name: 'disk', kind: 'Persistent', size: '1Gi', storageClass: 'standard' }],
    components: [
      {
        ...{ name: 'web', image: 'site:1', ports: [{ name: 'http', port: 8080 }] },
        mounts: [{ volume: 'disk', path: '/d' }],
      },
    ],
  },
  PlatformApp: { sourceKind: 'Image', image: 'site:1', releaseCommand: 'migrate' },
  StaticWebApp: { image: 'site:1' },
}

/** Children that stay beside their resource, wherever it runs. */
const KEPT_HERE = ['nameclaims', 'deploymentrecords', 'controllerrevisions']

describe('resource on another cluster', () => {
  let world: World
  const enter = async ({ kind }: AnyKind) => {
    const names = [...FAR_CONTROLLERS, kind.toLowerCase(), 'relationalsnapshot', 'deploymentrecord']
    world = new World((all) => all.filter(({ name }) => names.includes(name)))
    seedGroup(world.server)
    seedDatabaseEngine(world.far)
    await world.lead()
    await joinFar(world)
  }
  afterEach(() => world.stop())

  const make = (kind: AnyKind) => world.make(kind, NAME, { ...SPECS[kind.kind], clusterId: FAR })
  const found = (kind: AnyKind) => world.find<KubeObject & { status?: Record<string, string> }>(kind.resource, NAME)
  const says = async (kind: AnyKind) => {
    const { status = {} } = (await found(kind)) ?? {}
    return `${status.status} ${status.phase}: ${status.statusMessage}`
  }
  const until = (kind: AnyKind, what: string, isSo: () => Promise<boolean>) =>
    world.until(what, isSo).catch(async (cause: Error) => {
      throw new Error(`${cause.message} It says: ${await says(kind)}`, { cause })
    })
  /** Ready, or completed. */
  const untilReady = (kind: AnyKind) =>
    until(kind, 'it is ready', async () => {
      const object = await found(kind)
      return object !== undefined && isReady(object)
    })
  /** The objects with labels of the resource on a cluster. */
  const children = (server: World['server']) =>
    RESOURCES.flatMap((resource) =>
      [...server.stored(resource)]
        .filter(({ metadata }) => metadata.labels?.[OWNER_NAME_LABEL] === NAME)
        .map(({ metadata }) => `${resource.plural}/${metadata.name}`),
    )

  for (const kind of ANYWHERE) {
    it(`has all children of ${kind.segment} there and deletes them there`, async () => {
      await enter(kind)
      await make(kind)
      await untilReady(kind)
      expect(children(world.far)).to.not.deep.equal([])
      const isKeptHere = (child: string) => KEPT_HERE.some((plural) => child.startsWith(`${plural}/`))
      expect(children(world.server).filter((child) => !isKeptHere(child))).to.deep.equal([])
      expect(children(world.far).filter(isKeptHere)).to.deep.equal([])
      await world.remove(kind, NAME)
      await until(kind, 'it is gone', () => world.isGone(kind, NAME))
      await world.rest()
      expect(children(world.far)).to.deep.equal([])
      expect(children(world.server)).to.deep.equal([])
      expect(await world.far.peek(namespace, { name: HOME })).to.not.equal(undefined)
    })

    it(`reports ClusterUnreachable for ${kind.segment} and blocks their deletion`, async () => {
      await enter(kind)
      await make(kind)
      await untilReady(kind)
      const agent = { connection: 'one', lostConnection: 'one', lastSeenAt: '2025-12-31T00:00:00Z' }
      const status = { agent }
      await world.server.mergePatch(PlatformCluster.resource, { name: FAR }, { status }, { subresource: 'status' })
      await until(kind, 'it says so', async () => (await says(kind)).includes('ClusterUnreachable'))
      await world.remove(kind, NAME)
      await world.rest()
      expect(await says(kind)).to.match(/ClusterUnreachable/)
      expect(children(world.far), 'what runs there runs on').to.not.deep.equal([])
    })
  }
})

describe('children of a deleted resource on another cluster, without finalizer', () => {
  let world: World
  afterEach(() => world.stop())
  const DATA = [RelationalCluster, SqlInstance, VectorCluster].map(({ kind }) => kind)
  const left = () =>
    RESOURCES.flatMap((resource) =>
      [...world.far.stored(resource)]
        .filter(({ metadata }) => metadata.labels?.[OWNER_NAME_LABEL] === NAME)
        .map(({ metadata }) => `${resource.plural}/${metadata.name}`),
    )

  for (const kind of ANYWHERE) {
    const isData = DATA.includes(kind.kind)
    it(`${isData ? 'stay' : 'are deleted except for volumes'}: ${kind.segment}`, async () => {
      const names = [...FAR_CONTROLLERS, kind.kind.toLowerCase(), 'deploymentrecord']
      world = new World((all) => all.filter(({ name }) => names.includes(name)))
      seedGroup(world.server)
      seedDatabaseEngine(world.far)
      await world.lead()
      await joinFar(world)
      await world.make(kind, NAME, { ...SPECS[kind.kind], clusterId: FAR })
      await world.rest()
      const before = left()
      expect(before).to.not.deep.equal([])
      const ref = { namespace: HOME, name: NAME }
      await world.server.mergePatch(kind.resource, ref, { metadata: { finalizers: null } })
      await world.remove(kind, NAME)
      await world.rest()
      if (isData) expect(left()).to.deep.equal(before)
      else expect(left().filter((name) => !name.startsWith('persistentvolumeclaims/'))).to.deep.equal([])
    })
  }
})

describe('resources that use both clusters', () => {
  let world: World
  const enter = async (...controllers: string[]) => {
    world = new World((all) => all.filter(({ name }) => [...FAR_CONTROLLERS, ...controllers].includes(name)))
    seedGroup(world.server)
    await world.lead()
    await joinFar(world)
  }
  afterEach(() => world.stop())
  const farSecret = async (name: string) =>
    (await world.far.peek<SecretObject>(secret, { namespace: HOME, name }))?.data
  const says = async (kind: AnyKind, name: string) => {
    const { phase, statusMessage } = ((await world.find(kind.resource, name))?.status ?? {}) as Record<string, string>
    return `${phase}: ${statusMessage}`
  }

  it('run a job there with a vault value from here and keep its log here', async () => {
    await enter('platformjob', 'secretvault', 'vaultentry')
    await world.make(SecretVault, 'safe', {})
    await world.makeSecret('incoming', { value: 'hunter2' })
    const valueFrom = { secretName: 'incoming', key: 'value' }
    await world.make(VaultEntry, entryName('safe', 'Token'), { vaultName: 'safe', secretName: 'Token', valueFrom })
    const env = { TOKEN: '@vault(safe/Token)' }
    await world.make(PlatformJob, NAME, { image: 'python', computePlan: 'job-small', env, clusterId: FAR })
    await world.until('its log is kept', async () => {
      const { status } = (await world.find(PlatformJob.resource, NAME)) as unknown as PlatformJob
      return status?.state === 'Succeeded' && status.logParts === 1
    })
    expect(world.engines.startedJobs).to.deep.equal([])
    expect(world.farEngines.startedJobs).to.have.length(1)
    const log = await world.engines.blobs.read({ namespace: HOME, name: jobNames(NAME).log(0) })
    expect(Buffer.from(log?.bytes ?? []).toString()).to.include('TOKEN=hunter2')
    expect(await farSecret(jobNames(NAME).environment), 'values go when the job has ended').to.equal(undefined)
  })

  it('run a SQL instance there with its logins, grow it and give its volume to a new one of the same name', async () => {
    await enter('sqlinstance')
    const spec = { engine: 'MariaDb', storageSize: '10Gi', onDelete: 'Retain', clusterId: FAR }
    await world.make(SqlInstance, NAME, spec)
    await world.until('it is ready', () => world.isReady(SqlInstance, NAME))
    const passwords = decodePasswords(await farSecret(sqlNames(NAME).logins))
    const opens = (password = '') =>
      world.farEngines.sql.accepts(sqlHost(HOME, NAME), { user: SQL_USERS.owner, password })
    expect(opens(passwords?.owner)).to.equal(true)
    await world.change(SqlInstance, NAME, { storageSize: '20Gi' })
    await world.until('it has grown', () => world.isReady(SqlInstance, NAME))
    type Claim = KubeObject & { spec: { resources: { requests: { storage: string } } } }
    const claims = (await world.far.list<Claim>(persistentVolumeClaim)).items
    expect(claims.map(({ spec: { resources } }) => resources.requests.storage)).to.deep.equal(['20Gi'])
    await world.remove(SqlInstance, NAME)
    await world.until('it is gone', () => world.isGone(SqlInstance, NAME))
    await world.make(SqlInstance, NAME, { ...spec, storageSize: '20Gi' })
    await world.until('the namesake is ready', () => world.isReady(SqlInstance, NAME))
    expect(opens(passwords?.owner), 'the engine knows no other passwords').to.equal(true)
  })

  it('report EngineMissing until CloudNativePG is installed on the other cluster', async () => {
    await enter('relationalcluster')
    await world.make(RelationalCluster, NAME, { clusterId: FAR })
    await world.rest()
    expect(await says(RelationalCluster, NAME)).to.match(/^EngineMissing: CloudNativePG is not installed/)
    seedDatabaseEngine(world.far)
    await world.until('it is ready', () => world.isReady(RelationalCluster, NAME))
    const target = await farSecret(relationalNames(NAME).target)
    expect(Object.values(target ?? {}).map(decoded), 'credentials come from here').to.include('key')
  })

  /** Creates a database with these entries for its cluster in the Secret of the backup target. */
  async function seedWithKeyOfCluster(entries: Record<string, string>) {
    await enter('relationalcluster')
    seedDatabaseEngine(world.far)
    world.server.edit(secret, { namespace: SYSTEM_NAMESPACE, name: BACKUP_SECRET }, (object) => {
      object.data = { ...(object.data as object), ...secretData(entries) }
    })
    await world.make(RelationalCluster, NAME, { clusterId: FAR })
  }

  it('copy only the backup credentials that are meant for the cluster', async () => {
    await seedWithKeyOfCluster({ [`access-key-id.${FAR}`]: 'far-id', [`secret-access-key.${FAR}`]: 'far-key' })
    await world.until('it is ready', () => world.isReady(RelationalCluster, NAME))
    const target = await farSecret(relationalNames(NAME).target)
    expect(Object.values(target ?? {}).map(decoded)).to.include.members(['far-id', 'far-key'])
    expect(Object.values(target ?? {}).map(decoded)).to.not.include('key')
  })

  it('copy no backup credentials if the cluster has only half of its own', async () => {
    await seedWithKeyOfCluster({ [`access-key-id.${FAR}`]: 'far-id' })
    await world.pass(1_000)
    expect(await farSecret(relationalNames(NAME).target)).to.equal(undefined)
  })

  it('truncate reports of the other cluster, which may not be trusted', async () => {
    await enter('relationalcluster')
    seedDatabaseEngine(world.far)
    await world.make(RelationalCluster, NAME, { clusterId: FAR, enableLoadBalancer: true })
    await world.until('it is ready', () => world.isReady(RelationalCluster, NAME))
    const services = (await world.far.list<KubeObject & { spec: { type?: string } }>(service)).items
    const [balancer] = services.filter(({ spec }) => spec.type === 'LoadBalancer')
    const ref = { namespace: HOME, name: balancer?.metadata.name ?? '' }
    const ingress = Array.from({ length: 1_000 }, () => ({ hostname: `\u001b[2J${'x'.repeat(1_000)}` }))
    world.far.edit(service, ref, (object) => {
      object.status = { loadBalancer: { ingress } }
    })
    world.touch()
    await world.until('it is told here', async () => {
      const { status } = (await world.find(RelationalCluster.resource, NAME)) as unknown as RelationalCluster
      return status?.externalAddresses?.[0]?.startsWith(' [2Jx') === true && JSON.stringify(status).length < 100_000
    })
  })

  it('create the Backup of a snapshot there and delete it after the database was deleted', async () => {
    await enter('relationalcluster', 'relationalsnapshot')
    seedDatabaseEngine(world.far)
    await world.make(RelationalCluster, NAME, { clusterId: FAR, onDelete: 'Retain' })
    await world.until('it is ready', () => world.isReady(RelationalCluster, NAME))
    await world.make(RelationalSnapshot, SNAPSHOT, { clusterName: NAME, name: 'first' })
    await world.until('it is taken', () => world.isReady(RelationalSnapshot, SNAPSHOT))
    const backups = async (server: World['server']) =>
      (await server.list(postgresqlBackup)).items.map(({ metadata }) => metadata.name)
    expect(await backups(world.far)).to.deep.equal([snapshotBackupName(SNAPSHOT)])
    expect(await backups(world.server)).to.deep.equal([])
    await world.remove(RelationalCluster, NAME)
    await world.until('the database is gone', () => world.isGone(RelationalCluster, NAME))
    expect(await backups(world.far)).to.include(snapshotBackupName(SNAPSHOT))
    await world.remove(RelationalSnapshot, SNAPSHOT)
    await world.until('the snapshot is gone', () => world.isGone(RelationalSnapshot, SNAPSHOT))
    expect(await backups(world.far)).not.to.include(snapshotBackupName(SNAPSHOT))
  })

  it('take snapshots of volumes there, and restore them there only', async () => {
    await enter('relationalcluster', 'relationalsnapshot')
    seedDatabaseEngine(world.far)
    seedSnapshots(world.far)
    await world.make(RelationalCluster, NAME, { clusterId: FAR, storageClass: 'standard' })
    await world.until('it is ready', () => world.isReady(RelationalCluster, NAME))
    await world.make(RelationalSnapshot, SNAPSHOT, { clusterName: NAME, name: 'first', method: 'Volume' })
    await world.until('it is taken', () => world.isReady(RelationalSnapshot, SNAPSHOT))
    expect(await namesIn(world.far, volumeSnapshot)).to.deep.equal([snapshotBackupName(SNAPSHOT)])
    const restoreFrom = { clusterName: NAME, snapshotId: SNAPSHOT }
    await world.make(RelationalCluster, 'here', { storageSize: '20Gi', restoreFrom })
    await world.make(RelationalCluster, 'there', { storageSize: '20Gi', restoreFrom, clusterId: FAR })
    await world.until('it is restored there', () => world.isReady(RelationalCluster, 'there'))
    expect(await says(RelationalCluster, 'here')).to.match(
      /^ConfigurationInvalid: .* of another cluster: set clusterId/,
    )
  })

  it('reject connectTo a database of another cluster', async () => {
    await enter('relationalcluster')
    seedDatabaseEngine(world.far)
    await world.make(RelationalCluster, 'here', {})
    await world.make(RelationalCluster, NAME, { clusterId: FAR, connectTo: 'here' })
    await world.rest()
    expect(await says(RelationalCluster, NAME)).to.match(/^ConfigurationInvalid: connectTo names .* of another cluster/)
  })
})
