import { expect } from 'chai'
import { DOMAIN, HOME, VectorWorld } from '../../../test/worlds/vectorWorld.ts'
import { defaultHost } from '../../contracts/workloads.ts'
import { claimName } from '../../core/nameClaims.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { NameClaim } from '../../crds/nameclaims.ts'
import { VectorCluster } from '../../crds/vector.ts'
import { ingress, statefulSet } from '../../kube/builtin.ts'
import { isKubeError } from '../../kube/errors.ts'

const FAR = '4a7f8a52-7a4e-4b52-9a55-0d6c8f3f9b77'

describe('public host of a VectorCluster', () => {
  let world: VectorWorld
  beforeEach(async () => {
    world = new VectorWorld()
    await world.start()
  })
  afterEach(() => world.stop())

  const host = `shop-11111111.${DOMAIN}`
  const claims = async () =>
    (await world.client.list(NameClaim.resource)).items
      .map((claim) => (claim as unknown as NameClaim).spec)
      .map(({ value, holder }) => `${value} ${holder.name}`)
      .sort()

  it('is generated under the domain of the cluster if the spec has none, and claimed', async () => {
    await world.create({ enableIngress: true })
    await world.converge()
    const made = defaultHost('vectorclusters', HOME, 'products', DOMAIN)
    expect((await world.cluster()).status).to.include({ ingressHost: made, publicEndpoint: `https://${made}` })
    expect(await claims()).to.deep.equal([`${made} products`])
    expect(await world.says()).to.match(/^Running/)
  })

  it('is given to the first resource, and to the second once the first releases it', async () => {
    await world.create({ enableIngress: true, ingressHost: host }, 'first')
    await world.converge('first')
    await world.create({ enableIngress: true, ingressHost: host }, 'second')
    await world.converge('second')
    expect(await world.says('second')).to.equal(
      `Failed NameOccupied: Host "${host}" is taken by another resource of the platform; choose another ingressHost.`,
    )
    expect(await world.object(ingress, 'vc-second')).to.equal(undefined)
    await world.change({ enableIngress: false }, 'first')
    await world.converge('first')
    await world.converge('second')
    expect(await claims()).to.deep.equal([`${host} second`])
    expect(await world.says('second')).to.match(/^Running/)
  })

  it('is released with a resource on a revoked cluster, whose workload stays there', async () => {
    await world.create({ enableIngress: true, ingressHost: host })
    await world.converge()
    world.client.seed(PlatformCluster.resource, {
      ...{ apiVersion: PlatformCluster.apiVersion, kind: PlatformCluster.kind, metadata: { name: FAR } },
      spec: { displayName: 'Far', isPlatform: false },
      status: { state: 'Revoked', agent: { joinedAt: '2026-01-01T00:00:00Z' } },
    })
    await world.change({ clusterId: FAR })
    await world.client.remove(VectorCluster.resource, { namespace: HOME, name: 'products' })
    await world.converge()
    expect(await world.object(VectorCluster.resource, 'products')).to.equal(undefined)
    expect(await claims()).to.deep.equal([])
    expect(await world.object(statefulSet, 'vc-products')).not.to.equal(undefined)
  })

  it('is released only after the Ingress has the next host', async () => {
    await world.create({ enableIngress: true, ingressHost: host })
    await world.converge()
    const order: string[] = []
    world.afterWrite = () => {
      const last = world.client.calls.at(-1)
      if (last?.resource.startsWith('ingresses') || last?.resource.startsWith('nameclaims'))
        order.push(`${last.verb} ${last.resource}`)
    }
    await world.change({ ingressHost: `other-11111111.${DOMAIN}` })
    await world.converge()
    expect(order).to.deep.equal([
      'create nameclaims.freehold.dev',
      'apply ingresses.networking.k8s.io',
      'delete nameclaims.freehold.dev',
    ])
    expect(await claims()).to.deep.equal([`other-11111111.${DOMAIN} products`])
  })

  it('is released with the resource', async () => {
    await world.create({ enableIngress: true })
    await world.converge()
    await world.client.remove(VectorCluster.resource, { namespace: HOME, name: 'products' })
    for (let round = 0; round < 4; round += 1) {
      await world.pass()
      await world.play()
    }
    expect(await claims()).to.deep.equal([])
  })

  describe('with the claim of another holder', () => {
    /** @param age of the claim, in milliseconds */
    const claim = (kind: string, age: number) =>
      world.client.seed(NameClaim.resource, {
        ...{ apiVersion: '', kind: '' },
        metadata: { name: claimName('Host', host), creationTimestamp: new Date(world.clock.now() - age).toISOString() },
        spec: { type: 'Host', value: host, holder: { kind, namespace: HOME, name: 'other', incarnation: 'x' } },
      })
    beforeEach(() => world.create({ enableIngress: true, ingressHost: host }))

    it('is taken over from a deleted holder after a minute', async () => {
      claim('VectorCluster', 61_000)
      await world.converge()
      expect(await claims()).to.deep.equal([`${host} products`])
    })

    it('is left to a holder that REST may be creating, and requested again', async () => {
      claim('VectorCluster', 1_000)
      const refused = await world.converge().catch((error: unknown) => error)
      expect(isKubeError(refused, 'AlreadyExists')).to.equal(true)
      expect(await claims()).to.deep.equal([`${host} other`])
    })

    it('is left to a holder of an unknown kind', async () => {
      claim('App', 61_000)
      await world.converge()
      expect(await world.says()).to.match(/^Failed NameOccupied/)
    })
  })

  for (const foreign of ['shop.example.net', DOMAIN, `evil${DOMAIN}`, `login.${DOMAIN}`, `shop-1fd742ef.${DOMAIN}`]) {
    it(`rejects ${foreign}, which is not below the boundary’s domain`, async () => {
      await world.create({ enableIngress: true, ingressHost: foreign })
      await world.converge()
      expect(await world.says()).to.match(/^Failed ConfigurationInvalid: ingressHost/)
      expect(await claims()).to.deep.equal([])
    })
  }
})
