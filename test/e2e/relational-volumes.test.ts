// @inTurn plain: installs the types of CSI snapshots in the cluster.
import { expect } from 'chai'
import { relationalNames, snapshotBackupName } from '../../src/contracts/relational.ts'
import { groupNamespace } from '../../src/core/names.ts'
import type { KubeObject, Resource } from '../../src/core/object.ts'
import { RelationalCluster } from '../../src/crds/relational.ts'
import { RelationalSnapshot } from '../../src/crds/relationalSnapshots.ts'
import { customResourceDefinition, namespace as namespaces, storageClass } from '../../src/kube/builtin.ts'
import { installManifests } from '../../src/kube/crds.ts'
import { absent } from '../../src/kube/errors.ts'
import { postgresqlBackup, postgresqlCluster } from '../../src/kube/postgresql.ts'
import { volumeSnapshot, volumeSnapshotClass } from '../../src/kube/velero.ts'
import { gatewayApiIsMissing } from '../cluster/gatewayApi.ts'
import { borrowPlatform, giveBack } from '../cluster/lent.ts'
import type { OwnPlatform } from '../cluster/platform.ts'
import { genuine, genuinePostgresqlDefinitions } from '../cluster/postgresqlTypes.ts'
import { snapshotDefinitions } from '../cluster/velero.ts'
import { until } from '../make/until.ts'
import { makeFleet, objectOf } from '../worlds/fleet.ts'
import { callOwn } from '../worlds/ownFacade.ts'

const CLASS = 'snapshotted'
const ID = 'f0854e45-9295-490e-92af-fd60a52b56f3'
type Snapshot = { id: string; status: string; statusMessage: string; method: string; sizeBytes: number | null }

/** The types of CSI snapshots are those of their release; the engine is simulated, and so is what it would take. */
describe('snapshots of the volumes of relational databases', () => {
  let own: OwnPlatform
  let home: string
  let group: string
  before(async function () {
    const missing = gatewayApiIsMissing()
    if (missing !== undefined) {
      console.log(`    skipped: ${missing}`)
      this.skip()
    }
    own = await borrowPlatform('plain')
    await own.startOperator()
    const fleet = await makeFleet(own.admin, { groups: 2, databases: 0 })
    home = fleet.namespaces[0] ?? ''
    const { metadata } = await own.admin.get(namespaces, { name: home })
    const boundaryId = metadata.labels?.['freehold.dev/boundary'] ?? ''
    const name = metadata.labels?.['freehold.dev/resource-group'] ?? ''
    expect(groupNamespace(boundaryId, name)).to.equal(home)
    group = `/boundaries/${boundaryId}/resourcegroups/${name}`
    const driver = 'snapshotted.example.com'
    await own.admin.create(storageClass, classOf(storageClass, { provisioner: driver }))
    await call(201, 'POST', at('orders'), { storageClass: CLASS })
    await reaches('orders', 'Running')
  })
  after(async () => {
    for (const resource of [volumeSnapshotClass, storageClass])
      await own?.admin.remove(resource, { name: CLASS }).catch(absent)
    for (const { metadata } of own === undefined ? [] : await genuinePostgresqlDefinitions())
      await own.admin.remove(customResourceDefinition, { name: metadata.name }).catch(absent)
    await giveBack(own)
  })

  const classOf = ({ group: of, version, kind }: Resource, fields: object): KubeObject => ({
    ...{ apiVersion: `${of}/${version}`, kind, metadata: { name: CLASS } },
    ...fields,
  })
  const at = (name: string) => `${group}/resources/relationalclusters/${name}`
  async function call<T>(status: number, ...[method, path, body]: [string, string, object?]): Promise<T> {
    const answer = await callOwn(own, method, path, body)
    if (answer.status !== status) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`)
    return answer.body as T
  }
  const code = async (path: string, body: object) => (await callOwn(own, 'POST', path, body)).body?.code
  const reaches = (name: string, status: string) =>
    until(`${name} is ${status}`, async () => {
      const found = await call<{ status: string; statusMessage: string }>(200, 'GET', at(name))
      if (found.status === status) return found
      throw new Error(`${found.status}: ${found.statusMessage}`)
    })
  const completed = (id: string) =>
    until('the snapshot is completed', async () => {
      const { items } = await call<{ items: Snapshot[] }>(200, 'GET', `${at('orders')}/snapshots?sort=-sizeBytes`)
      const found = items.find((one) => one.id === id)
      if (found?.status === 'Completed') return found
      throw new Error(`${found?.status}: ${found?.statusMessage}`)
    })
  type Engine = KubeObject & { spec: Record<string, unknown> & { bootstrap: { recovery: object } } }
  const engine = (name: string) =>
    own.admin.get<Engine>(postgresqlCluster, { namespace: home, name: relationalNames(name).cluster })

  it('are refused without a VolumeSnapshotClass, also to kubectl', async () => {
    expect(await code(`${at('orders')}/snapshots`, { method: 'Volume' })).to.equal('SNAPSHOT_CLASS_MISSING')
    const spec = { clusterName: 'orders', name: 'by-kubectl', method: 'Volume' }
    await own.admin.create(RelationalSnapshot.resource, objectOf(RelationalSnapshot, ID, home, spec))
    await until('it says so', async () => {
      const { status } = await own.admin.get(RelationalSnapshot.resource, { namespace: home, name: ID })
      return JSON.stringify(status ?? {}).includes('no VolumeSnapshotClass')
    })
    expect((await engine('orders')).spec).to.not.have.property('backup')
  })

  it('are taken once there is one, and show the size that the driver reports', async () => {
    await installManifests(own.admin, await snapshotDefinitions())
    await own.admin.create(volumeSnapshot, {
      ...{ apiVersion: 'snapshot.storage.k8s.io/v1', kind: volumeSnapshot.kind },
      metadata: { namespace: home, name: snapshotBackupName(ID) },
      spec: { source: { persistentVolumeClaimName: 'relc-orders-1' } },
    } as KubeObject)
    const ref = { namespace: home, name: snapshotBackupName(ID) }
    const status = { restoreSize: '6Gi', readyToUse: true }
    await own.admin.mergePatch(volumeSnapshot, ref, { status }, { subresource: 'status' })
    const fields = { driver: 'snapshotted.example.com', deletionPolicy: 'Delete' }
    await own.admin.create(volumeSnapshotClass, classOf(volumeSnapshotClass, fields))
    expect(await completed(ID)).to.include({ method: 'Volume', sizeBytes: 6 * 2 ** 30 })
    const volumes = { className: CLASS, online: true, snapshotOwnerReference: 'backup' }
    expect((await engine('orders')).spec.backup).to.deep.equal({ volumeSnapshot: volumes })
    const { id } = await until('REST takes one', async () => {
      const { status: answer, body } = await callOwn(own, 'POST', `${at('orders')}/snapshots`, { method: 'Volume' })
      return answer === 202 && (body as Snapshot)
    })
    expect(await completed(id)).to.include({ method: 'Volume', sizeBytes: null })
  })

  it('are restored from, by REST and by kubectl, in the same group', async () => {
    const restore = `${at('orders')}/snapshots/${ID}/restore`
    expect(await code(restore, { newName: 'copy', storageSize: '5Gi' })).to.equal('STORAGE_CANNOT_SHRINK')
    const { items } = await call<{ items: { name: string }[] }>(200, 'GET', group.replace(/\/[^/]+$/, ''))
    const elsewhere = items.map(({ name }) => name).find((name) => !group.endsWith(`/${name}`))
    expect(await code(restore, { newName: 'copy', resourceGroup: elsewhere })).to.equal('FEATURE_UNSUPPORTED')
    await call(202, 'POST', restore, { newName: 'copy' })
    await reaches('copy', 'Running')
    const source = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: snapshotBackupName(ID) }
    const { bootstrap, storage } = (await engine('copy')).spec
    expect(bootstrap.recovery).to.deep.include({ volumeSnapshots: { storage: source } })
    expect(storage).to.deep.include({ size: '6Gi', storageClass: CLASS })
    const restoreFrom = { clusterName: 'orders', snapshotId: ID }
    for (const [name, storageSize] of [
      ['small', '5Gi'],
      ['twin', '8Gi'],
    ] as const) {
      const spec = { storageSize, restoreFrom }
      await own.admin.create(RelationalCluster.resource, objectOf(RelationalCluster, name, home, spec))
    }
    await reaches('twin', 'Running')
    expect((await reaches('small', 'Failed')).statusMessage).to.match(/at least 6Gi; 5Gi is less/)
    expect((await callOwn(own, 'DELETE', `${at('orders')}/snapshots/${ID}`)).body?.code).to.equal('IN_USE')
    await own.admin.remove(RelationalCluster.resource, { namespace: home, name: 'small' })
    await until('it is gone', async () => (await callOwn(own, 'GET', at('small'))).status === 404)
  })

  it("are written as CloudNativePG's own types accept them", async () => {
    await installManifests(own.admin, await genuinePostgresqlDefinitions())
    for (const [resource, name] of [
      [postgresqlCluster, relationalNames('orders').cluster],
      [postgresqlCluster, relationalNames('copy').cluster],
      [postgresqlBackup, snapshotBackupName(ID)],
    ] as const) {
      const [type, object] = genuine(resource, await own.admin.get(resource, { namespace: home, name }))
      await own.admin.create(type, object, { dryRun: true })
      const unknown = { ...object, spec: { ...(object.spec as object), nothing: true } }
      const error = await own.admin.create(type, unknown, { dryRun: true }).catch((thrown: unknown) => thrown)
      expect(String(error), 'the schema is a strict one').to.match(/nothing/)
    }
  })

  it('are deleted with what the engine took', async () => {
    const backup = { namespace: home, name: snapshotBackupName(ID) }
    const { apiVersion, kind, metadata } = await own.admin.get(postgresqlBackup, backup)
    // As the engine does where the Cluster says so.
    const ownerReferences = [{ apiVersion, kind, name: metadata.name, uid: metadata.uid }]
    await own.admin.mergePatch(volumeSnapshot, backup, { metadata: { ownerReferences } })
    await call(204, 'DELETE', `${at('orders')}/snapshots/${ID}`)
    await until('the VolumeSnapshot is gone', async () => {
      return (await own.admin.get(volumeSnapshot, backup).catch(absent)) === undefined
    })
  })
})
