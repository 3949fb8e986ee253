import { expect } from 'chai'
import { BOUNDARY_ID, DOMAIN, HOME, VectorWorld } from '../../../test/worlds/vectorWorld.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { NameClaim } from '../../crds/nameclaims.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { VectorCluster } from '../../crds/vector.ts'
import {
  configMap,
  ingress,
  networkPolicy,
  pod,
  podDisruptionBudget,
  service,
  statefulSet,
} from '../../kube/builtin.ts'

describe('VectorCluster controller', () => {
  let world: VectorWorld
  beforeEach(async () => {
    world = new VectorWorld()
    await world.start()
  })
  afterEach(() => world.stop())

  describe('creates a database', () => {
    it('with the default plan, one peer, an API key and no public address for an empty spec', async () => {
      await world.create()
      await world.converge()
      expect(await world.says()).to.equal('Running Available: The peer is ready.')
      expect(await world.names(service)).to.deep.equal(['vc-products', 'vcpeers-products'])
      expect(await world.names(podDisruptionBudget)).to.deep.equal([])
      expect((await world.cluster()).status).to.include({
        replicas: 1,
        readyReplicas: 1,
        serving: true,
        apiKeyVersion: 1,
        vectorVersion: '1.18.2',
        selector: 'freehold.dev/owner-kind=VectorCluster,freehold.dev/owner-name=products',
      })
    })

    it('without any further call once it is ready', async () => {
      await world.create({ computePlan: 'vector-medium', enableIngress: true, enableLoadBalancer: false })
      await world.converge()
      const calls = world.client.calls.length
      for (let round = 0; round < 100; round += 1) await world.pass()
      expect(world.client.calls.slice(calls)).to.deep.equal([])
    })

    it('with the replicas of the plan, once', async () => {
      await world.create({ computePlan: 'vector-medium' })
      await world.converge()
      expect((await world.cluster()).spec.replicas).to.equal(3)
      await world.change({ computePlan: 'vector-small' })
      await world.converge()
      expect((await world.cluster()).spec.replicas).to.equal(3)
    })

    it('and reports how many peers are ready', async () => {
      await world.create({ computePlan: 'vector-medium' })
      await world.pass()
      expect(await world.says()).to.equal('Provisioning WaitingForWorkload: 0 of 3 peers are ready.')
    })

    it('and restores deleted and changed children', async () => {
      await world.create({ computePlan: 'vector-medium', enableIngress: true })
      await world.converge()
      const kinds = [
        [configMap, 'vc-products-config'],
        [service, 'vc-products'],
        [service, 'vcpeers-products'],
        [networkPolicy, 'vc-products'],
        [ingress, 'vc-products'],
        [podDisruptionBudget, 'vc-products'],
        [statefulSet, 'vc-products'],
      ] as const
      for (const [resource, name] of kinds) {
        const before = await world.object(resource, name)
        await world.client.remove(resource, { namespace: HOME, name })
        await world.converge()
        const after = await world.object(resource, name)
        expect(after?.spec, `${resource.kind} ${name}`).to.deep.equal(before?.spec)
      }
      world.client.edit(service, { namespace: HOME, name: 'vc-products' }, (object) => {
        Object.assign(object.spec as object, { selector: { app: 'somebody-else' } })
      })
      await world.converge()
      const healed = await world.object(service, 'vc-products')
      expect(healed?.spec).to.have.nested.property('selector.freehold\\.dev/owner-name', 'products')
    })
  })

  describe('stalls until the cause is removed for', () => {
    it('a missing plan', async () => {
      await world.create({ computePlan: 'vector-huge' })
      await world.converge()
      expect(await world.says()).to.equal('Failed PlanNotFound: There is no compute plan "vector-huge".')
      await world.change({ computePlan: 'vector-small' })
      await world.converge()
      expect(await world.says()).to.match(/^Running/)
    })

    it('a deleted plan, while its peer keeps running', async () => {
      await world.create({ computePlan: 'vector-small' })
      await world.converge()
      await world.client.remove(ComputePlan.resource, { name: 'vector-small' })
      await world.converge()
      expect(await world.says()).to.match(/^Degraded PlanNotFound/)
      expect((await world.workload())?.spec.replicas).to.equal(1)
    })

    it('a missing cluster', async () => {
      await world.create({ clusterId: '33333333-3333-4333-8333-333333333333' })
      await world.converge()
      expect(await world.says()).to.match(/^Failed ReferenceMissing: There is no cluster "3333/)
    })

    it('a cluster without a projection of the boundary', async () => {
      const name = '33333333-3333-4333-8333-333333333333'
      const spec = { displayName: 'far away', region: '', domain: 'x.org', isPlatform: false }
      world.client.seed(PlatformCluster.resource, { apiVersion: '', kind: '', metadata: { name }, spec })
      await world.create({ clusterId: name })
      await world.converge()
      expect(await world.says()).to.match(/^Failed ReferenceMissing: The boundary is not projected/)
    })

    it('an image that the platform does not allow', async () => {
      await world.create({ imageName: 'registry.example.org/mine:1' })
      await world.converge()
      expect(await world.says()).to.match(/^Failed ConfigurationInvalid: imageName/)
      expect(await world.workload()).to.equal(undefined)
    })

    it('an exceeded quota of the boundary, the oldest first', async () => {
      world.client.edit(Boundary.resource, { name: BOUNDARY_ID }, (object) => {
        Object.assign(object.spec as object, { quota: { storage: '8Gi' } })
      })
      await world.create({}, 'first')
      world.clock.freeze(60_000)
      await world.create({}, 'second')
      await world.converge('first')
      await world.converge('second')
      expect(await world.says('first')).to.match(/^Running/)
      expect(await world.says('second')).to.match(/^Failed QuotaExceeded: The boundary's quota of storage is 8Gi; 5Gi/)
      await world.client.remove(VectorCluster.resource, { namespace: HOME, name: 'first' })
      for (let round = 0; round < 4; round += 1) {
        await world.pass('first')
        await world.play()
      }
      await world.converge('second')
      expect(await world.says('second')).to.match(/^Running/)
    })

    it('a child with a foreign owner, which is never adopted', async () => {
      const metadata = { name: 'vc-products', namespace: HOME }
      world.client.seed(service, { apiVersion: 'v1', kind: 'Service', metadata, spec: { selector: { app: 'theirs' } } })
      await world.create()
      await world.converge()
      expect(await world.says()).to.match(/^Failed NameOccupied: Service/)
      expect((await world.object(service, 'vc-products'))?.spec).to.deep.equal({ selector: { app: 'theirs' } })
    })
  })

  describe('applies', () => {
    beforeEach(async () => {
      await world.create({ computePlan: 'vector-medium' })
      await world.converge()
    })

    it('a stop, which removes the peers and keeps the data', async () => {
      await world.change({ running: false })
      await world.pass()
      expect(await world.says()).to.equal('Updating Stopping: Waiting for 3 peers to stop.')
      await world.converge()
      expect(await world.says()).to.equal('Stopped Stopped: No peer runs; the data is kept.')
      expect(world.engine.orders).to.deep.equal([])
      expect([...(await world.names(pod))]).to.deep.equal([])
    })

    it('a start after a stop', async () => {
      await world.change({ running: false })
      await world.converge()
      await world.change({ running: true })
      await world.pass()
      expect(await world.says()).to.equal('Updating Starting: 0 of 3 peers are ready.')
      await world.converge()
      expect(await world.says()).to.match(/^Running/)
    })

    it('a restart of each peer once', async () => {
      const restartedAt = '2026-11-02T00:00:00Z'
      await world.change({ restartedAt })
      await world.pass()
      await world.play([2])
      await world.pass()
      expect(await world.says()).to.match(/^Updating Restarting/)
      await world.converge()
      expect((await world.cluster()).status?.restartedAt).to.equal(restartedAt)
      const version = (await world.workload())?.metadata.resourceVersion
      await world.converge()
      expect((await world.workload())?.metadata.resourceVersion).to.equal(version)
    })

    it('replicas 0, which is reported as Stopped', async () => {
      await world.change({ replicas: 0 })
      await world.converge()
      expect(await world.says()).to.match(/^Stopped Stopped/)
    })

    it('more replicas', async () => {
      await world.change({ replicas: 5 })
      await world.pass()
      expect(await world.says()).to.equal('Updating Scaling: 3 of 5 peers are ready.')
      await world.converge()
      expect((await world.cluster()).status).to.include({ replicas: 5, readyReplicas: 5 })
    })

    it('another plan, one peer at a time', async () => {
      await world.change({ computePlan: 'vector-large', storageSize: '50Gi' })
      await world.pass()
      await world.play([2])
      await world.pass()
      expect(await world.says()).to.match(/^Updating RollingOut/)
      await world.converge()
      expect(await world.says()).to.match(/^Running/)
    })

    it('a new version and reports the running one', async () => {
      const { spec } = await world.cluster()
      expect(spec.vectorVersion).to.equal('1.18.2')
      await world.change({ vectorVersion: '1.17.1' })
      await world.pass()
      expect((await world.cluster()).status?.vectorVersion).to.equal('1.18.2')
      await world.converge()
      expect((await world.cluster()).status?.vectorVersion).to.equal('1.17.1')
    })

    it('enableLoadBalancer, waits for its address and removes the Service again', async () => {
      await world.change({ enableLoadBalancer: true })
      await world.converge()
      expect(await world.says()).to.equal('Updating WaitingForAddress: The load balancer has no address yet.')
      for (const [ingress, address, publicEndpoint] of [
        [{ ip: '203.0.113.7' }, '203.0.113.7', 'http://203.0.113.7:6333'],
        [{ ip: '2001:db8::7' }, '2001:db8::7', 'http://[2001:db8::7]:6333'],
        [{ hostname: 'lb-1.cloud.example' }, 'lb-1.cloud.example', 'http://lb-1.cloud.example:6333'],
      ] as const) {
        world.client.edit(service, { namespace: HOME, name: 'vcpublic-products' }, (object) => {
          object.status = { loadBalancer: { ingress: [ingress] } }
        })
        await world.converge()
        const { status } = await world.cluster()
        expect([status?.externalAddresses, status?.publicEndpoint]).to.deep.equal([[address], publicEndpoint])
      }
      await world.change({ enableLoadBalancer: false })
      await world.converge()
      expect(await world.names(service)).to.deep.equal(['vc-products', 'vcpeers-products'])
      expect((await world.cluster()).status).to.not.have.any.keys('externalAddresses', 'publicEndpoint')
    })
  })

  describe('is requeued by', () => {
    const key = `${HOME}/products`
    const named = (name: string, over: object = {}) => ({ apiVersion: '', kind: '', metadata: { name }, ...over })
    const waits = async (phase: string, spec: Parameters<VectorWorld['create']>[0] = {}) => {
      await world.create(spec)
      world.client.edit(VectorCluster.resource, { namespace: HOME, name: 'products' }, (object) => {
        object.status = { phase }
      })
      await world.pass('nobody')
    }

    it('its pods only', async () => {
      const labels = { 'freehold.dev/owner-kind': 'VectorCluster', 'freehold.dev/owner-name': 'products' }
      const metadata = { name: 'vc-products-0', namespace: HOME, labels }
      expect(world.woken(pod, { apiVersion: 'v1', kind: 'Pod', metadata })).to.deep.equal([key])
      const other = { ...metadata, labels: { ...labels, 'freehold.dev/owner-kind': 'App' } }
      expect(world.woken(pod, { apiVersion: 'v1', kind: 'Pod', metadata: other })).to.deep.equal([])
    })

    it('its plan, or any plan if it names none, because the default may have changed', async () => {
      await world.create({ computePlan: 'vector-small' })
      await world.create({}, 'unnamed')
      await world.pass('nobody')
      expect(world.woken(ComputePlan.resource, named('vector-small'))).to.deep.equal([key, `${HOME}/unnamed`])
      expect(world.woken(ComputePlan.resource, named('vector-large'))).to.deep.equal([`${HOME}/unnamed`])
    })

    it('a released host that it waits for', async () => {
      const host = `shop-11111111.${DOMAIN}`
      await waits('NameOccupied', { enableIngress: true, ingressHost: host })
      const claim = (value: string) =>
        named('x', { spec: { value, holder: { kind: 'App', namespace: HOME, name: 'y' } } })
      expect(world.woken(NameClaim.resource, claim(host))).to.deep.equal([key])
      expect(world.woken(NameClaim.resource, claim(`other-11111111.${DOMAIN}`))).to.deep.equal([])
    })

    it('changes of its boundary, group and neighbours while it exceeds a quota', async () => {
      await waits('QuotaExceeded')
      const group = { apiVersion: '', kind: '', metadata: { name: 'search', namespace: `boundary-${BOUNDARY_ID}` } }
      const neighbour = { apiVersion: '', kind: '', metadata: { name: 'neighbour', namespace: HOME } }
      expect(world.woken(Boundary.resource, named(BOUNDARY_ID))).to.deep.equal([key])
      expect(world.woken(Boundary.resource, named('another'))).to.deep.equal([])
      expect(world.woken(ResourceGroup.resource, group)).to.deep.equal([key])
      expect(world.woken(VectorCluster.resource, neighbour)).to.deep.equal([key])
    })

    it('no neighbour or boundary while it is Available', async () => {
      await waits('Available')
      const neighbour = { apiVersion: '', kind: '', metadata: { name: 'neighbour', namespace: HOME } }
      expect(world.woken(VectorCluster.resource, neighbour)).to.deep.equal([])
      expect(world.woken(Boundary.resource, named(BOUNDARY_ID))).to.deep.equal([])
    })
  })

  describe('reports peers', () => {
    const waitingFor = (reason: string) => {
      world.client.edit(pod, { namespace: HOME, name: 'vc-products-0' }, (object) => {
        object.status = { containerStatuses: [{ state: { waiting: { reason, message: 'secret words' } } }] }
      })
      world.client.edit(statefulSet, { namespace: HOME, name: 'vc-products' }, (object) => {
        Object.assign(object.status as object, { readyReplicas: 0 })
      })
    }
    it('that fit on no node', async () => {
      await world.create()
      await world.converge()
      world.client.edit(pod, { namespace: HOME, name: 'vc-products-0' }, (object) => {
        const message = '0/3 nodes are available: 3 Insufficient cpu.'
        object.status = { conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }] }
      })
      world.client.edit(statefulSet, { namespace: HOME, name: 'vc-products' }, (object) => {
        Object.assign(object.status as object, { readyReplicas: 0 })
      })
      await world.pass()
      expect(await world.says()).to.match(/0 of 1 peer is ready\. No node has \S+ cpu left for pod vc-products-0\.$/)
    })

    const cases: [sentence: string, reason: string, expected: string][] = [
      [
        'with an invalid container configuration',
        'CreateContainerConfigError',
        'Failed ConfigurationInvalid: Pod vc-products-0: CreateContainerConfigError.',
      ],
      [
        'whose image cannot be pulled',
        'ImagePullBackOff',
        'Failed ImagePullFailed: Pod vc-products-0: ImagePullBackOff.',
      ],
      ['that crash', 'CrashLoopBackOff', 'Failed CrashLooping: Pod vc-products-0: CrashLoopBackOff.'],
      [
        'that are not ready without a known cause',
        'ContainerCreating',
        'Failed PartiallyAvailable: 0 of 1 peer is ready.',
      ],
    ]
    for (const [sentence, reason, expected] of cases) {
      it(sentence, async () => {
        await world.create()
        await world.converge()
        waitingFor(reason)
        await world.pass()
        expect(await world.says()).to.equal(expected)
      })
    }
  })
})

describe('vectorVersion', () => {
  it('is raised one minor version at a time, however fast the spec changes', async () => {
    const world = new VectorWorld()
    await world.start()
    await world.create({ vectorVersion: '1.16.3', replicas: 2 })
    await world.converge()
    const images: string[] = []
    const look = async () => {
      const found = (await world.workload()) as unknown as
        | { spec: { template: { spec: { containers: { image: string }[] } } } }
        | undefined
      const image = found?.spec.template.spec.containers[0]?.image ?? ''
      if (images.at(-1) !== image) images.push(image)
    }
    await look()
    await world.change({ vectorVersion: '1.17.1' })
    await world.change({ vectorVersion: '1.18.2' })
    for (let round = 0; round < 12; round += 1) {
      await world.pass()
      await look()
      await world.play()
    }
    expect(images.map((image) => /v([\d.]+)-/.exec(image)?.[1])).to.deep.equal(['1.16.3', '1.17.1', '1.18.2'])
    expect(await world.says()).to.match(/^Running Available/)
  })
})
