import { expect } from 'chai'
import { BOUNDARY_ID, ControllerBench } from '../../test/worlds/controllers.ts'
import { createAuthority } from '../composition/certificates.ts'
import { CROSSLINK_CA_SECRET, CROSSLINK_NAME, ROTATION_TIMEOUT_MS } from '../contracts/crosslink.ts'
import { metadataNetworks } from '../core/metadataServices.ts'
import { boundaryNamespace } from '../core/names.ts'
import type { KubeObject } from '../core/object.ts'
import { PlatformCluster } from '../crds/clusters.ts'
import { BoundaryCrosslink } from '../crds/crosslink.ts'
import { BoundaryProjection } from '../crds/projections.ts'
import { customResourceDefinition, networkPolicy, secret } from '../kube/builtin.ts'
import { SKUPPER_RESOURCES, skupperSite } from '../kube/skupper.ts'
import { crosslinkController } from './crosslink.ts'

const HERE = '22222222-2222-4222-8222-222222222222'
const FAR = '88888888-8888-4888-8888-888888888888'
const HOME = boundaryNamespace(BOUNDARY_ID)
const REF = { namespace: HOME, name: CROSSLINK_NAME }

describe('BoundaryCrosslink controller', () => {
  let bench: ControllerBench
  const signing = () => bench.find<KubeObject & { data?: object }>(secret, CROSSLINK_CA_SECRET, HOME)
  const links = async () =>
    (await bench.find<KubeObject & BoundaryCrosslink>(BoundaryCrosslink.resource, CROSSLINK_NAME, HOME))?.status
  const change = async (spec: object, status?: object) => {
    const options = status === undefined ? {} : ({ subresource: 'status' } as const)
    await bench.client.mergePatch(
      BoundaryCrosslink.resource,
      REF,
      status === undefined ? { spec } : { status },
      options,
    )
    await bench.rest()
  }
  const start = async (spec: object, { hasSkupper = false } = {}) => {
    bench = new ControllerBench([crosslinkController({ createAuthority })])
    bench.seedGroup('shop')
    const cluster = (name: string, isPlatform: boolean) =>
      bench.seed(PlatformCluster, name, PlatformCluster.spec.parse({ displayName: name, domain: 'a.test', isPlatform }))
    cluster(HERE, true)
    cluster(FAR, false)
    if (hasSkupper)
      for (const { group, version, plural } of SKUPPER_RESOURCES)
        bench.client.seed(customResourceDefinition, {
          apiVersion: 'apiextensions.k8s.io/v1',
          kind: 'CustomResourceDefinition',
          metadata: { name: `${plural}.${group}` },
          spec: { versions: [{ name: version, served: true }] },
          status: { conditions: [{ type: 'Established', status: 'True' }] },
        })
    bench.seed(BoundaryCrosslink, CROSSLINK_NAME, BoundaryCrosslink.spec.parse(spec), { namespace: HOME })
    await bench.start()
  }
  const project = (clusterId: string) => bench.seed(BoundaryProjection, clusterId, { clusterId }, { namespace: HOME })
  const spoke = { clusterId: FAR, role: 1, status: 1, linkStatus: 2, observedAtUtc: '2027-01-01T00:00:00Z' }
  const exposure = {
    ...{ clusterId: FAR, kind: 'Service', namespace: 'shop', publishedPort: 80 },
    ...{ routingKey: 'web', serviceName: 'web' },
  }
  afterEach(() => bench.stop())

  it('reports EngineMissing on a hub without Skupper, but issues the certificate authority', async () => {
    await start({ enabled: true, hubClusterId: HERE })
    const status = await links()
    expect(status).to.include({ phase: 'EngineMissing', status: 'Failed' })
    expect(status?.statusMessage).to.match(/installs Skupper version 2/)
    expect(status?.ca).to.include({ version: 1 })
    expect(JSON.stringify(status)).to.not.include('PRIVATE KEY')
  })

  it('waits for the site of the hub and removes it when disabled', async () => {
    await start({ enabled: true, hubClusterId: HERE }, { hasSkupper: true })
    expect(await links()).to.include({ phase: 'WaitingForWorkload' })
    const ready = { conditions: [{ type: 'Ready', status: 'True' }], endpoints: [{ host: 'hub.test', port: '45671' }] }
    await bench.client.mergePatch(skupperSite, REF, { status: ready }, { subresource: 'status' })
    await bench.rest()
    expect(await links()).to.deep.include({ status: 'Running', hub: { status: 1, endpoint: 'hub.test:45671' } })
    await change({ enabled: false })
    expect(await links())
      .to.include({ status: 'Stopped' })
      .and.not.have.property('hub')
    expect(await bench.find(skupperSite, CROSSLINK_NAME, HOME)).to.equal(undefined)
  })

  it('allows the router egress over IPv4 and IPv6 in a NetworkPolicy with its own name', async () => {
    await start({ enabled: true, hubClusterId: HERE }, { hasSkupper: true })
    const policies = await bench.client.list<KubeObject & { spec: { egress: object[] } }>(networkPolicy, {
      namespace: HOME,
    })
    const own = policies.items.filter(({ metadata }) => metadata.name !== 'freehold-default')
    expect(own.map(({ metadata }) => metadata.name)).to.deep.equal([CROSSLINK_NAME])
    expect(own[0]?.spec.egress[0]).to.deep.equal({
      to: [
        { ipBlock: { cidr: '0.0.0.0/0', except: ['169.254.0.0/16', ...metadataNetworks(4)] } },
        { ipBlock: { cidr: '::/0', except: ['fe80::/10', ...metadataNetworks(6)] } },
      ],
    })
  })

  it('removes the NetworkPolicy of its former name', async () => {
    await start({ enabled: true, hubClusterId: HERE }, { hasSkupper: true })
    const policy = await bench.find<KubeObject>(networkPolicy, CROSSLINK_NAME, HOME)
    expect(policy).to.not.equal(undefined)
    const { uid: _, resourceVersion: __, ...metadata } = policy?.metadata ?? { name: '' }
    await bench.client.create(networkPolicy, {
      ...policy,
      metadata: { ...metadata, name: 'bxl-crosslink' },
    } as KubeObject)
    await bench.rest()
    expect(await bench.find(networkPolicy, 'bxl-crosslink', HOME)).to.equal(undefined)
  })

  it('leaves the site to the agent if the hub is another cluster', async () => {
    await start({ enabled: true, hubClusterId: FAR })
    expect(await links()).to.include({ phase: 'ReferenceMissing' })
    project(FAR)
    await bench.rest()
    expect(await links()).to.include({ phase: 'WaitingForCluster' })
    const hub = { clusterId: FAR, role: 0, status: 1, linkStatus: 0, observedAtUtc: '2027-01-01T00:00:00Z' }
    await change({}, { sites: [hub] })
    expect(await links()).to.include({ status: 'Running' })
  })

  it('discards reports from before it was disabled', async () => {
    await start({ enabled: true, hubClusterId: FAR })
    project(FAR)
    await bench.rest()
    await change({}, { sites: [{ ...spoke, role: 0, linkStatus: 0 }], exposures: [exposure] })
    expect(await links()).to.include({ status: 'Running' })
    await change({ enabled: false })
    expect(await links())
      .to.include({ status: 'Stopped' })
      .and.not.have.any.keys('sites', 'exposures')
    await change({ enabled: true })
    expect(await links()).to.include({ phase: 'WaitingForCluster' })
  })

  it('discards the site of a cluster that left the boundary and no longer waits for it', async () => {
    await start({ enabled: true, hubClusterId: HERE })
    project(FAR)
    await change({}, { sites: [spoke], exposures: [exposure] })
    await change({ pkiVersion: 2 })
    expect((await links())?.rotation).to.include({ step: 'Reissued' })
    await bench.client.remove(BoundaryProjection.resource, { namespace: HOME, name: FAR })
    await bench.rest()
    expect(await links()).to.not.have.any.keys('sites', 'exposures', 'rotation')
  })

  it('drops the old authority after ROTATION_TIMEOUT_MS although a site has not confirmed the new one', async () => {
    await start({ enabled: true, hubClusterId: HERE })
    project(FAR)
    await change({}, { sites: [spoke] })
    await change({ pkiVersion: 2 })
    expect((await links())?.rotation).to.include({ step: 'Reissued', version: 2 })
    expect((await links())?.ca).to.include({ version: 2 })
    await bench.clock.advance(ROTATION_TIMEOUT_MS)
    await bench.rest()
    expect(await links()).to.not.have.property('rotation')
  })

  it('ends a rotation once every site has confirmed the new authority', async () => {
    await start({ enabled: true, hubClusterId: HERE })
    project(FAR)
    await change({}, { sites: [spoke] })
    await change({ pkiVersion: 2 })
    await change({}, { sites: [{ ...spoke, observedPkiVersion: 2 }] })
    expect(await links()).to.not.have.property('rotation')
  })

  it('writes nothing at rest', async () => {
    await start({ enabled: true, hubClusterId: HERE }, { hasSkupper: true })
    bench.writes()
    await bench.client.mergePatch(skupperSite, REF, { metadata: { annotations: { seen: 'yes' } } })
    await bench.rest()
    expect(bench.writes().filter((call) => !call.startsWith('patch sites'))).to.deep.equal([])
  })

  it('waits for the deletion of the authority Secret of a former crosslink', async () => {
    await start({ enabled: true, hubClusterId: HERE })
    await bench.client.remove(BoundaryCrosslink.resource, REF)
    bench.seed(BoundaryCrosslink, CROSSLINK_NAME, BoundaryCrosslink.spec.parse({ enabled: true, hubClusterId: HERE }), {
      namespace: HOME,
    })
    await bench.rest()
    expect(await links()).to.include({ phase: 'WaitingForDependency' })
    await bench.client.remove(secret, { namespace: HOME, name: CROSSLINK_CA_SECRET })
    await bench.clock.advance(10_000)
    await bench.rest()
    expect(await links()).to.include({ phase: 'EngineMissing' })
  })

  it('adopts the authority Secret after a restore', async () => {
    await start({ enabled: true, hubClusterId: HERE })
    const [stored, kept] = [await bench.find(BoundaryCrosslink.resource, CROSSLINK_NAME, HOME), await signing()]
    await bench.stop()
    bench = new ControllerBench([crosslinkController({ createAuthority })])
    bench.seedGroup('shop')
    // As Velero restores them: with the former status, and without owner references.
    bench.client.seed(BoundaryCrosslink.resource, stored as KubeObject)
    const { ownerReferences: _, ...metadata } = (kept as KubeObject).metadata
    bench.client.seed(secret, { ...(kept as KubeObject), metadata })
    await bench.start()
    expect((await signing())?.metadata.ownerReferences?.[0]).to.include({ kind: 'BoundaryCrosslink' })
  })

  it('stores the authority in one Secret that it owns', async () => {
    await start({ enabled: true, hubClusterId: HERE })
    const kept = await signing()
    expect(Object.keys(kept?.data ?? {})).to.deep.equal(['authority'])
    expect(kept?.metadata.ownerReferences?.[0]).to.include({ kind: 'BoundaryCrosslink' })
  })
})
