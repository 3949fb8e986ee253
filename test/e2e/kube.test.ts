import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { OWNER_INCARNATION_ANNOTATION } from '../../src/core/labels.ts'
import type { KubeObject, Resource } from '../../src/core/object.ts'
import { applyIfChanged } from '../../src/kube/apply.ts'
import * as builtin from '../../src/kube/builtin.ts'
import { CacheSet } from '../../src/kube/caches.ts'
import { createKubeClient, type KubeClient, type WriteObserver } from '../../src/kube/client.ts'
import { installManifests, resourcesOf } from '../../src/kube/crds.ts'
import { EventRecorder } from '../../src/kube/events.ts'
import { LeaderLease } from '../../src/kube/lease.ts'
import { loadKubeconfig, parseKubeconfig } from '../../src/kubeconfig/kubeconfig.ts'
import { startTestControlPlane, type TestControlPlane } from '../cluster/index.ts'
import { type FaultProxy, startProxy } from '../faults/proxy.ts'
import { definitionOf } from '../make/definition.ts'
import { kubeClientContract, until } from '../suites/kubeContract.ts'

const { configMap, statefulSet, namespace: namespaceResource, service, secret } = builtin
type ConfigMap = KubeObject & { data?: Record<string, string> }

describe('src/kube on a real API server', () => {
  let controlPlane: TestControlPlane
  let proxy: FaultProxy
  let client: KubeClient
  const namespace = `kube-${randomUUID().slice(0, 8)}`
  const connect = (observer?: WriteObserver) =>
    createKubeClient(parseKubeconfig(proxy.kubeconfig, 'proxy'), {
      fieldManager: 'freehold',
      userAgent: 'freehold-test',
      ...(observer && { observer }),
    })

  before(async () => {
    controlPlane = await startTestControlPlane()
    proxy = await startProxy({ upstream: loadKubeconfig(controlPlane.kubeconfigPath) })
    client = connect()
    await client.create(namespaceResource, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  })
  after(async () => {
    await client?.remove(namespaceResource, { name: namespace })
    await client?.close()
    await proxy?.close()
    await controlPlane?.stop()
  })

  const make = (name: string, data: Record<string, string> = {}): ConfigMap => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace },
    data,
  })

  describe('createKubeClient', () => {
    const definition = definitionOf({ status: { type: 'object', properties: { phase: { type: 'string' } } } })
    const [custom] = resourcesOf(definition) as [Resource]
    before(() => installManifests(client, [definition]))
    after(() => client.remove(builtin.customResourceDefinition, definition.metadata))

    kubeClientContract(() => ({ client, namespace, custom }))
  })

  describe('applyIfChanged', () => {
    const metadata = (name: string) => ({
      name,
      namespace,
      labels: { app: name },
      annotations: { [OWNER_INCARNATION_ANNOTATION]: 'i' },
    })
    const workload: KubeObject = {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: metadata('workload'),
      spec: {
        replicas: 0,
        serviceName: 'workload',
        selector: { matchLabels: { app: 'workload' } },
        template: {
          metadata: { labels: { app: 'workload' } },
          spec: {
            automountServiceAccountToken: false,
            securityContext: { runAsNonRoot: true, fsGroup: 1000 },
            containers: [
              {
                name: 'main',
                image: 'example.com/image:1',
                ports: [{ containerPort: 80 }, { containerPort: 81, name: 'b' }],
                env: [{ name: 'A', value: '' }],
                resources: { requests: { cpu: '1000m', memory: '1024Mi' }, limits: { cpu: 1 } },
                readinessProbe: { httpGet: { path: '/', port: 80 } },
                volumeMounts: [{ name: 'scratch', mountPath: '/tmp' }],
              },
            ],
            volumes: [{ name: 'scratch', emptyDir: {} }],
          },
        },
        volumeClaimTemplates: [
          {
            metadata: { name: 'data' },
            spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1024Mi' } } },
          },
        ],
      },
    }
    const cases: [string, Resource, KubeObject][] = [
      ['a StatefulSet', statefulSet, workload],
      [
        'a headless Service',
        service,
        {
          apiVersion: 'v1',
          kind: 'Service',
          metadata: metadata('headless'),
          spec: { clusterIP: 'None', selector: { app: 'a' }, ports: [{ name: 'http', port: 80 }] },
        },
      ],
      [
        'a NetworkPolicy',
        builtin.networkPolicy,
        {
          apiVersion: 'networking.k8s.io/v1',
          kind: 'NetworkPolicy',
          metadata: metadata('closed'),
          spec: {
            podSelector: {},
            policyTypes: ['Ingress'],
            ingress: [{ from: [{ podSelector: {} }], ports: [{ port: 80 }] }],
          },
        },
      ],
      [
        'a Secret with text',
        secret,
        { apiVersion: 'v1', kind: 'Secret', metadata: metadata('key'), stringData: { key: 'value' } },
      ],
      [
        'a RoleBinding',
        builtin.roleBinding,
        {
          apiVersion: 'rbac.authorization.k8s.io/v1',
          kind: 'RoleBinding',
          metadata: metadata('binding'),
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
          subjects: [{ kind: 'User', name: 'p:1', apiGroup: 'rbac.authorization.k8s.io' }],
        },
      ],
      [
        'a ResourceQuota',
        builtin.resourceQuota,
        {
          apiVersion: 'v1',
          kind: 'ResourceQuota',
          metadata: metadata('quota'),
          spec: { hard: { 'requests.cpu': '2000m' } },
        },
      ],
    ]
    for (const [what, resource, desired] of cases) {
      it(`sends nothing for ${what} with the defaults of the API server`, async () => {
        const first = await applyIfChanged(client, resource, desired, undefined)
        const observed = await client.get(resource, first.object.metadata as { name: string })
        proxy.reset()
        expect((await applyIfChanged(client, resource, desired, observed)).changed).to.equal(false)
        expect(proxy.counts().total).to.equal(0)
      })
    }
  })

  describe('CacheSet', () => {
    let caches: CacheSet
    let writer: KubeClient
    beforeEach(async () => {
      writer = connect({
        written: (resource, object) => caches.observer().written(resource, object),
        removed: (resource, ref, uid) => caches.observer().removed(resource, ref, uid),
      })
      caches = new CacheSet({ client: writer, timings: { backoff: 50 } })
      caches.add(configMap)
      caches.add(namespaceResource)
      proxy.reset()
      caches.start()
      await caches.whenAllSynced()
    })
    afterEach(async () => {
      await caches.stopAll()
      await writer.close()
    })
    const held = (name: string) => caches.get<ConfigMap>(configMap).get(namespace, name)

    it('starts with one request for each kind, and contains own writes when the call returns', async () => {
      expect(proxy.counts()).to.deep.equal({ total: 2, by: { 'watch configmaps': 1, 'watch namespaces': 1 } })
      const { metadata } = await writer.create(configMap, make('own', { n: '1' }))
      expect(held('own')?.data).to.deep.equal({ n: '1' })
      await until(() => caches.get(configMap).isAtLeast(metadata.resourceVersion ?? ''))
      await writer.remove(configMap, metadata)
      expect(held('own')).to.equal(undefined)
    })

    it('resumes without a new list after all connections were reset, and misses nothing', async () => {
      proxy.resetConnections()
      await client.apply(configMap, make('meanwhile'))
      await until(() => held('meanwhile') !== undefined)
      await until(() => caches.metrics().every(({ live }) => live))
      expect(caches.metrics().map(({ listings }) => listings)).to.deep.equal([1, 1])
    })

    it('survives a line that is not JSON and an ERROR 410 in the stream', async () => {
      const ofConfigMaps = (request: { resource: string }) => request.resource === 'configmaps'
      expect(proxy.inject('{ no json', ofConfigMaps)).to.equal(1)
      await until(() => proxy.count('watch', 'configmaps') === 2 && caches.get(configMap).metrics().live)
      const gone = { type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } }
      proxy.inject(JSON.stringify(gone), ofConfigMaps)
      await client.create(configMap, make('after-trouble'))
      await until(() => held('after-trouble') !== undefined)
      await until(() => caches.get(configMap).metrics().listings === 2)
    })

    it('shows no outdated object while events are delayed', async () => {
      const lift = proxy.fault({ fault: { kind: 'holdEvents' }, when: (request) => request.verb === 'watch' })
      const { metadata } = await client.create(configMap, make('late'))
      await client.remove(configMap, metadata)
      const again = await client.create(configMap, make('late', { again: 'yes' }))
      expect(held('late')).to.equal(undefined)
      lift()
      await until(() => held('late')?.metadata.uid === again.metadata.uid)
    })
  })

  it('KubeClient retries a read after 503, but not a create whose answer was lost', async () => {
    proxy.fault({ fault: { kind: 'answer', status: 503 }, times: 1 })
    await client.list(configMap, { namespace })
    proxy.fault({ fault: { kind: 'loseAnswer' }, times: 1, when: ({ verb }) => verb === 'create' })
    const lost = await client.create(configMap, make('lost-answer')).catch((error: unknown) => error)
    expect(lost).to.include({ reason: 'Unavailable', maybeApplied: true })
    await client.get(configMap, { namespace, name: 'lost-answer' })
  })

  it('KubeClient requests only metadata of metadata resources, in lists and watches', async () => {
    const data = { value: 'aGlkZGVu' }
    await client.create(secret, { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'hidden', namespace }, data })
    const { items } = await client.list(builtin.secretMetadata, { namespace })
    const seen = [items.find(({ metadata }) => metadata.name === 'hidden')]
    const stop = new AbortController()
    for await (const { type, object } of client.watchStream(builtin.secretMetadata, {
      namespace,
      sendInitialEvents: true,
      signal: stop.signal,
    })) {
      if (type === 'BOOKMARK') break
      if (object.metadata.name === 'hidden') seen.push(object)
    }
    stop.abort()
    expect(seen.map((object) => object?.metadata.name)).to.deep.equal(['hidden', 'hidden'])
    for (const object of seen) expect(object).not.to.have.property('data')
  })

  it('LeaderLease lets one of two processes lead, and the other when the first one stops', async () => {
    const contend = (identity: string) =>
      new LeaderLease({ client, namespace, name: 'leader', identity, timings: { retryEvery: 100 } })
    const [first, second] = [contend('first'), contend('second')]
    first.start()
    await until(() => first.isLeader)
    second.start()
    await first.stop()
    await until(() => second.isLeader)
    expect(() => first.fence()).to.throw('no longer holds the lease')
    await second.stop()
  })

  it('EventRecorder records an event', async () => {
    const regarding = await client.create(configMap, make('talked-about'))
    const recorder = new EventRecorder({ client, controller: 'freehold.dev/test', instance: 'test' })
    recorder.record({ regarding, type: 'Warning', reason: 'Tested', note: 'It was tested.' })
    await recorder.stop()
    const { items } = await client.list<KubeObject & { note?: string; reason?: string }>(builtin.event, { namespace })
    expect(items.find((item) => item.reason === 'Tested')?.note).to.equal('It was tested.')
    expect(recorder.dropped).to.equal(0)
  })

  it('installManifests installs a CRD, waits until it is served, and writes nothing the second time', async () => {
    const definition = definitionOf({ spec: { type: 'object', properties: { n: { type: 'integer' } } } })
    const [resource] = resourcesOf(definition) as [Resource]
    const object = {
      apiVersion: 'kube.example.com/v1',
      kind: resource.kind,
      metadata: { name: 'x', namespace },
      spec: { n: 1 },
    }
    try {
      expect(await installManifests(client, [object, definition])).to.deep.equal({ applied: 2, unchanged: 0 })
      expect(await installManifests(client, [object, definition])).to.deep.equal({ applied: 0, unchanged: 2 })
      const wrong = { ...object, metadata: { name: 'y', namespace }, spec: { n: 1, m: 2 } }
      const refused = await client.create(resource, wrong).catch((error: unknown) => error)
      expect(refused).to.deep.include({ reason: 'Invalid', causes: [{ field: 'spec.m', message: 'unknown field' }] })
    } finally {
      await client.remove(builtin.customResourceDefinition, definition.metadata)
    }
  })
})
