import { expect } from 'chai'
import { silentProgress } from '../../scripts/controlplane/index.ts'
import type { ProcessGroup } from '../../scripts/controlplane/processes.ts'
import { installRelationalEngine } from '../../scripts/node/relationalEngine.ts'
import { groupNamespace } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { persistentVolumeClaim } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { volumeSnapshot, volumeSnapshotClass } from '../../src/kube/velero.ts'
import { expectCall, makeBoundary, makeGroup, until } from '../worlds/platform.ts'
import { administrator, testPlatform } from '../worlds/tenant.ts'
import { installBackupStore } from './backupStore.ts'
import { installRelationalBackups } from './barmanPlugin.ts'
import { DRIVER, installSnapshots, SNAPSHOTTABLE } from './csi.ts'
import { type Databases, databasesIn } from './databases.ts'
import { testNode } from './shell.ts'

type Snapshot = { id: string; method: string; sizeBytes: number | null }
const CLASS = { namespace: undefined, name: 'of-databases' }

/** @backups The engine, its volumes and their snapshots are real. */
describe('snapshots of the volumes of a relational database, on a node', () => {
  let client: KubeClient
  let storage: ProcessGroup
  let namespace: string
  let base: string
  let path: string
  let databases: Databases
  let snapshot: string

  before(async () => {
    client = await administrator()
    const home = { node: await testNode(), client, kubectl: testPlatform().kubectlPath }
    const search = { progress: silentProgress, signal: undefined }
    await installBackupStore(client)
    // The engine looks for the types of snapshots only when it starts.
    storage = await installSnapshots(client, search)
    const version = await installRelationalEngine(home, search)
    await installRelationalBackups(home, search)
    await client.create(volumeSnapshotClass, {
      apiVersion: 'snapshot.storage.k8s.io/v1',
      kind: 'VolumeSnapshotClass',
      metadata: { name: CLASS.name },
      driver: DRIVER,
      deletionPolicy: 'Delete',
    } as KubeObject)
    const { id } = await makeBoundary()
    const group = (await makeGroup(id)).name
    namespace = groupNamespace(id, group)
    base = `/boundaries/${id}/resourcegroups/${group}/resources/relationalclusters`
    path = `${base}/orders`
    databases = databasesIn({ client, namespace, version })
    const spec = { databaseName: 'shop', engineVersion: version, storageClass: SNAPSHOTTABLE, storageSize: '2Gi' }
    await expectCall(201, 'POST', path, spec)
    await databases.untilServed(path)
  })
  after(async () => {
    await client?.remove(volumeSnapshotClass, CLASS)
    await client?.close()
    await storage?.stop()
  })

  const rowsOf = async (of: string) => (await databases.ask(of, 'SELECT id FROM kept ORDER BY id')).split('\n')
  const taken = async () => (await client.list(volumeSnapshot, { namespace })).items

  it('are taken while the database is written to', async () => {
    await databases.ask(path, 'CREATE TABLE kept (id INT PRIMARY KEY); INSERT INTO kept VALUES (1)')
    snapshot = await databases.snapshotOf(path, { name: 'volumes', method: 'Volume' })
    expect(await taken()).to.have.length(1)
    const { body } = await expectCall<{ items: Snapshot[] }>(200, 'GET', `${path}/snapshots`)
    const found = body.items.find(({ id }) => id === snapshot)
    expect(found?.method).to.equal('Volume')
    expect(found?.sizeBytes).to.be.greaterThan(0)
    await databases.ask(path, 'INSERT INTO kept VALUES (2)')
  })

  it('are restored from, to their own end', async () => {
    await expectCall(202, 'POST', `${path}/snapshots/${snapshot}/restore`, { newName: 'restored' })
    await databases.untilServed(`${base}/restored`)
    expect(await rowsOf(`${base}/restored`)).to.deep.equal(['1'])
  })

  it('are restored from, to a later time', async () => {
    const targetTime = new Date().toISOString()
    await until('that time is over', async () => Date.now() > Date.parse(targetTime) + 1_000)
    await databases.ask(path, 'INSERT INTO kept VALUES (3)')
    await expectCall(202, 'POST', `${path}/snapshots/${snapshot}/restore`, { newName: 'later', targetTime })
    await databases.untilServed(`${base}/later`)
    expect(await rowsOf(`${base}/later`)).to.deep.equal(['1', '2'])
    expect(await rowsOf(path)).to.deep.equal(['1', '2', '3'])
  })

  it('are deleted with their record', async () => {
    for (const name of ['restored', 'later']) await expectCall(202, 'DELETE', `${base}/${name}`)
    await expectCall(204, 'DELETE', `${path}/snapshots/${snapshot}?force=true`)
    await until('there is no VolumeSnapshot', async () => (await taken()).length === 0)
    // The driver cannot be stopped while volumes are mounted.
    await expectCall(202, 'DELETE', path)
    const claims = () => client.list(persistentVolumeClaim, { namespace })
    await until('there is no claim', async () => (await claims()).items.length === 0)
  })
})
