import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { configMap, namespace as namespaceResource, secret, service } from '../../src/kube/builtin.ts'
import { CacheSet } from '../../src/kube/caches.ts'
import { createKubeClient, type KubeClient } from '../../src/kube/client.ts'
import { loadKubeconfig } from '../../src/kubeconfig/kubeconfig.ts'
import { startTestControlPlane, type TestControlPlane } from '../cluster/index.ts'
import { TEST_CONFIG } from '../config.ts'
import { startWire, type Wire } from '../faults/wire.ts'
import { promised } from '../make/until.ts'
import { expectReason, until } from '../suites/kubeContract.ts'

describe('the connection of a process to the API server', () => {
  const namespace = `network-${randomUUID().slice(0, 8)}`
  const QUIET = [service, secret]
  /** Of a call. */
  const TIMEOUT = TEST_CONFIG.sized(8_000, 1_000)
  let controlPlane: TestControlPlane
  let wire: Wire
  /** Past the network. */
  let admin: KubeClient
  let client: KubeClient
  let caches: CacheSet

  before(async () => {
    controlPlane = await startTestControlPlane()
    const access = loadKubeconfig(controlPlane.kubeconfigPath)
    admin = createKubeClient(access, { fieldManager: 'test', userAgent: 'test' })
    await admin.create(namespaceResource, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  })
  after(async () => {
    await admin?.remove(namespaceResource, { name: namespace })
    await admin?.close()
    await controlPlane?.stop()
  })
  beforeEach(async () => {
    const access = loadKubeconfig(controlPlane.kubeconfigPath)
    wire = await startWire(access.server)
    const through = { ...access, server: wire.url }
    const liveness = { pingEvery: 500, pingTimeout: 1_500 }
    client = createKubeClient(through, { fieldManager: 'test', userAgent: 'test', liveness, timeout: TIMEOUT })
    caches = new CacheSet({ client })
    for (const resource of [configMap, ...QUIET]) caches.add(resource, { namespace })
    caches.start()
    await caches.whenAllSynced()
  })
  afterEach(async () => {
    await caches.stopAll()
    await client.close()
    await wire.close()
  })

  const create = (name: string) =>
    admin.create(configMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace } })
  const isLive = () => caches.metrics().every(({ live }) => live)

  it('carries all watches at once', () => {
    // If nothing was sent within the ping interval, each has one more connection, which they share again.
    const opens = caches.metrics().map((metrics) => metrics.opens)
    expect(wire.accepted).to.be.within(1, Math.max(...opens))
  })

  it('is replaced when it becomes half-open, also for kinds without events', async () => {
    const opens = () => caches.metrics().map((metrics) => metrics.opens)
    const before = opens()
    wire.silence()
    await until(() => opens().every((count, index) => count > (before[index] ?? 0)))
    await create('after-the-silence')
    await until(() => caches.get(configMap).get(namespace, 'after-the-silence') !== undefined)
  })

  it('delays a call by at most half its timeout when it becomes half-open', async () => {
    await client.get(namespaceResource, { name: namespace })
    wire.silence()
    const began = performance.now()
    await client.get(namespaceResource, { name: namespace })
    await client.get(namespaceResource, { name: namespace })
    expect(performance.now() - began).to.be.at.most(promised(0.9 * TIMEOUT))
  })

  it('is retried by one attempt at a time while it is cut, and all watches resume afterwards', async () => {
    await until(isLive)
    const before = wire.accepted
    wire.cut(true)
    await until(() => wire.accepted >= before + 4)
    const began = performance.now()
    const at = wire.accepted
    await until(() => wire.accepted >= at + 8)
    // A quarter of a second is between two attempts, however many watches wait; the first may be seen late.
    expect(performance.now() - began).to.be.at.least(1_500)
    await create('while-it-was-cut')
    wire.cut(false)
    await until(() => isLive() && caches.get(configMap).get(namespace, 'while-it-was-cut') !== undefined)
  })

  it('fails a lost write at its deadline', async () => {
    wire.blackHole(true)
    const began = performance.now()
    const write = client.mergePatch(configMap, { namespace, name: 'any' }, { data: { a: '1' } })
    const error = await expectReason('Unavailable', write)
    expect(error.message).to.contain('no answer')
    expect(performance.now() - began).to.be.within(0.9 * TIMEOUT, promised(2 * TIMEOUT))
  })
})
