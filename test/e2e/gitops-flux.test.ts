import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { dump } from 'js-yaml'
import { tailOf } from '../../scripts/controlplane/processes.ts'
import { boundaryNamespace, groupNamespace } from '../../src/core/names.ts'
import { reservedNamespaceObject } from '../../src/core/namespaces.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { Boundary } from '../../src/crds/boundaries.ts'
import { ResourceGroup } from '../../src/crds/resourcegroups.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import { namespace } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import { isFluxBuilt, kustomization, type RunningFlux, startFlux } from '../cluster/flux.ts'
import { TEST_CONFIG } from '../config.ts'
import { until } from '../make/until.ts'
import { administrator, testPlatform } from '../worlds/tenant.ts'

type Condition = { type: string; status: string; reason: string; message: string; observedGeneration?: number }
type Synced = KubeObject & { status?: { conditions?: Condition[]; lastAppliedRevision?: string } }

const BOUNDARY = 'f1b2c3d4-0a1b-4c2d-8e3f-405162738495'
const HOME = boundaryNamespace(BOUNDARY)
const SPACE = groupNamespace(BOUNDARY, 'reading')
const SYNC = { namespace: 'default', name: 'tenant' }

/** The kustomize-controller takes minutes to build if it is not cached: `npm run faults` does. */
describe('Flux, the real kustomize-controller with a simulated source', () => {
  let admin: KubeClient
  let folder: string
  let flux: RunningFlux
  let revision: string

  const manifest = (kind: typeof Boundary | typeof ResourceGroup | typeof VectorCluster, metadata: object, spec = {}) =>
    dump({ apiVersion: kind.apiVersion, kind: kind.kind, metadata, spec })
  const tree = (replicas: number | undefined, displayName = 'Umbrella') => ({
    'a-database.yaml':
      replicas === undefined
        ? ''
        : manifest(VectorCluster, { name: 'articles', namespace: SPACE }, { computePlan: 'vector-dev', replicas }),
    'b-group.yaml': manifest(ResourceGroup, { name: 'reading', namespace: HOME }),
    'c-boundary.yaml': manifest(Boundary, { name: BOUNDARY }, { displayName }),
    'd-namespaces.yaml': [
      dump(reservedNamespaceObject({ for: 'Boundary', name: HOME })),
      dump(reservedNamespaceObject({ for: 'ResourceGroup', name: SPACE })),
    ].join('---\n'),
  })
  const database = { namespace: SPACE, name: 'articles' }
  const synced = () =>
    until('Flux says that all is healthy', async () => {
      const found = await admin.get<Synced>(kustomization, SYNC)
      const ready = found.status?.conditions?.find(({ type }) => type === 'Ready')
      const isCurrent = ready?.status === 'True' && ready.message.includes(revision)
      if (!isCurrent) throw new Error(`${ready?.message ?? 'nothing said'}\n${tailOf(flux.logFile, 3)}`)
      return found
    })
  before(async function () {
    if (TEST_CONFIG.sized(0, 1) !== 1 && !(await isFluxBuilt())) {
      console.log('    skipped: the kustomize-controller of Flux is not built; `npm run faults` builds it')
      this.skip()
    }
    admin = await administrator()
    folder = await mkdtemp(join(tmpdir(), 'freehold-flux-'))
    flux = await startFlux({ client: admin, kubeconfig: testPlatform().kubeconfig, folder, ...SYNC })
    revision = await flux.push(tree(1))
    await until('the kind is served', () =>
      admin
        .apply(
          kustomization,
          {
            apiVersion: 'kustomize.toolkit.fluxcd.io/v1',
            kind: 'Kustomization',
            metadata: SYNC,
            spec: {
              interval: '5m',
              retryInterval: '2s',
              timeout: '2m',
              path: './',
              prune: true,
              wait: true,
              sourceRef: { kind: 'GitRepository', name: SYNC.name },
            },
          } as KubeObject,
          { force: true },
        )
        .then(() => true),
    )
  })
  after(async () => {
    await flux?.stop()
    await admin?.close()
    if (folder !== undefined) await rm(folder, { recursive: true, force: true })
  })

  it('syncs a tree of all kinds, and waits until it is ready', async () => {
    await synced()
    const { spec, status } = await admin.get<KubeObject>(VectorCluster.resource, database)
    expect(spec).to.include({ replicas: 1 })
    expect(status).to.include({ status: 'Running' })
    expect((await admin.get(namespace, { name: SPACE })).metadata.labels).to.include({
      'freehold.dev/owner-kind': 'ResourceGroup',
    })
  })

  it('changes nothing at the next sync', async () => {
    const before = await admin.get(VectorCluster.resource, database)
    const requestedAt = new Date().toISOString()
    await admin.mergePatch(kustomization, SYNC, {
      metadata: { annotations: { 'reconcile.fluxcd.io/requestedAt': requestedAt } },
    })
    await until('Flux has looked again', async () => {
      const { status } = await admin.get<KubeObject>(kustomization, SYNC)
      return (status as { lastHandledReconcileAt?: string }).lastHandledReconcileAt === requestedAt
    })
    await synced()
    expect((await admin.get(VectorCluster.resource, database)).metadata.generation).to.equal(before.metadata.generation)
  })

  it('applies a change of the tree', async () => {
    revision = await flux.push(tree(2, 'Umbrella and sons'))
    await synced()
    const boundary = await admin.get(Boundary.resource, { name: BOUNDARY })
    expect(boundary.spec).to.include({ displayName: 'Umbrella and sons' })
    expect((await admin.get(VectorCluster.resource, database)).spec).to.include({ replicas: 2 })
  })

  it('prunes objects removed from the tree, and keeps the rest', async () => {
    revision = await flux.push(tree(undefined, 'Umbrella and sons'))
    await synced()
    await until('the database is deleted', () => isGone(admin.get(VectorCluster.resource, database)))
    expect((await admin.get(namespace, { name: SPACE })).status).to.include({ phase: 'Active' })
  })

  it('prunes everything with the Kustomization, including boundary and namespaces', async () => {
    await admin.remove(kustomization, SYNC)
    for (const name of [SPACE, HOME]) await until(`${name} is gone`, () => isGone(admin.get(namespace, { name })))
    await until('the boundary is deleted', () => isGone(admin.get(Boundary.resource, { name: BOUNDARY })))
    await until('Flux has let go', () => isGone(admin.get(kustomization, SYNC)))
  })
})

async function isGone(read: Promise<unknown>): Promise<boolean> {
  return read.then(
    () => false,
    (error) => {
      if (isKubeError(error, 'NotFound')) return true
      throw error
    },
  )
}
