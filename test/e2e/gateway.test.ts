// @inTurn plain: tells the cluster to lead hosts through a Gateway.
import { isDeepStrictEqual } from 'node:util'
import { expect } from 'chai'
import { gatewayApiDefinitions } from '../../scripts/node/gatewayApi.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { PlatformCluster } from '../../src/crds/clusters.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import { customResourceDefinition, ingress, networkPolicy } from '../../src/kube/builtin.ts'
import { installManifests } from '../../src/kube/crds.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import { httpRoute } from '../../src/kube/gateway.ts'
import { gatewayApiIsMissing } from '../cluster/gatewayApi.ts'
import { borrowPlatform, giveBack } from '../cluster/lent.ts'
import type { OwnPlatform } from '../cluster/platform.ts'
import { until } from '../make/until.ts'
import { makeFleet, objectOf } from '../worlds/fleet.ts'

type Route = KubeObject & { spec: { parentRefs: object[]; hostnames: string[] } }

describe('a vector database behind a Gateway, with the real Gateway API', () => {
  let own: OwnPlatform
  let namespace: string
  const name = 'shop'
  const ref = () => ({ namespace, name })
  const child = () => ({ namespace, name: 'vc-shop' })
  const parent = { group: 'gateway.networking.k8s.io', kind: 'Gateway', namespace: 'infra', name: 'public' }

  before(async function () {
    const missing = gatewayApiIsMissing()
    if (missing !== undefined) {
      console.log(`    skipped: ${missing}`)
      this.skip()
    }
    own = await borrowPlatform('plain')
    await own.startOperator()
    const fleet = await makeFleet(own.admin, { groups: 1, databases: 0 })
    namespace = fleet.namespaces[0] ?? ''
    await configure({ namespace: 'infra', name: 'public' })
  })
  after(async () => {
    if (own !== undefined) await configure(null)
    await giveBack(own)
  })

  async function configure(gateway: object | null): Promise<void> {
    const { items } = await own.admin.list(PlatformCluster.resource)
    for (const { metadata } of items)
      await own.admin.mergePatch(PlatformCluster.resource, { name: metadata.name }, { spec: { gateway } })
  }
  const stored = async () => (await own.admin.get(VectorCluster.resource, ref())) as unknown as VectorCluster
  const says = (phase: string) =>
    until(`it is ${phase}`, async () => {
      const { metadata, status } = await stored()
      if (status?.observedGeneration === metadata.generation && status?.phase === phase) return status
      throw new Error(`${status?.status} ${status?.phase}: ${status?.statusMessage}`)
    })
  async function exists(resource: typeof ingress): Promise<boolean> {
    try {
      await own.admin.get(resource, child())
      return true
    } catch (error) {
      if (isKubeError(error, 'NotFound')) return false
      throw error
    }
  }
  const route = () => own.admin.get<Route>(httpRoute, child())

  /** What the Gateway's controller writes after it has processed the route. */
  async function judge(status: 'True' | 'False', reason: string, section?: string): Promise<void> {
    const { metadata } = await route()
    const condition = (type: string, value: string, word: string) => ({
      type,
      status: value,
      reason: word,
      message: 'a message that is not shown',
      observedGeneration: metadata.generation,
      lastTransitionTime: new Date().toISOString(),
    })
    const conditions = [condition('Accepted', status, reason), condition('ResolvedRefs', 'True', 'ResolvedRefs')]
    const parentRef = section === undefined ? parent : { ...parent, sectionName: section }
    const parents = [{ controllerName: 'example.org/gateway', parentRef, conditions }]
    await own.admin.mergePatch(httpRoute, child(), { status: { parents } }, { subresource: 'status' })
  }

  it('has an Ingress while the cluster does not serve HTTPRoute', async () => {
    await own.admin.create(VectorCluster.resource, objectOf(VectorCluster, name, namespace, { enableIngress: true }))
    const status = await says('Available')
    expect(status.publicEndpoint).to.equal(`https://${status.ingressHost}`)
    expect(await exists(ingress)).to.equal(true)
  })

  it('gets an HTTPRoute once the CRDs are installed, and drops its Ingress when the Gateway accepts the route', async () => {
    await installManifests(own.admin, await gatewayApiDefinitions())
    const waiting = await says('WaitingForAddress')
    expect(waiting.statusMessage).to.contain('Gateway "infra/public" has not accepted the route')
    expect(waiting.publicEndpoint).to.equal(`https://${waiting.ingressHost}`)
    const { spec } = await route()
    expect(spec.parentRefs).to.deep.equal([parent])
    expect(spec.hostnames).to.deep.equal([waiting.ingressHost])
    expect(await exists(ingress)).to.equal(true)
    await judge('True', 'Accepted')
    expect((await says('Available')).publicEndpoint).to.equal(`https://${waiting.ingressHost}`)
    expect(await exists(ingress)).to.equal(false)
  })

  it('admits the namespace of the Gateway in its network policy', async () => {
    const policy = await own.admin.get(networkPolicy, child())
    expect(JSON.stringify(policy.spec)).to.contain('{"matchLabels":{"kubernetes.io/metadata.name":"infra"}}')
  })

  it('does not write the route again while nothing changes', async () => {
    const before = (await route()).metadata.resourceVersion
    const restartedAt = '2026-11-21T10:00:00Z'
    await own.admin.mergePatch(VectorCluster.resource, ref(), { spec: { restartedAt } })
    await until('it was restarted', async () => (await stored()).status?.restartedAt === restartedAt)
    await says('Available')
    expect((await route()).metadata.resourceVersion).to.equal(before)
  })

  it('follows the cluster to another listener, and back', async () => {
    await configure({ sectionName: 'https' })
    await until('the route names the listener', async () => {
      const { spec } = await route()
      return isDeepStrictEqual(spec.parentRefs, [{ ...parent, sectionName: 'https' }])
    })
    await judge('False', 'NoMatchingListenerHostname', 'https')
    const refused = await says('ConfigurationInvalid')
    expect(refused.statusMessage).to.match(/does not accept the route of ".+": NoMatchingListenerHostname\.$/)
    await configure({ sectionName: null })
    await until('the route names none', async () => {
      const { spec } = await route()
      return isDeepStrictEqual(spec.parentRefs, [parent])
    })
    await judge('True', 'Accepted')
    await says('Available')
  })

  it('gets its Ingress back when the CRDs are removed', async () => {
    await own.admin.remove(customResourceDefinition, { name: 'httproutes.gateway.networking.k8s.io' })
    await until('there is an Ingress', () => exists(ingress))
    await says('Available')
  })
})
