import { expect } from 'chai'
import { dataThere, decoded, FAR_CONTROLLERS, joinFar, namesIn } from '../../../test/crashes/far.ts'
import { FAR } from '../../../test/crashes/operator.ts'
import { OUTER, seedGroup } from '../../../test/crashes/seeds.ts'
import { World } from '../../../test/crashes/world.ts'
import { containerNames, REVISION_LABEL } from '../../contracts/containerinstances.ts'
import { revisionOf } from '../../contracts/revisions.ts'
import { entryName } from '../../contracts/vaults/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { PlatformApp } from '../../crds/apps.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { ContainerInstance } from '../../crds/containerinstances.ts'
import type { AnyKind } from '../../crds/define.ts'
import { DeploymentRecord } from '../../crds/deployments.ts'
import { ManagedIdentity } from '../../crds/managedidentities.ts'
import { ObjectAccessKey, ObjectStorageAccount } from '../../crds/objectstorage.ts'
import { BoundaryProjection } from '../../crds/projections.ts'
import { StaticWebApp } from '../../crds/staticwebapps.ts'
import { SecretVault, VaultEntry } from '../../crds/vaults.ts'
import { VectorCluster } from '../../crds/vector.ts'
import { controllerRevision, deployment, ingress, pod, secret } from '../../kube/builtin.ts'

const NAME = 'shop'
const CONTROLLERS = [
  ...FAR_CONTROLLERS,
  ...['containerinstance', 'platformapp', 'staticwebapp', 'deploymentrecord', 'vectorcluster'],
  ...['secretvault', 'vaultentry', 'managedidentity', 'objectstorageaccount', 'objectaccesskey'],
]
const SECRET = { vaultName: 'safe', secretName: 'Token' }
const web = { name: 'web', image: 'site:1', ports: [{ name: 'http', port: 8080 }] }

/** Each kind, and its spec for an image. */
const KINDS: readonly [kind: AnyKind, specOf: (image: string) => object][] = [
  [ContainerInstance, (image) => ({ isPublic: true, components: [{ ...web, image }] })],
  [PlatformApp, (image) => ({ sourceKind: 'Image', image })],
  [StaticWebApp, (image) => ({ image })],
]

/** The kinds with a registry credential of their own, each on both clusters. */
const PULLING = KINDS.slice(0, 2).flatMap(([kind, specOf]) => [
  { kind, specOf, clusterId: FAR, words: `${kind.segment} on another cluster` },
  { kind, specOf, clusterId: undefined, words: `${kind.segment} on this cluster` },
])

describe('container workloads on another cluster', () => {
  let world: World

  beforeEach(async () => {
    world = new World((all) => all.filter(({ name }) => CONTROLLERS.includes(name)))
    seedGroup(world.server)
    await world.lead()
    await joinFar(world)
  })
  afterEach(() => world.stop())

  const make = (kind: AnyKind, spec: object) => world.make(kind, NAME, { clusterId: FAR, ...spec })
  const says = async (kind: AnyKind, name = NAME) => {
    const { phase, statusMessage } = ((await world.find(kind.resource, name))?.status ?? {}) as Record<string, string>
    return `${phase}: ${statusMessage}`
  }
  const isDone = (kind: AnyKind) =>
    world
      .until(`${kind.kind} is ready`, () => world.isReady(kind, NAME))
      .catch(async (cause: Error) => {
        throw new Error(`${cause.message} It says ${await says(kind)}`, { cause })
      })

  for (const [kind, specOf] of KINDS) {
    it(`runs ${kind.segment} there with a public host and keeps their revisions here`, async () => {
      await make(kind, specOf('site:1'))
      await isDone(kind)
      const [host] = (await world.far.list<KubeObject & { spec: { rules: { host: string }[] } }>(ingress)).items
      expect(host?.spec.rules[0]?.host).to.match(/\.far\.example\.org$/)
      await world.change(kind, NAME, specOf('site:2'))
      await world.until('the new image runs', async () => {
        const [found] = (await world.far.list<KubeObject & { spec: { containers: { image: string }[] } }>(pod)).items
        return found?.spec.containers[0]?.image === 'site:2' && (await world.isReady(kind, NAME))
      })
      const revisions = (await world.server.list(controllerRevision)).items.flatMap((one) => revisionOf(one) ?? [])
      expect(revisions.map(({ number }) => number).sort()).to.deep.equal([1, 2])
      const [copy] = (await world.far.list(pod)).items
      expect(copy?.metadata.labels?.[REVISION_LABEL]).to.equal('2')
    })
  }

  it('copies vault values, access keys and identity credentials into Secrets there', async () => {
    await world.make(SecretVault, 'safe', {})
    await world.makeSecret('incoming', { value: 'one' })
    await world.make(VaultEntry, entryName('safe', 'Token'), {
      ...SECRET,
      valueFrom: { secretName: 'incoming', key: 'value' },
    })
    await world.make(ObjectStorageAccount, 'files', {})
    const output = (name: string) => ({ collection: 'objectstorageaccounts', name: 'files', output: name })
    const env = [
      { name: 'TOKEN', secret: SECRET },
      { name: 'KEY', output: output('secretAccessKey') },
    ]
    await make(ContainerInstance, { components: [{ ...web, env }], managedIdentity: true })
    await world.rest()
    // The default that the API server would set.
    for (const key of await namesIn(world.server, ObjectAccessKey.resource))
      await world.change(ObjectAccessKey, key, { isActive: true })
    await isDone(ContainerInstance)
    const values = await dataThere(world, containerNames(NAME).values('web'))
    expect(decoded(values?.TOKEN)).to.equal('one')
    expect(decoded(values?.KEY)).to.not.equal('')
    expect(await namesIn(world.server, ObjectAccessKey.resource)).to.have.length(1)
    const [identity] = (await world.server.list(ManagedIdentity.resource)).items
    const copy = (await namesIn(world.far, secret)).find((name) => name.includes('mi-'))
    const clientSecret = async () => decoded((await dataThere(world, copy ?? ''))?.['client-secret'])
    const first = await clientSecret()
    expect(first).to.equal(decoded((await world.secret(copy ?? ''))?.['client-secret']))

    await world.change(ManagedIdentity, identity?.metadata.name ?? '', { secretVersion: 2 })
    await world.until('the new credentials are there', async () => (await clientSecret()) !== first)
    expect(await clientSecret()).to.equal(decoded((await world.secret(copy ?? ''))?.['client-secret']))

    await world.change(ContainerInstance, NAME, { managedIdentity: false })
    await world.until('they are taken away', async () => !(await namesIn(world.far, secret)).includes(copy ?? ''))
    await world.change(ContainerInstance, NAME, { managedIdentity: true })
    await world.until('they are back', async () => (await namesIn(world.far, secret)).includes(copy ?? ''))
    await world.remove(ContainerInstance, NAME)
    await world.until('it is gone', () => world.isGone(ContainerInstance, NAME))
    expect(await namesIn(world.far, secret)).to.deep.equal(['freehold-registry-pull'])
  })

  for (const [kind, specOf] of KINDS.slice(0, 2))
    for (const clusterId of [FAR, undefined])
      it(`removes dropped credentials of stalled ${kind.segment} on ${clusterId ? 'another' : 'this'} cluster`, async () => {
        await world.make(ObjectStorageAccount, 'files', {})
        const output = { collection: 'objectstorageaccounts', name: 'files', output: 'secretAccessKey' }
        const env = [{ name: 'KEY', output }]
        const spec = specOf('site:1')
        const withKey = 'components' in spec ? { components: [{ ...web, env }] } : { ...spec, env }
        await world.make(kind, NAME, { ...withKey, managedIdentity: true, ...(clusterId && { clusterId }) })
        await world.rest()
        // The default that the API server would set.
        for (const key of await namesIn(world.server, ObjectAccessKey.resource))
          await world.change(ObjectAccessKey, key, { isActive: true })
        await isDone(kind)
        const credentials = async () =>
          [...(await namesIn(world.far, secret)), ...(await namesIn(world.server, secret))].filter((one) =>
            one.includes('mi-'),
          )
        expect(await credentials()).to.have.length(clusterId === undefined ? 1 : 2)
        const without = 'components' in spec ? { components: [web] } : { env: [] }
        await world.change(kind, NAME, { ...without, managedIdentity: false, computePlan: 'nowhere' })
        await world.until('it stalls', async () => (await says(kind)).startsWith('PlanNotFound'))
        await world.rest()
        expect(await credentials()).to.deep.equal([])
        expect(await namesIn(world.server, ObjectAccessKey.resource)).to.deep.equal([])
      })

  const credentials = async () =>
    [...(await namesIn(world.far, secret)), ...(await namesIn(world.server, secret))].filter((one) =>
      one.endsWith(`pull-${NAME}`),
    )
  async function makeWithCredential(kind: AnyKind, spec: object, clusterId: string | undefined): Promise<void> {
    await world.make(SecretVault, 'safe', {})
    await world.makeSecret('incoming', { value: '{"auths":{}}' })
    const valueFrom = { secretName: 'incoming', key: 'value' }
    await world.make(VaultEntry, entryName('safe', 'Token'), { ...SECRET, valueFrom })
    await world.make(kind, NAME, { ...spec, registryCredential: SECRET, ...(clusterId && { clusterId }) })
    await isDone(kind)
  }

  for (const { kind, specOf, clusterId, words } of PULLING)
    for (const [what, spec] of [
      ['is disabled', { enabled: false }],
      ['is deleted', { state: 'Deleted' }],
    ] as const)
      it(`removes the registry credential of ${words} when its secret ${what}`, async () => {
        await makeWithCredential(kind, specOf('site:1'), clusterId)
        expect(await credentials()).to.have.length(1)
        await world.change(VaultEntry, entryName('safe', 'Token'), spec)
        await world.until('it stalls', async () => (await says(kind)).startsWith('ReferenceMissing'))
        await world.rest()
        expect(await credentials()).to.deep.equal([])
      })

  for (const { kind, specOf, clusterId, words } of PULLING)
    for (const [obstacle, phase, hindered] of [
      ['without a plan', 'PlanNotFound', { computePlan: 'nowhere' }],
      ['without a vault', 'ReferenceMissing', { env: [{ name: 'TOKEN', secret: { ...SECRET, vaultName: 'none' } }] }],
    ] as [string, string, { env?: object[] }][])
      it(`removes a dropped registry credential of ${words} that stalled ${obstacle}`, async () => {
        const spec = specOf('site:1')
        await makeWithCredential(kind, spec, clusterId)
        expect(await credentials()).to.have.length(1)
        const { env, ...rest } = hindered
        const change =
          env && 'components' in spec ? { components: [{ ...web, env }] } : { ...rest, ...(env && { env }) }
        await world.change(kind, NAME, { ...change, registryCredential: null })
        await world.until('it stalls', async () => (await says(kind)).startsWith(phase))
        await world.rest()
        expect(await credentials()).to.deep.equal([])
      })

  it('resolves outputs of a database on its own cluster only', async () => {
    const env = [{ name: 'URL', output: { collection: 'vectorclusters', name: 'search', output: 'restEndpoint' } }]
    await world.make(VectorCluster, 'search', { replicas: 1 })
    await make(ContainerInstance, { components: [{ ...web, env }] })
    await world.rest()
    expect(await says(ContainerInstance)).to.match(/^ConfigurationInvalid: VectorCluster "search" runs on another/)
    await world.remove(VectorCluster, 'search')
    await world.until('the database is gone', () => world.isGone(VectorCluster, 'search'))
    await world.make(VectorCluster, 'search', { replicas: 1, clusterId: FAR })
    await isDone(ContainerInstance)
  })

  it('rolls back there to a deployment whose record is here', async () => {
    await make(PlatformApp, { sourceKind: 'Upload' })
    const ids = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222']
    for (const [at, id] of ids.entries()) {
      const spec = { ownerCollection: 'apps', ownerName: NAME, strategy: 'Image', image: `site:${at + 1}` }
      await world.make(DeploymentRecord, id, spec)
      await isDone(PlatformApp)
    }
    const serving = async () =>
      (await world.find<KubeObject & { status?: { servingImage?: string } }>(PlatformApp.resource, NAME))?.status
        ?.servingImage
    expect(await serving()).to.equal('site:2')
    await world.change(PlatformApp, NAME, { rollback: { deploymentId: ids[0], requestedAt: '2026-01-01T00:00:00Z' } })
    await world.until('the first serves again', async () => (await serving()) === 'site:1')
    expect(await namesIn(world.far, deployment)).to.have.length(1)
  })

  it('renews the pull Secret of the group there after a third of a day', async () => {
    await world.rest()
    const before = await dataThere(world, 'freehold-registry-pull')
    expect(decoded(before?.['.dockerconfigjson'])).to.include('registry.test')
    await world.pass(86_400_000 / 3)
    expect(await dataThere(world, 'freehold-registry-pull')).to.not.deep.equal(before)
  })

  it('deletes workload and projection at once after the cluster was revoked', async () => {
    await make(ContainerInstance, { components: [web], isPublic: true })
    await isDone(ContainerInstance)
    await world.change(PlatformCluster, FAR, { revokedAt: new Date(world.clock.now() + 1_000).toISOString() })
    await world.until('the cluster is revoked', async () =>
      (await says(ContainerInstance)).startsWith('ClusterRevoked'),
    )
    await world.remove(ContainerInstance, NAME)
    await world.until('it is gone', () => world.isGone(ContainerInstance, NAME))
    expect(await namesIn(world.far, deployment), 'what runs there runs on').to.have.length(1)
    await world.remove(BoundaryProjection, FAR, OUTER)
    await world.until('the projection is gone', () => world.isGone(BoundaryProjection, FAR, OUTER))
  })
})
