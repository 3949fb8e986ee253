import { readFileSync } from 'node:fs'
import { loadAll } from 'js-yaml'
import { silentEngine } from '../../src/adapters/sql/fake.ts'
import type { SqlEngine } from '../../src/adapters/sql/port.ts'
import { RELATIONAL_CONTROLLERS } from '../../src/controllers/relational/index.ts'
import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import { type KubeObject, resourceId } from '../../src/core/object.ts'
import { PlatformCluster } from '../../src/crds/clusters.ts'
import { DEFAULT_PLANS } from '../../src/crds/defaultPlans.ts'
import { ComputePlan } from '../../src/crds/plans.ts'
import { RelationalCluster } from '../../src/crds/relational.ts'
import { RelationalSnapshot } from '../../src/crds/relationalSnapshots.ts'
import { customResourceDefinition, secret, storageClass } from '../../src/kube/builtin.ts'
import { postgresqlBackup, postgresqlCluster } from '../../src/kube/postgresql.ts'
import { volumeSnapshot, volumeSnapshotClass } from '../../src/kube/velero.ts'
import type { TARGET } from '../make/relational.ts'
import { ControllerBench } from './controllers.ts'

const FILE = new URL('../../deploy/played/cloudnative-pg.yaml', import.meta.url)
const DEFINITIONS = (loadAll(readFileSync(FILE, 'utf8')) as KubeObject[]).map((definition) => ({
  ...definition,
  status: { conditions: [{ type: 'Established', status: 'True' }] },
}))
export const SNAPSHOT = 'f0854e45-9295-490e-92af-fd60a52b56f3'

type Status = {
  status?: string
  phase?: string
  statusMessage?: string
  archiving?: string
  [field: string]: unknown
}

/** A group with the default plans; `engine` lists what is installed of the engine. */
export class RelationalWorld {
  readonly bench: ControllerBench
  home = ''

  constructor({
    target,
    engine = silentEngine,
  }: { target?: typeof TARGET; engine?: Partial<Pick<SqlEngine, 'admit' | 'run'>> } = {}) {
    let made = 0
    const generatePassword = () => (made++ === 0 ? 'made-once' : `made-${made}`)
    this.bench = new ControllerBench(
      RELATIONAL_CONTROLLERS.map((each) =>
        each({ engine: { ...silentEngine, ...engine }, allowOwnImages: false, backupTarget: target, generatePassword }),
      ),
    )
  }

  async start(engine: 'all' | 'none' | 'no plugin' = 'all'): Promise<this> {
    const { bench } = this
    this.home = bench.seedGroup('shop').groupSpace
    for (const [name, spec] of Object.entries(DEFAULT_PLANS)) bench.seed(ComputePlan, name, spec)
    const here = { displayName: 'here', region: '', domain: 'example.test', isPlatform: true }
    bench.seed(PlatformCluster, '22222222-2222-4222-8222-222222222222', here)
    bench.client.seed(secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'freehold-backup-target', namespace: SYSTEM_NAMESPACE },
      data: { 'access-key-id': 'aWQ=', 'secret-access-key': 'a2V5' },
    })
    if (engine !== 'none') this.install(engine === 'all')
    await bench.start()
    return this
  }

  install(withPlugin = true): void {
    for (const definition of DEFINITIONS) {
      if (withPlugin || !definition.metadata.name.includes('barman'))
        this.bench.client.seed(customResourceDefinition, definition)
    }
  }

  /** An administrator installs a driver that takes snapshots of volumes, and makes its class the default. */
  installSnapshots(): void {
    const { client } = this.bench
    client.seed(storageClass, {
      ...{ apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', provisioner: 'disks.example.com' },
      metadata: { name: 'disks', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
    })
    for (const resource of [volumeSnapshotClass, volumeSnapshot])
      client.seed(customResourceDefinition, {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: resourceId(resource) },
        spec: { versions: [{ name: 'v1', served: true }] },
        status: { conditions: [{ type: 'Established', status: 'True' }] },
      })
    client.seed(volumeSnapshotClass, {
      ...{ apiVersion: 'snapshot.storage.k8s.io/v1', kind: volumeSnapshotClass.kind, driver: 'disks.example.com' },
      metadata: { name: 'disk-snapshots' },
    })
  }

  /** CloudNativePG's VolumeSnapshot of a volume. */
  volumeSnapshot(name: string, restoreSize: string): void {
    this.bench.client.seed(volumeSnapshot, {
      ...{ apiVersion: 'snapshot.storage.k8s.io/v1', kind: volumeSnapshot.kind },
      metadata: { name, namespace: this.home },
      status: { restoreSize },
    })
  }

  database(name: string, spec: object = {}): void {
    this.bench.seed(RelationalCluster, name, RelationalCluster.spec.parse(spec), { namespace: this.home })
  }

  async status(name: string, kind = RelationalCluster as { resource: typeof RelationalCluster.resource }) {
    const found = await this.bench.find(kind.resource, name, this.home)
    return (found?.status ?? {}) as Status
  }

  /** CloudNativePG's status of a Cluster. */
  async play(name: string, status: object = {}): Promise<void> {
    const found = await this.bench.find<KubeObject & { spec: { instances: number; imageName: string } }>(
      postgresqlCluster,
      `relc-${name}`,
      this.home,
    )
    const healthy = {
      phase: 'Cluster in healthy state',
      instances: found?.spec.instances,
      readyInstances: found?.spec.instances,
      image: found?.spec.imageName,
      currentPrimary: `relc-${name}-1`,
    }
    const patch = { status: { ...healthy, ...status } }
    const ref = { namespace: this.home, name: `relc-${name}` }
    await this.bench.client.mergePatch(postgresqlCluster, ref, patch, { subresource: 'status' })
    await this.bench.rest()
  }

  async change(name: string, spec: object): Promise<void> {
    await this.bench.client.mergePatch(RelationalCluster.resource, { namespace: this.home, name }, { spec })
    await this.bench.rest()
  }

  async snapshot(clusterName: string, spec: object = {}, id = SNAPSHOT): Promise<void> {
    const full = RelationalSnapshot.spec.parse({ clusterName, name: 'first', ...spec })
    this.bench.seed(RelationalSnapshot, id, full, { namespace: this.home })
    await this.bench.rest()
  }

  async completeBackup(status: object = {}, id = SNAPSHOT): Promise<void> {
    const ref = { namespace: this.home, name: `rsnap-${id}` }
    const done = {
      phase: 'completed',
      backupId: 'b1',
      startedAt: '2026-01-01T00:00:00Z',
      stoppedAt: '2026-01-01T00:01:00Z',
    }
    await this.bench.client.mergePatch(
      postgresqlBackup,
      ref,
      { status: { ...done, ...status } },
      { subresource: 'status' },
    )
    await this.bench.rest()
  }
}
