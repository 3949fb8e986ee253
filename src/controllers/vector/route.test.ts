import { expect } from 'chai'
import { settle } from '../../../test/make/clock.ts'
import { DOMAIN, HOME, VectorWorld } from '../../../test/worlds/vectorWorld.ts'
import type { Gateway } from '../../crds/clusters.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { VectorCluster } from '../../crds/vector.ts'
import { customResourceDefinition, ingress } from '../../kube/builtin.ts'
import { httpRoute } from '../../kube/gateway.ts'

const host = `shop-11111111.${DOMAIN}`
const gateway: Gateway = { namespace: 'infra', name: 'public' }
const NAME = 'httproutes.gateway.networking.k8s.io'

describe('VectorCluster behind a Gateway', () => {
  let world: VectorWorld
  beforeEach(async () => {
    world = new VectorWorld()
    await world.start()
  })
  afterEach(() => world.stop())

  const install = async () => {
    world.client.seed(customResourceDefinition, {
      apiVersion: '',
      kind: '',
      metadata: { name: NAME },
      spec: { versions: [{ name: 'v1', served: true }] },
      status: { conditions: [{ type: 'Established', status: 'True' }] },
    })
    await settle()
  }
  const configure = async (value: Gateway | undefined, publicPort?: number) => {
    const { items } = await world.client.list(PlatformCluster.resource)
    world.client.edit(PlatformCluster.resource, { name: items[0]?.metadata.name ?? '' }, ({ spec }) => {
      Object.assign(spec as object, { gateway: value, publicPort })
    })
    await settle()
  }
  /** Sets the status that the controller of the Gateway writes. */
  const judge = async (status: 'True' | 'False', reason = 'Accepted') => {
    world.client.edit(httpRoute, { namespace: HOME, name: 'vc-products' }, (route) => {
      const condition = { type: 'Accepted', status, reason, observedGeneration: route.metadata.generation }
      route.status = { parents: [{ parentRef: gateway, conditions: [condition] }] }
    })
    await settle()
    await world.converge()
  }
  const endpoint = async () => (await world.cluster()).status?.publicEndpoint
  const paths = async () => [...(await world.names(ingress)), ...(await routes())]
  const routes = async () => (await world.names(httpRoute)).map((name) => `route ${name}`)
  const begin = async (spec: object = {}) => {
    await install()
    await configure(gateway)
    await world.create({ enableIngress: true, ingressHost: host, ...spec })
    await world.converge()
  }

  it('has an HTTPRoute, and an endpoint once the Gateway accepts it', async () => {
    await begin()
    expect(await paths()).to.deep.equal(['route vc-products'])
    expect(await world.says()).to.equal(
      `Provisioning WaitingForAddress: Gateway "infra/public" has not accepted the route of "${host}" yet.`,
    )
    expect(await endpoint()).to.equal(undefined)
    await judge('True')
    expect(await world.says()).to.match(/^Running/)
    expect(await endpoint()).to.equal(`https://${host}`)
    const calls = world.client.calls.length
    for (let round = 0; round < 10; round += 1) await world.pass()
    expect(world.client.calls.slice(calls), 'at rest').to.deep.equal([])
  })

  it('shows the public port of the cluster unless it is 443', async () => {
    await begin()
    await judge('True')
    for (const [port, shown] of [
      [8443, `https://${host}:8443`],
      [443, `https://${host}`],
    ] as const) {
      await configure(gateway, port)
      await world.converge()
      expect(await endpoint()).to.equal(shown)
    }
  })

  it('reports the reason of a Gateway that rejects the route', async () => {
    await begin()
    await judge('False', 'NotAllowedByListeners')
    expect(await world.says()).to.equal(
      `Degraded ConfigurationInvalid: Gateway "infra/public" does not accept the route of "${host}": NotAllowedByListeners.`,
    )
    expect(await endpoint()).to.equal(undefined)
    await judge('True')
    expect(await world.says()).to.match(/^Running/)
  })

  it('rejects allowedCidrs and has no route', async () => {
    await begin({ allowedCidrs: '203.0.113.0/24' })
    expect(await paths()).to.deep.equal([])
    expect(await world.says()).to.match(/^Degraded ConfigurationInvalid: allowedCidrs is set/)
    expect(await endpoint()).to.equal(undefined)
  })

  it('has an Ingress until HTTPRoute is installed and the Gateway accepts the route', async () => {
    await configure(gateway)
    await world.create({ enableIngress: true, ingressHost: host })
    await world.converge()
    expect(await world.says()).to.match(/^Running/)
    expect(await paths()).to.deep.equal(['vc-products'])
    await install()
    await world.converge()
    expect(await paths(), 'both, until the route is taken').to.deep.equal(['vc-products', 'route vc-products'])
    expect(await endpoint()).to.equal(`https://${host}`)
    await judge('True')
    expect(await paths()).to.deep.equal(['route vc-products'])
    expect(await world.says()).to.match(/^Running/)
  })

  it('removes the Ingress of a host that it releases', async () => {
    await world.create({ enableIngress: true, ingressHost: host })
    await world.converge()
    await install()
    await configure(gateway)
    await world.change({ ingressHost: `other-11111111.${DOMAIN}` })
    await world.converge()
    expect(await paths()).to.deep.equal(['route vc-products'])
  })

  it('has an Ingress again when the Gateway is removed', async () => {
    await begin()
    await judge('True')
    await configure(undefined)
    await world.converge()
    expect(await paths()).to.deep.equal(['vc-products'])
    expect(await endpoint()).to.equal(`https://${host}`)
  })

  it('deletes its route', async () => {
    await begin()
    await judge('True')
    await world.client.remove(VectorCluster.resource, { namespace: HOME, name: 'products' })
    for (let round = 0; round < 4; round += 1) {
      await world.pass()
      await world.play()
    }
    expect(await paths()).to.deep.equal([])
  })
})
