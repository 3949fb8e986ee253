import { randomUUID } from 'node:crypto'
import { SecretActivity } from '../../src/adapters/activity/secrets.ts'
import { FakeBackupTargets } from '../../src/adapters/backuptarget/fake.ts'
import { fakeBlobs } from '../../src/adapters/blobs/fake.ts'
import { blobBuildLogs } from '../../src/adapters/buildlogs/client.ts'
import { localActivatorClient } from '../../src/adapters/calls/localActivator.ts'
import { FakeClusterInspector, FakeRoleCeiling } from '../../src/adapters/clusterinspector/fake.ts'
import { noFlows } from '../../src/adapters/flows/client.ts'
import { FakeObjectStore } from '../../src/adapters/objectstorage/fake.ts'
import { FakePodLogs } from '../../src/adapters/podlogs/fake.ts'
import { followedPodLogs } from '../../src/adapters/podlogs/followed.ts'
import { FakeRequestFigures } from '../../src/adapters/prometheus/fake.ts'
import { FakeMetricSource } from '../../src/adapters/prometheus/fakeMetrics.ts'
import { FakeCircuit, FakeSources } from '../../src/adapters/sources/fake.ts'
import { silentEngine } from '../../src/adapters/sql/fake.ts'
import { LocalVolumeFiles } from '../../src/adapters/volumefiles/fake.ts'
import { inlineWorkers } from '../../src/adapters/workers/inline.ts'
import { kubeNamespaces } from '../../src/api/boundaries/namespaces.ts'
import { createAccess } from '../../src/api/callers/access.ts'
import { createGrantRefresher } from '../../src/api/callers/grantRefresher.ts'
import { recordedPrincipals } from '../../src/api/callers/principals.ts'
import { createCrosslinkReports } from '../../src/api/crosslink/reports.ts'
import type { Caller, Services } from '../../src/api/http/context.ts'
import { createFacade, type FacadeOptions } from '../../src/api/http/server.ts'
import { reservedNames, SERVED_ROUTES } from '../../src/api/index.ts'
import { kubeInstallConfiguration } from '../../src/api/lifecycle/configuration.ts'
import { createKubernetesObjects } from '../../src/api/monitoring/kubernetesObjects.ts'
import { createNetworkStateReader } from '../../src/api/network/networkState.ts'
import { Documentation } from '../../src/api/platform/documentation.ts'
import { wholeDocument } from '../../src/api/platform/reference.ts'
import { createBackupCluster } from '../../src/api/platformbackups/cluster.ts'
import { createRecords } from '../../src/api/records/kubeRecords.ts'
import { kubeSecrets, kubeSecretWriter } from '../../src/api/records/secrets.ts'
import { createBackups } from '../../src/api/resources/backups.ts'
import { createCapacity } from '../../src/api/resources/capacity.ts'
import { createLiveState } from '../../src/api/resources/liveState.ts'
import { followRemovals } from '../../src/api/resources/recordTexts.ts'
import { createStorage } from '../../src/api/resources/storage.ts'
import { kubeJournal } from '../../src/api/sources/journal.ts'
import { kubePullSecrets } from '../../src/api/sources/pullSecrets.ts'
import { systemClock } from '../../src/core/clock.ts'
import { PlatformError } from '../../src/core/errors.ts'
import { INCARNATION_ANNOTATION } from '../../src/core/labels.ts'
import { silentLog } from '../../src/core/log.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject, Resource } from '../../src/core/object.ts'
import { parseScope } from '../../src/core/scope.ts'
import { Boundary } from '../../src/crds/boundaries.ts'
import { PlatformCluster } from '../../src/crds/clusters.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { KINDS } from '../../src/crds/index.ts'
import { ComputePlan } from '../../src/crds/plans.ts'
import { RoleAssignment } from '../../src/crds/rbac.ts'
import { ResourceGroup } from '../../src/crds/resourcegroups.ts'
import { scopeObject } from '../../src/crds/scopeObjects.ts'
import { CacheSet } from '../../src/kube/caches.ts'
import type { ListOptions, WriteObserver } from '../../src/kube/client.ts'
import { KubeError } from '../../src/kube/errors.ts'
import { FakeKubeClient } from '../../src/kube/fake.ts'
import { makeAccounts } from '../make/accounts.ts'
import { makeRegistry } from '../make/registry.ts'
import { makeSso } from '../make/sso.ts'
import { makeVaults } from '../make/vaults.ts'

export const CLUSTER = '77777777-7777-4777-8777-777777777777'
/** Found by iterating over all routes. */
const RESERVED_NAMES = new Set(reservedNames())
/** The incarnation of all seeded objects, which grants name. */
const LIFE = { [INCARNATION_ANNOTATION]: 'life' }
const SIZES = { cpuRequest: '500m', cpuLimit: '1', memoryRequest: '2Gi', memoryLimit: '2Gi', storageSize: '20Gi' }

/** The whole facade over an API server in memory: every route, real caches, real decisions. */
export async function startFacade(change: Partial<FacadeOptions> = {}, services: Partial<Services> = {}) {
  const late: { observer?: WriteObserver } = {}
  const client = new FakeKubeClient({
    observer: {
      written: (...given) => late.observer?.written(...given),
      read: (...given) => late.observer?.read?.(...given),
      removed: (...given) => late.observer?.removed(...given),
    },
  })
  const put = (kind: AnyKind, name: string, spec: object, namespace?: string) =>
    client.seed(kind.resource, {
      apiVersion: kind.apiVersion,
      kind: kind.kind,
      metadata: { name, annotations: { ...LIFE }, ...(namespace !== undefined && { namespace }) },
      spec: kind.spec.parse(spec),
    })
  put(PlatformCluster, CLUSTER, { displayName: 'Own', region: 'north', domain: 'example.test', isPlatform: true })
  put(ComputePlan, 'vector-dev', {
    family: 'Vector',
    displayName: 'Development',
    ...SIZES,
    storageSize: '5Gi',
    isDefault: true,
  })
  put(ComputePlan, 'vector-medium', {
    family: 'Vector',
    displayName: 'Medium',
    ...SIZES,
    memoryRequest: '4Gi',
    memoryLimit: '4Gi',
    replicas: 3,
  })
  put(ComputePlan, 'vector-old', { family: 'Vector', displayName: 'Old', ...SIZES, deprecated: true })
  put(ComputePlan, 'app-small', { family: 'App', displayName: 'App', ...SIZES })
  const more: Awaited<ReturnType<typeof serve>>[] = []
  const far = new FakeKubeClient()
  const first = await serve({ client, far }, change, services)
  const { caches } = first
  late.observer = caches.observer()
  const grant = (principalId: string, roleDefinitionName: string, scope: string) => {
    const boundaryId = /^\/boundaries\/([^/]+)/.exec(scope)?.[1]
    const namespace = boundaryId === undefined ? SYSTEM_NAMESPACE : boundaryNamespace(boundaryId)
    const place = parseScope(scope)
    const target = place === undefined ? undefined : scopeObject(place)
    const there = target && caches.get(target.resource).get(target.namespace, target.name)
    const scopeIncarnation = (there?.metadata.annotations ?? LIFE)[INCARNATION_ANNOTATION]
    const ofLife = boundaryId === undefined ? {} : { scopeIncarnation }
    const spec = { principalId, principalType: 'User', roleDefinitionName, scope, ...ofLife }
    const object = put(RoleAssignment, randomUUID(), spec, namespace)
    caches.get(RoleAssignment.resource).observeWrite(object)
  }
  const show = (kind: AnyKind, object: ReturnType<typeof put>) => {
    caches.get(kind.resource).observeWrite(object)
    return object
  }
  return {
    app: first.app,
    facade: first.facade,
    client,
    /** The API server of every other cluster. */
    far,
    caches,
    /** A second facade over the same API server, which learns of the first one's writes by its watches. */
    async another() {
      const next = await serve({ client, far }, change, services)
      more.push(next)
      return next.app
    },
    put: (kind: AnyKind, name: string, spec: object, namespace?: string) =>
      show(kind, put(kind, name, spec, namespace)),
    grant,
    boundary(id: string, spec: object = {}) {
      show(Boundary, put(Boundary, id, { displayName: 'Shop', ...spec }))
    },
    group(boundaryId: string, name: string, spec: object = {}) {
      show(ResourceGroup, put(ResourceGroup, name, spec, boundaryNamespace(boundaryId)))
    },
    async stop() {
      await Promise.all([first, ...more].map((each) => each.stop()))
    },
  }
}

/** Like an API server that lacks the optional types without objects. */
function withoutOptional(client: FakeKubeClient) {
  return {
    get: client.get.bind(client) as FakeKubeClient['get'],
    list: async <T extends KubeObject>(resource: Resource, options?: ListOptions) => {
      const found = await client.list<T>(resource, options)
      if (resource.optional !== true || found.items.length > 0) return found
      throw new KubeError('NotServed', 'There is no such type.', { status: 404 })
    },
  }
}

/** A facade with caches of its own over an API server. */
async function serve(
  { client, far }: { client: FakeKubeClient; far: FakeKubeClient },
  change: Partial<FacadeOptions>,
  services: Partial<Services>,
) {
  const caches = new CacheSet({ client })
  for (const kind of KINDS) caches.add(kind.resource)
  const refresher = createGrantRefresher({ client, caches, clock: systemClock })
  const access = createAccess({ caches, clock: systemClock, log: silentLog, refresher })
  caches.start()
  await caches.whenAllSynced()
  followRemovals(caches)
  const engine = new Proxy({}, { get: () => () => Promise.reject(new PlatformError('UPSTREAM_FAILED', 'no engine')) })
  const records = createRecords({ client, caches })
  const facade = createFacade({
    routes: SERVED_ROUTES,
    tokens: { verify: async (header) => callerOf(header) },
    log: silentLog,
    checkReplies: true,
    ...change,
    limits: { refusalDelay: 0, ...change.limits },
    services: {
      records,
      principals: recordedPrincipals(records),
      access,
      clock: systemClock,
      log: silentLog,
      reservedNames: RESERVED_NAMES,
      namespaces: kubeNamespaces(client),
      documentation: new Documentation('0', {}),
      wholeDocument: wholeDocument(async () => '{"openapi":"3.1.0"}'),
      capacity: createCapacity(caches, systemClock),
      storage: createStorage(caches),
      backups: createBackups(caches, 'velero', () => far),
      live: createLiveState({ client, caches, clientOf: () => far }),
      relational: {
        engine: silentEngine,
        secrets: kubeSecrets(client),
        blobs: fakeBlobs(),
        allowOwnImages: false,
        hasBackupTarget: true,
      },
      clusters: { gate: { serverUrl: 'https://hub.test', caPem: 'PEM', caFingerprint: '00' } },
      vector: { engine: engine as never, secrets: kubeSecrets(client), allowOwnImages: false },
      vaults: makeVaults(),
      sql: {
        engines: { MsSql: silentEngine, MariaDb: silentEngine },
        secrets: kubeSecrets(client),
        secretWriter: kubeSecretWriter(client),
        blobs: fakeBlobs(),
      },
      accounts: makeAccounts().accounts,
      objectStorage: { store: new FakeObjectStore(), secrets: kubeSecrets(client) },
      requestFigures: new FakeRequestFigures([], { from: 0, to: Number.POSITIVE_INFINITY }),
      monitoring: {
        metrics: new FakeMetricSource(),
        objects: createKubernetesObjects({ client, caches, clientOf: () => far }),
      },
      jobs: { blobs: fakeBlobs() },
      crosslink: {
        reports: createCrosslinkReports(client),
        secrets: { ...kubeSecrets(client), ...kubeSecretWriter(client) },
      },
      network: {
        stateReader: createNetworkStateReader(withoutOptional(client), () => withoutOptional(far)),
        flows: noFlows,
      },
      functions: { blobs: fakeBlobs(), calls: localActivatorClient(() => undefined) },
      deployments: { logs: blobBuildLogs(fakeBlobs()), archives: undefined, podOf: () => undefined },
      activity: new SecretActivity(new FakeKubeClient()),
      bugReports: { blobs: fakeBlobs() },
      podLogs: followedPodLogs(new FakePodLogs(), { clock: systemClock, isAlive: () => false }),
      volumeFiles: new LocalVolumeFiles(),
      workers: inlineWorkers,
      sso: makeSso().sso,
      blueprints: { secrets: { ...kubeSecrets(client), ...kubeSecretWriter(client) } },
      sources: {
        port: new FakeSources(),
        circuit: new FakeCircuit(),
        secrets: { ...kubeSecrets(client), ...kubeSecretWriter(client) },
        pullSecrets: kubePullSecrets(client),
        journal: kubeJournal(client),
        allowedHosts: [],
        baseUrl: 'https://platform.example.com',
      },
      registry: makeRegistry().service,
      platformBackups: {
        cluster: createBackupCluster(client, 'velero'),
        targets: new FakeBackupTargets(),
        logs: { all: async () => new Map() },
        secrets: { ...kubeSecrets(client), ...kubeSecretWriter(client), remove: async () => {} },
      },
      rollouts: { inspector: new FakeClusterInspector(), ceiling: new FakeRoleCeiling(), version: '1.0.0' },
      lifecycle: { configuration: kubeInstallConfiguration(client) },
      managedIdentities: {
        secrets: kubeSecrets(client),
        signIn: { tokenUrl: 'https://id.test/token', audience: 'platform', realm: 'test' },
      },
      protectedResource: { address: 'https://api.test', issuer: 'https://id.test/realms/test' },
      platform: {
        version: '1.2.3',
        commit: 'abc',
        builtAt: '2026-01-01T00:00:00Z',
        kubernetesVersion: 'v1.36.3',
        simulated: [],
        readiness: [],
      },
      ...services,
    },
  })
  return {
    app: facade.app,
    facade,
    caches,
    async stop() {
      access.stop()
      await caches.stopAll()
      await facade.stop(10)
    },
  }
}

export function bearer(principalId: string): string {
  return `Bearer ${principalId}`
}

/** In these tests a token is the principal's id itself. */
function callerOf(header: string | undefined): Caller {
  const principalId = /^Bearer ([0-9a-f-]{36})$/.exec(header ?? '')?.[1]
  if (principalId === undefined) throw new PlatformError('UNAUTHORIZED', 'A bearer token is required.')
  return { principalId, principalType: 'User', expiresAt: Number.POSITIVE_INFINITY }
}
