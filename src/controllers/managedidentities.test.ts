import { expect } from 'chai'
import { StandInApp } from '../../test/make/workload.ts'
import { BOUNDARY_ID, ControllerBench } from '../../test/worlds/controllers.ts'
import { FINALIZER, INCARNATION_ANNOTATION, OWNER_KIND_LABEL } from '../core/labels.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../core/names.ts'
import type { KubeObject } from '../core/object.ts'
import { PlatformClient } from '../crds/identity.ts'
import { ManagedIdentity } from '../crds/managedidentities.ts'
import { RoleAssignment } from '../crds/rbac.ts'
import { secret } from '../kube/builtin.ts'
import { managedIdentityController } from './managedidentities.ts'

const ID = '5d1f8a52-7a4e-4b52-9a55-0d6c8f3f9b05'
const SYSTEM = SYSTEM_NAMESPACE

describe('ManagedIdentity controller', () => {
  let bench: ControllerBench
  let space: string
  const clients = async () => (await bench.client.list<PlatformClient & KubeObject>(PlatformClient.resource)).items
  const secrets = async () => (await bench.client.list(secret, { namespace: SYSTEM })).items
  const identity = () => bench.find<ManagedIdentity & KubeObject>(ManagedIdentity.resource, ID, space)
  const phase = async () => (await identity())?.status?.phase

  const app = (name = 'shop', incarnation = 'life-of-the-shop') =>
    bench.seed(StandInApp, name, {}, { namespace: space, annotations: { [INCARNATION_ANNOTATION]: incarnation } })
  const seedIdentity = (spec: object, metadata: Partial<KubeObject['metadata']> = {}) =>
    bench.seed(
      ManagedIdentity,
      ID,
      { resourceName: 'shop', resourceType: 'apps', secretVersion: 1, ...spec },
      { namespace: space, ...metadata },
    )
  const started = async (spec: object = {}) => {
    const uid = app().metadata.uid ?? ''
    seedIdentity({ resourceUid: uid, ...spec })
    await bench.start()
    return uid
  }
  const patchIdentity = async (patch: object) => {
    await bench.client.mergePatch(ManagedIdentity.resource, { namespace: space, name: ID }, patch)
    await bench.rest()
  }

  beforeEach(() => {
    bench = new ControllerBench([managedIdentityController([StandInApp])])
    space = bench.seedGroup('shop').groupSpace
  })
  afterEach(() => bench.stop())

  it('creates a service account with a Secret and sets the resource as owner', async () => {
    const uid = await started()
    const [client] = await clients()
    const [made] = await secrets()
    const found = await identity()
    expect(client?.metadata.name).to.equal(found?.status?.principalId)
    expect(client?.spec.secretName).to.equal(made?.metadata.name)
    expect(made?.metadata.labels?.[OWNER_KIND_LABEL]).to.equal('ManagedIdentity')
    const data = made?.data as { 'client-secret': string } | undefined
    expect(Buffer.from(data?.['client-secret'] ?? '', 'base64').length).to.equal(43)
    expect(found?.metadata.ownerReferences?.map((reference) => reference.uid)).to.deep.equal([uid])
    expect(found?.metadata.finalizers).to.include(FINALIZER)
    expect(found?.status?.status).to.equal('Running')
  })

  it('writes nothing at rest', async () => {
    await started()
    bench.writes()
    await patchIdentity({ metadata: { labels: { touched: 'yes' } } })
    expect(bench.writes().filter((call) => !call.startsWith('patch managedidentities'))).to.deep.equal([])
  })

  it('never reads a Secret in the system namespace', async () => {
    await started()
    await patchIdentity({ spec: { secretVersion: 2 } })
    await bench.client.remove(ManagedIdentity.resource, { namespace: space, name: ID })
    await bench.rest()
    // In its own group it may: a copy of the credentials is there.
    const ofPlatform = bench.client.calls.filter(
      ({ resource, key }) => resource === 'secrets' && !key.startsWith(space),
    )
    const verbs = ofPlatform.map(({ verb }) => verb)
    expect([...new Set(verbs)].sort()).to.deep.equal(['create', 'delete'])
  })

  it('rotates by creating a Secret, switching the account to it and deleting the old one', async () => {
    await started()
    const [before] = await secrets()
    await patchIdentity({ spec: { secretVersion: 2 } })
    const [client] = await clients()
    const left = await secrets()
    expect(left.map(({ metadata }) => metadata.name)).to.deep.equal([client?.spec.secretName])
    expect(left[0]?.metadata.name).not.to.equal(before?.metadata.name)
    expect((await identity())?.status?.secretVersion).to.equal(2)
  })

  it('creates new credentials once after the Secret of the account was lost', async () => {
    await started()
    const [lost] = await secrets()
    const [client] = await clients()
    const name = client?.metadata.name ?? ''
    await bench.client.remove(secret, { namespace: SYSTEM, name: lost?.metadata.name ?? '' })
    const status = { missingSecrets: [lost?.metadata.name] }
    const ref = { namespace: SYSTEM, name }
    await bench.client.mergePatch(PlatformClient.resource, ref, { status }, { subresource: 'status' })
    await bench.rest()
    const [made] = await secrets()
    expect(made?.metadata.name).to.not.equal(lost?.metadata.name)
    expect((await clients())[0]?.spec.secretName).to.equal(made?.metadata.name)
    expect((await identity())?.spec.secretVersion).to.equal(2)
    expect(await phase()).to.equal('Available')
  })

  it('reuses a Secret that was created before an interruption', async () => {
    let failures = 0
    bench.client.fail('apply', PlatformClient.resource, () => {
      failures += 1
      return failures === 1 ? new Error('killed') : undefined
    })
    await started()
    const [first] = await secrets()
    await bench.clock.advance(60_000)
    await bench.rest()
    expect(failures).to.be.greaterThan(0)
    expect((await secrets()).map(({ data }) => data)).to.deep.equal([first?.data])
    expect(await clients()).to.have.length(1)
  })

  describe('after a crash between the copy in the group and the account', () => {
    const inGroup = async () => (await bench.client.list(secret, { namespace: space })).items.length
    /** While it is true, nothing after the copy succeeds. */
    let isDead: boolean
    const die = () => {
      isDead = true
      bench.client.fail(
        'apply',
        PlatformClient.resource,
        () => {
          if (isDead) throw new Error('killed')
        },
        100,
      )
    }
    const revive = async () => {
      isDead = false
      await bench.clock.advance(60_000)
      await bench.rest()
    }

    it('deletes the copy when mounted was turned off meanwhile', async () => {
      die()
      await started({ mounted: true })
      expect(await inGroup(), 'the copy').to.equal(1)
      await patchIdentity({ spec: { mounted: false } })
      await revive()
      expect([await inGroup(), (await identity())?.status?.mounted]).to.deep.equal([0, false])
    })

    it('deletes the copy of an identity that was never mounted before', async () => {
      await started({ mounted: false })
      die()
      await patchIdentity({ spec: { mounted: true, secretVersion: 2 } })
      expect(await inGroup(), 'the copy').to.equal(1)
      await patchIdentity({ spec: { mounted: false } })
      await revive()
      expect([await inGroup(), (await identity())?.status?.mounted]).to.deep.equal([0, false])
    })
  })

  it('deletes assignments, then account and Secret with its resource', async () => {
    await started()
    const principalId = (await identity())?.status?.principalId ?? ''
    const grant = (name: string, who: string, namespace: string) =>
      bench.seed(RoleAssignment, name, { principalId: who, roleDefinitionName: 'Reader', scope: '/' }, { namespace })
    grant('ours', principalId, boundaryNamespace(BOUNDARY_ID))
    grant('ours-at-the-root', principalId, SYSTEM)
    grant('theirs', BOUNDARY_ID, boundaryNamespace(BOUNDARY_ID))
    bench.writes()
    await bench.client.remove(StandInApp.resource, { namespace: space, name: 'shop' })
    await bench.rest()
    expect(await identity()).to.equal(undefined)
    expect(await clients()).to.deep.equal([])
    expect(await secrets()).to.deep.equal([])
    const { items } = await bench.client.list(RoleAssignment.resource)
    expect(items.map(({ metadata }) => metadata.name)).to.deep.equal(['theirs'])
    const order = bench
      .writes()
      .filter((call) => call.startsWith('delete '))
      .map((call) => call.split(' ')[1]?.split('.')[0])
    expect(order.indexOf('platformclients')).to.be.greaterThan(order.lastIndexOf('roleassignments'))
    expect(order.indexOf('secrets')).to.be.greaterThan(order.indexOf('platformclients'))
  })

  it('is deleted although its resource is recreated at the same moment', async () => {
    await started()
    await bench.client.remove(StandInApp.resource, { namespace: space, name: 'shop' })
    app('shop', 'another-life')
    await bench.rest()
    expect(await identity()).to.equal(undefined)
  })

  it('keeps an identity after a restore that changed every uid', async () => {
    app('shop', 'life-of-the-shop')
    seedIdentity(
      { resourceUid: 'uid-before-the-restore' },
      { annotations: { 'freehold.dev/incarnation-of-owner': 'life-of-the-shop' } },
    )
    await bench.start()
    expect((await identity())?.status?.status).to.equal('Running')
  })

  it('waits for a resource that a restore creates after it, and deletes itself without one', async () => {
    const annotations = { 'freehold.dev/incarnation-of-owner': 'life-of-the-shop' }
    const creationTimestamp = new Date(bench.clock.now()).toISOString()
    seedIdentity({ resourceUid: 'uid-before-the-restore' }, { annotations, creationTimestamp })
    await bench.start()
    expect(await phase()).to.equal('WaitingForDependency')
    app('shop', 'life-of-the-shop')
    await bench.rest()
    expect((await identity())?.status?.status).to.equal('Running')
    await bench.client.remove(StandInApp.resource, { namespace: space, name: 'shop' })
    await bench.rest()
    expect(await identity()).to.equal(undefined)
    seedIdentity({ resourceUid: 'uid-before-the-restore' }, { annotations, creationTimestamp })
    await bench.rest()
    await bench.clock.advance(600_000)
    await bench.rest()
    expect(await identity()).to.equal(undefined)
  })

  it('reports ReferenceMissing and creates no account without the resource', async () => {
    seedIdentity({ resourceUid: 'nobody' })
    await bench.start()
    expect(await phase()).to.equal('ReferenceMissing')
    expect(await clients()).to.deep.equal([])
  })

  it('serves an identity of a collection without a controller here', async () => {
    seedIdentity({ resourceType: 'jobs', resourceUid: 'made-by-an-administrator' })
    await bench.start()
    expect((await identity())?.status?.status).to.equal('Running')
    expect(await clients()).to.have.length(1)
  })

  it('creates another principal for a recreated identity', async () => {
    await started()
    const before = (await identity())?.status?.principalId
    await bench.client.remove(ManagedIdentity.resource, { namespace: space, name: ID })
    await bench.rest()
    const [shop] = (await bench.client.list(StandInApp.resource)).items
    await bench.client.create(ManagedIdentity.resource, {
      apiVersion: ManagedIdentity.apiVersion,
      kind: ManagedIdentity.kind,
      metadata: { name: ID, namespace: space },
      spec: { resourceName: 'shop', resourceType: 'apps', resourceUid: shop?.metadata.uid, secretVersion: 1 },
    })
    await bench.rest()
    expect((await identity())?.status?.principalId)
      .to.be.a('string')
      .that.does.not.equal(before)
  })

  it('reports NameOccupied for an account of another owner', async () => {
    await started()
    const [client] = await clients()
    const name = client?.metadata.name ?? ''
    await bench.client.mergePatch(
      PlatformClient.resource,
      { namespace: SYSTEM, name },
      { metadata: { annotations: { 'freehold.dev/incarnation-of-owner': 'foreign' } } },
    )
    await patchIdentity({ spec: { secretVersion: 2 } })
    expect(await phase()).to.equal('NameOccupied')
  })
})
