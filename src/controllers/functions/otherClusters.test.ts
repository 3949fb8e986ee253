import { expect } from 'chai'
import { dataThere, decoded, FAR_CONTROLLERS, joinFar, namesIn } from '../../../test/crashes/far.ts'
import { FAR } from '../../../test/crashes/operator.ts'
import { HOME, OUTER, seedGroup } from '../../../test/crashes/seeds.ts'
import { World } from '../../../test/crashes/world.ts'
import { functionNames, functionObjectName } from '../../contracts/functions.ts'
import { remoteCopyName } from '../../contracts/remoteCopies.ts'
import { entryName } from '../../contracts/vaults/names.ts'
import { OWNER_INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { FunctionNamespace, ServerlessFunction } from '../../crds/functions.ts'
import { ManagedIdentity } from '../../crds/managedidentities.ts'
import { NameClaim } from '../../crds/nameclaims.ts'
import { BoundaryProjection } from '../../crds/projections.ts'
import { SecretVault, VaultEntry } from '../../crds/vaults.ts'
import { VectorCluster } from '../../crds/vector.ts'
import { deployment, ingress, pod, secret } from '../../kube/builtin.ts'

const SHOP = 'shop'
const NAME = functionObjectName(SHOP, 'orders')
const NAMES = functionNames(NAME)
const CONTROLLERS = [
  ...FAR_CONTROLLERS,
  ...['functionnamespace', 'serverlessfunction', 'managedidentity', 'secretvault', 'vaultentry', 'deploymentrecord'],
  'vectorcluster',
]

describe('functions on another cluster', () => {
  let world: World

  beforeEach(async () => {
    world = new World((all) => all.filter(({ name }) => CONTROLLERS.includes(name)))
    seedGroup(world.server)
    await world.lead()
    await joinFar(world)
  })
  afterEach(() => world.stop())

  const statusOf = async (kind: typeof FunctionNamespace | typeof ServerlessFunction, name: string) =>
    ((await world.find(kind.resource, name))?.status ?? {}) as Record<string, unknown>
  const isReady = (kind: typeof FunctionNamespace | typeof ServerlessFunction, name: string) =>
    world
      .until(`${name} is ready`, () => world.isReady(kind, name))
      .catch(async (cause: Error) => {
        const { phase, statusMessage } = await statusOf(kind, name)
        throw new Error(`${cause.message} It says ${phase}: ${statusMessage}`, { cause })
      })

  async function make({ around = {}, own = {} }: { around?: object; own?: object } = {}): Promise<void> {
    await world.make(FunctionNamespace, SHOP, { runtime: 'nodejs', clusterId: FAR, ...around })
    await world.make(ServerlessFunction, NAME, {
      ...{ namespaceName: SHOP, functionName: 'orders', handler: 'index', image: 'orders:1', minReplicas: 1, ...own },
      namespaceSecrets: ['managedidentities', 'secretvaults', 'vectorclusters'],
    })
    await isReady(FunctionNamespace, SHOP)
    await isReady(ServerlessFunction, NAME)
  }

  it('run there, list their copies in the status and have their public host on the platform', async () => {
    await make()
    expect(await namesIn(world.far, deployment)).to.deep.equal([NAMES.workload])
    expect(await namesIn(world.server, deployment)).to.deep.equal([])
    const [copy = ''] = await namesIn(world.far, pod)
    await world.until('the copy is told', async () => {
      const { copies } = await statusOf(ServerlessFunction, NAME)
      return Array.isArray(copies) && copies.includes(remoteCopyName({ clusterId: FAR, pod: copy }))
    })
    expect(await namesIn(world.server, ingress, SYSTEM_NAMESPACE)).to.have.length(1)
    expect((await world.far.list(ingress)).items).to.deep.equal([])
    const { publicHost } = await statusOf(FunctionNamespace, SHOP)
    expect(publicHost).to.not.match(/\.far\.example\.org$/)
  })

  it('scale to desiredReplicas of the status here', async () => {
    await make({ own: { minReplicas: 0 } })
    expect(await namesIn(world.far, pod)).to.deep.equal([])
    const ref = { namespace: HOME, name: NAME }
    const status = { desiredReplicas: 2 }
    await world.server.mergePatch(ServerlessFunction.resource, ref, { status }, { subresource: 'status' })
    await world.until('two copies serve', async () => (await statusOf(ServerlessFunction, NAME)).readyReplicas === 2)
    expect(await namesIn(world.far, pod)).to.have.length(2)
  })

  it('get vault values from here as a Secret there', async () => {
    await world.make(SecretVault, 'safe', {})
    await world.makeSecret('incoming', { value: 'hunter2' })
    const valueFrom = { secretName: 'incoming', key: 'value' }
    await world.make(VaultEntry, entryName('safe', 'Token'), { vaultName: 'safe', secretName: 'Token', valueFrom })
    await make({ own: { env: [{ name: 'TOKEN', secret: { vaultName: 'safe', secretName: 'Token' } }] } })
    expect(decoded((await dataThere(world, NAMES.values))?.TOKEN)).to.equal('hunter2')
    expect(await namesIn(world.server, secret)).to.not.include(NAMES.values)
  })

  it("stall when they refer to a database of the platform's own cluster", async () => {
    await world.make(VectorCluster, 'search', {})
    await world.until('it is ready', () => world.isReady(VectorCluster, 'search'))
    const output = { collection: 'vectorclusters', name: 'search', output: 'restEndpoint' }
    await world.make(FunctionNamespace, SHOP, { runtime: 'nodejs', clusterId: FAR })
    const spec = { namespaceName: SHOP, functionName: 'orders', handler: 'index', image: 'orders:1' }
    await world.make(ServerlessFunction, NAME, { ...spec, env: [{ name: 'SEARCH', output }] })
    await world.until('it says so', async () => {
      const { phase } = await statusOf(ServerlessFunction, NAME)
      return phase === 'ConfigurationInvalid'
    })
    expect(await namesIn(world.far, deployment)).to.deep.equal([])
  })

  it('get the credentials of the namespace identity, get new ones, and lose them when it is turned off', async () => {
    await make({ around: { managedIdentity: true } })
    const here = async () => world.secret(String((await statusOf(FunctionNamespace, SHOP)).identitySecret))
    const areThere = async () => {
      const wanted = await here()
      const there = await dataThere(world, NAMES.identity)
      return wanted !== undefined && there?.['client-secret'] === wanted['client-secret']
    }
    expect(await areThere()).to.equal(true)
    const before = (await dataThere(world, NAMES.identity))?.['client-secret']
    const [identity] = (await world.server.list(ManagedIdentity.resource)).items
    await world.change(ManagedIdentity, identity?.metadata.name ?? '', { secretVersion: 2 })
    await world.until('the new ones are there', async () => {
      const now = (await dataThere(world, NAMES.identity))?.['client-secret']
      return now !== before && (await areThere())
    })
    await world.change(FunctionNamespace, SHOP, { managedIdentity: false })
    await world.until('they are taken away', async () => (await dataThere(world, NAMES.identity)) === undefined)
  })

  it('lose the credentials of a removed identity although function and namespace stall', async () => {
    await make({ around: { managedIdentity: true } })
    expect(await dataThere(world, NAMES.identity)).to.not.equal(undefined)
    const here = String((await statusOf(FunctionNamespace, SHOP)).identitySecret)
    await world.change(ServerlessFunction, NAME, { computePlan: 'nowhere' })
    await world.change(FunctionNamespace, SHOP, { computePlan: 'nowhere', managedIdentity: false })
    await world.rest()
    expect((await statusOf(ServerlessFunction, NAME)).phase).to.equal('PlanNotFound')
    expect((await statusOf(FunctionNamespace, SHOP)).phase).to.equal('PlanNotFound')
    expect(await dataThere(world, NAMES.identity)).to.equal(undefined)
    expect(await world.secret(here)).to.equal(undefined)
  })

  it('wait with their namespace for the projection of the boundary', async () => {
    await world.remove(BoundaryProjection, FAR, OUTER)
    await world.until('it is gone', () => world.isGone(BoundaryProjection, FAR, OUTER))
    await world.make(FunctionNamespace, SHOP, { runtime: 'nodejs', clusterId: FAR })
    const spec = { namespaceName: SHOP, functionName: 'orders', handler: 'index', image: 'orders:1' }
    await world.make(ServerlessFunction, NAME, spec)
    await world.rest()
    for (const [kind, name] of [
      [FunctionNamespace, SHOP],
      [ServerlessFunction, NAME],
    ] as const) {
      const { phase, statusMessage } = await statusOf(kind, name)
      expect([phase, statusMessage]).to.deep.equal([
        'ReferenceMissing',
        `The boundary is not projected on cluster "${FAR}". Project it, or choose another cluster.`,
      ])
    }
    await world.make(BoundaryProjection, FAR, { clusterId: FAR }, OUTER)
    await isReady(FunctionNamespace, SHOP)
    await isReady(ServerlessFunction, NAME)
  })

  it('are deleted there with their namespace, which also releases path and Ingress here', async () => {
    await make({ around: { managedIdentity: true } })
    await world.remove(FunctionNamespace, SHOP)
    await world.until('the namespace is gone', () => world.isGone(FunctionNamespace, SHOP))
    await world.rest()
    expect(await namesIn(world.far, deployment)).to.deep.equal([])
    expect(await namesIn(world.far, secret)).to.not.include(NAMES.identity)
    expect((await world.server.list(NameClaim.resource)).items).to.deep.equal([])
    expect(await namesIn(world.server, ingress, SYSTEM_NAMESPACE)).to.deep.equal([])
  })

  it('do not start while their namespace is being deleted', async () => {
    await world.make(FunctionNamespace, SHOP, { runtime: 'nodejs', clusterId: FAR })
    await isReady(FunctionNamespace, SHOP)
    const ref = { namespace: HOME, name: SHOP }
    const { metadata } = (await world.find(FunctionNamespace.resource, SHOP)) ?? {}
    const finalizers = [...(metadata?.finalizers ?? []), 'example.com/another']
    await world.server.mergePatch(FunctionNamespace.resource, ref, { metadata: { finalizers } })
    await world.remove(FunctionNamespace, SHOP)
    await world.rest()
    const spec = { namespaceName: SHOP, functionName: 'orders', handler: 'index', image: 'orders:1', minReplicas: 1 }
    await world.make(ServerlessFunction, NAME, spec)
    await world.rest()
    expect(await namesIn(world.far, deployment)).to.deep.equal([])
    expect((await statusOf(ServerlessFunction, NAME)).statusMessage).to.equal(
      `Function namespace "${SHOP}" is being deleted.`,
    )
  })

  const tearOff = async (kind: typeof FunctionNamespace | typeof ServerlessFunction, name: string) => {
    await world.server.mergePatch(kind.resource, { namespace: HOME, name }, { metadata: { finalizers: null } })
    await world.remove(kind, name)
    await world.rest()
    expect(await world.isGone(kind, name)).to.equal(true)
  }
  const leftThere = async () => [
    ...(await namesIn(world.far, deployment)),
    ...(await namesIn(world.far, secret)).filter((name) => name !== 'freehold-registry-pull'),
  ]

  it('are removed there when their namespace loses its finalizers and is deleted', async () => {
    await make({ around: { managedIdentity: true } })
    await tearOff(FunctionNamespace, SHOP)
    expect(await leftThere()).to.deep.equal([])
    expect((await statusOf(ServerlessFunction, NAME)).phase).to.equal('ReferenceMissing')
    await world.make(FunctionNamespace, SHOP, { runtime: 'nodejs', clusterId: FAR })
    await isReady(ServerlessFunction, NAME)
    expect(await namesIn(world.far, deployment)).to.deep.equal([NAMES.workload])
  })

  it('are removed there with their credentials when they lose their finalizers and are deleted', async () => {
    await make({ around: { managedIdentity: true } })
    const workload = { namespace: HOME, name: NAMES.workload }
    await tearOff(ServerlessFunction, NAME)
    expect(await leftThere()).to.deep.equal([])
    expect(await world.far.peek(deployment, workload)).to.equal(undefined)
  })

  it('are removed there if they were deleted without finalizers while no controller ran', async () => {
    await make({ around: { managedIdentity: true } })
    await world.stop()
    const ref = { namespace: HOME, name: NAME }
    await world.server.mergePatch(ServerlessFunction.resource, ref, { metadata: { finalizers: null } })
    await world.remove(ServerlessFunction, NAME)
    await world.lead()
    await world.until('nothing is left', async () => (await leftThere()).length === 0)
  })

  it('are replaced by a function of the same name created while no controller ran', async () => {
    await make()
    const [before] = (await world.far.list(deployment)).items
    await world.stop()
    const ref = { namespace: HOME, name: NAME }
    await world.server.mergePatch(ServerlessFunction.resource, ref, { metadata: { finalizers: null } })
    await world.remove(ServerlessFunction, NAME)
    const spec = { namespaceName: SHOP, functionName: 'orders', handler: 'index', image: 'orders:2', minReplicas: 1 }
    await world.make(ServerlessFunction, NAME, spec)
    await world.lead()
    await isReady(ServerlessFunction, NAME)
    const [after] = (await world.far.list(deployment)).items
    expect(after?.metadata.uid).to.not.equal(before?.metadata.uid)
  })

  it('of another platform on the same cluster are kept', async () => {
    await make()
    const [own] = (await world.far.list(deployment)).items
    const { apiVersion, kind, metadata, spec } = own as KubeObject
    const theirs = { name: metadata.name, namespace: 'shop-of-others' }
    const annotations = { [OWNER_INCARNATION_ANNOTATION]: 'theirs' }
    await world.stop()
    world.far.seed(deployment, {
      apiVersion,
      kind,
      metadata: { ...theirs, labels: metadata.labels ?? {}, annotations },
      spec,
    })
    await world.lead()
    await world.rest()
    expect(await world.far.peek(deployment, theirs)).to.not.equal(undefined)
  })

  it('report ClusterUnreachable and stay, while their namespace stays ready', async () => {
    await make()
    const agent = { connection: 'one', lostConnection: 'one', lastSeenAt: '2025-12-31T00:00:00Z' }
    const status = { agent }
    await world.server.mergePatch(PlatformCluster.resource, { name: FAR }, { status }, { subresource: 'status' })
    await world.until('it says so', async () => {
      const { phase } = await statusOf(ServerlessFunction, NAME)
      return phase === 'ClusterUnreachable'
    })
    await world.remove(ServerlessFunction, NAME)
    await world.rest()
    expect(await world.isGone(ServerlessFunction, NAME), 'what runs there runs on').to.equal(false)
    expect(await namesIn(world.far, deployment)).to.deep.equal([NAMES.workload])
    expect(await world.isReady(FunctionNamespace, SHOP)).to.equal(true)
  })

  it('are deleted here at once after the cluster was revoked, with their paths', async () => {
    await make()
    const revoked = { revokedAt: new Date(world.clock.now() + 1000).toISOString() }
    await world.server.mergePatch(PlatformCluster.resource, { name: FAR }, { spec: revoked })
    await world.until('it says so', async () => {
      const { phase } = await statusOf(ServerlessFunction, NAME)
      return phase === 'ClusterRevoked'
    })
    await world.remove(FunctionNamespace, SHOP)
    await world.until('the namespace is gone', () => world.isGone(FunctionNamespace, SHOP))
    expect((await world.server.list(NameClaim.resource)).items).to.deep.equal([])
  })
})
