import { expect } from 'chai'
import { codeOf, recordsWorld } from '../../../test/worlds/recordsWorld.ts'
import { functionObjectName } from '../../contracts/functions.ts'
import { entryName } from '../../contracts/vaults/names.ts'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { PlatformApp } from '../../crds/apps.ts'
import { Boundary } from '../../crds/boundaries.ts'
import type { AnyKind } from '../../crds/define.ts'
import { DeploymentRecord } from '../../crds/deployments.ts'
import { FunctionNamespace, ServerlessFunction } from '../../crds/functions.ts'
import { AccountBucket, ObjectAccessKey, ObjectStorageAccount } from '../../crds/objectstorage.ts'
import { RelationalCluster } from '../../crds/relational.ts'
import { RelationalSnapshot } from '../../crds/relationalSnapshots.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { SecretVault, VaultEntry } from '../../crds/vaults.ts'
import { VectorCluster } from '../../crds/vector.ts'
import type { CacheSet } from '../../kube/caches.ts'
import type { FakeKubeClient } from '../../kube/fake.ts'
import type { Caller } from '../http/context.ts'
import type { createRecords } from './kubeRecords.ts'

const B = '11111111-1111-4111-8111-111111111111'
const namespace = 'shop-0123456789'
const caller: Caller = { principalId: '22222222-2222-4222-8222-222222222222', principalType: 'User', expiresAt: 0 }

describe('Records.create', () => {
  let client: FakeKubeClient
  let caches: CacheSet
  let records: ReturnType<typeof createRecords>
  beforeEach(() => {
    ;({ client, caches, records } = recordsWorld())
  })

  it('is refused in a group or boundary that is being deleted', async () => {
    const inGroup = groupNamespace(B, 'shop')
    const withFinalizer = { finalizers: ['freehold.dev/teardown'] }
    await records.create(ResourceGroup, {
      namespace: boundaryNamespace(B),
      name: 'shop',
      spec: {},
      caller,
      ...withFinalizer,
    })
    await records.create(Boundary, { name: B, spec: { displayName: 'Shop' }, caller, ...withFinalizer })
    await client.remove(ResourceGroup.resource, { namespace: boundaryNamespace(B), name: 'shop' })
    const placed = records.create(VectorCluster, { namespace: inGroup, name: 'late', spec: {}, caller })
    expect(await codeOf(placed)).to.equal('INVALID_STATE')
    await client.remove(Boundary.resource, { name: B })
    const group = records.create(ResourceGroup, { namespace: boundaryNamespace(B), name: 'late', spec: {}, caller })
    expect(await codeOf(group)).to.equal('INVALID_STATE')
  })

  it('is refused in a group or boundary whose deletion is not in the caches yet', async () => {
    const withFinalizer = { finalizers: ['freehold.dev/teardown'] }
    const [inBoundary, inGroup] = [boundaryNamespace(B), groupNamespace(B, 'shop')]
    await records.create(Boundary, { name: B, spec: { displayName: 'Shop' }, caller, ...withFinalizer })
    await records.create(ResourceGroup, { namespace: inBoundary, name: 'shop', spec: {}, caller, ...withFinalizer })
    const leave = ({ metadata }: KubeObject) => Object.assign(metadata, { deletionTimestamp: '2026-01-01T00:00:00Z' })
    client.edit(ResourceGroup.resource, { namespace: inBoundary, name: 'shop' }, leave)
    const placed = records.create(VectorCluster, { namespace: inGroup, name: 'late', spec: {}, caller })
    expect(await codeOf(placed)).to.equal('INVALID_STATE')
    client.edit(Boundary.resource, { name: B }, leave)
    const group = records.create(ResourceGroup, { namespace: inBoundary, name: 'late', spec: {}, caller })
    expect(await codeOf(group)).to.equal('INVALID_STATE')
    expect(client.count('create')).to.equal(2)
  })

  it('reads the boundary of a group and the group of a resource once', async () => {
    const withFinalizer = { finalizers: ['freehold.dev/teardown'] }
    const [inBoundary, inGroup] = [boundaryNamespace(B), groupNamespace(B, 'shop')]
    await records.create(Boundary, { name: B, spec: { displayName: 'Shop' }, caller, ...withFinalizer })
    expect(client.count('get'), 'a boundary has no parent').to.equal(0)
    await records.create(ResourceGroup, { namespace: inBoundary, name: 'shop', spec: {}, caller, ...withFinalizer })
    expect(client.count('get'), 'its boundary').to.equal(1)
    const ref = { namespace: inGroup, name: 'fresh' }
    await records.create(VectorCluster, { ...ref, spec: {}, caller })
    expect(client.count('get'), 'its group').to.equal(2)
    await records.get(VectorCluster, ref)
    await records.update(VectorCluster, ref, { caller, change: ({ spec }) => ({ ...spec, tags: { team: 'x' } }) })
    await records.remove(VectorCluster, ref, { caller })
    expect(client.count('get')).to.equal(2)
  })

  const parts: [AnyKind, string, AnyKind, string, object][] = [
    [ObjectStorageAccount, 'a bucket', AccountBucket, B, { accountName: 'whole', bucketName: 'logs' }],
    [ObjectStorageAccount, 'an access key', ObjectAccessKey, B, { accountName: 'whole', permission: 'Read' }],
    [RelationalCluster, 'a snapshot', RelationalSnapshot, B, { clusterName: 'whole', name: 'first' }],
    [SecretVault, 'a secret', VaultEntry, entryName('whole', 'key'), { vaultName: 'whole', secretName: 'key' }],
    [
      FunctionNamespace,
      'a function',
      ServerlessFunction,
      functionObjectName('whole', 'f'),
      { namespaceName: 'whole', functionName: 'f', handler: 'index' },
    ],
    [
      PlatformApp,
      'a deployment',
      DeploymentRecord,
      B,
      { ownerCollection: 'apps', ownerName: 'whole', strategy: 'Build' },
    ],
  ]
  for (const [whole, sentence, part, name, spec] of parts) {
    it(`is refused for ${sentence} of a resource whose deletion is not in the caches yet`, async () => {
      caches.add(whole.resource)
      caches.add(part.resource)
      const metadata = {
        namespace,
        name: 'whole',
        deletionTimestamp: '2026-01-01T00:00:00Z',
        finalizers: ['test/held'],
      }
      client.seed(whole.resource, { apiVersion: whole.apiVersion, kind: whole.kind, metadata, spec: {} })
      expect(await codeOf(records.create(part, { namespace, name, spec, caller }))).to.equal('INVALID_STATE')
      expect(client.count('create')).to.equal(0)
    })

    it(`removes ${sentence} again if the resource is deleted meanwhile`, async () => {
      caches.add(whole.resource)
      caches.add(part.resource)
      const metadata = { namespace, name: 'whole' }
      client.seed(whole.resource, { apiVersion: whole.apiVersion, kind: whole.kind, metadata, spec: {} })
      const make = client.create.bind(client)
      client.create = async (...given: Parameters<typeof make>) => {
        const made = await make(...given)
        await client.remove(whole.resource, metadata)
        return made as never
      }
      expect(await codeOf(records.create(part, { namespace, name, spec, caller }))).to.equal('NOT_FOUND')
      expect([...client.stored(part.resource)]).to.deep.equal([])
    })
  }
})
