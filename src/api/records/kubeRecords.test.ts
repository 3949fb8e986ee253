import { expect } from 'chai'
import { codeOf, recordsWorld } from '../../../test/worlds/recordsWorld.ts'
import { goneAs, ignoreNotFound, PlatformError } from '../../core/errors.ts'
import { ACTOR_ANNOTATION, CREATED_BY_ANNOTATION, FINALIZER, INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { PlatformApp } from '../../crds/apps.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { VectorCluster } from '../../crds/vector.ts'
import type { CacheSet } from '../../kube/caches.ts'
import { KubeError } from '../../kube/errors.ts'
import type { FakeKubeClient } from '../../kube/fake.ts'
import type { Caller } from '../http/context.ts'
import { type SeenVersion, versionOf } from '../http/etag.ts'
import { createRecords } from './kubeRecords.ts'

const B = '11111111-1111-4111-8111-111111111111'
const namespace = 'shop-0123456789'
const ref = { namespace, name: 'orders' }
const caller: Caller = { principalId: '22222222-2222-4222-8222-222222222222', principalType: 'User', expiresAt: 0 }

describe('createRecords', () => {
  let client: FakeKubeClient
  let caches: CacheSet
  let records: ReturnType<typeof createRecords>
  beforeEach(() => {
    ;({ client, caches, records } = recordsWorld())
  })
  const create = (spec: object = { replicas: 1 }) => records.create(VectorCluster, { ...ref, spec, caller })
  const scale = (replicas: number, ifMatch?: readonly SeenVersion[]) =>
    records.update(VectorCluster, ref, { caller, ifMatch, change: ({ spec }) => ({ ...spec, replicas }) })
  const verbs = () => client.calls.map(({ verb }) => verb)
  /** Creates and deletes; the caches still hold the object. */
  const deleteUnseen = async () => {
    const { object } = await create()
    await client.remove(VectorCluster.resource, ref)
    caches.get(VectorCluster.resource).observeWrite(object as KubeObject)
  }

  it('creates with one call, annotated with actor, creator and incarnation', async () => {
    const { object, isNew } = await create()
    expect([isNew, verbs()]).to.deep.equal([true, ['create']])
    const { annotations = {} } = object.metadata
    expect(annotations[ACTOR_ANNOTATION]).to.equal(`1 ${caller.principalId}`)
    expect(annotations[CREATED_BY_ANNOTATION]).to.equal(caller.principalId)
    expect(annotations[INCARNATION_ANNOTATION]).to.match(/^[0-9a-f-]{36}$/)
  })

  it('reads its own write from the cache', async () => {
    await create()
    await scale(3)
    client.calls.length = 0
    expect((await records.get(VectorCluster, ref))?.spec.replicas).to.equal(3)
    expect(await records.list(VectorCluster, { namespace })).to.have.length(1)
    expect(verbs()).to.deep.equal([])
  })

  it('returns the existing object for an equal spec, ALREADY_EXISTS for another one', async () => {
    await create()
    client.calls.length = 0
    expect((await create()).isNew).to.equal(false)
    expect(await codeOf(create({ replicas: 2 }))).to.equal('ALREADY_EXISTS')
    expect(verbs()).to.deep.equal(['get', 'get'])
  })

  it('creates the object anew if somebody deleted it before the cache was told', async () => {
    await deleteUnseen()
    expect((await create()).isNew).to.equal(true)
    expect((await client.get(VectorCluster.resource, ref)).spec).to.include({ replicas: 1 })
  })

  it('returns the object of another replica for an equal spec', async () => {
    client.seed(VectorCluster.resource, {
      apiVersion: VectorCluster.apiVersion,
      kind: 'VectorCluster',
      metadata: { ...ref },
      spec: VectorCluster.spec.parse({ replicas: 1 }),
    })
    expect((await create()).isNew).to.equal(false)
    expect(verbs()).to.deep.equal(['create', 'get'])
  })

  it('throws INVALID_STATE while the namespace of the group is missing', async () => {
    client.fail('create', VectorCluster.resource, 'NotFound')
    expect(await codeOf(create())).to.equal('INVALID_STATE')
  })

  it('updates with one patch that annotates the actor', async () => {
    await create()
    client.calls.length = 0
    const { object, isChanged } = await scale(2)
    expect([isChanged, verbs(), object.metadata.generation]).to.deep.equal([true, ['patch'], 2])
    expect(object.metadata.annotations?.[ACTOR_ANNOTATION]).to.equal(`2 ${caller.principalId}`)
  })

  it('does not write an unchanged spec', async () => {
    await create()
    client.calls.length = 0
    expect((await scale(1)).isChanged).to.equal(false)
    expect(verbs()).to.deep.equal(['get'])
  })

  it('writes what somebody else changed before the cache was told', async () => {
    await create()
    client.edit(VectorCluster.resource, ref, (object: KubeObject & { spec?: object }) => {
      object.spec = { ...object.spec, replicas: 7 }
    })
    const { object, isChanged } = await scale(1)
    expect([isChanged, object.spec.replicas]).to.deep.equal([true, 1])
    expect((await client.get(VectorCluster.resource, ref)).spec).to.include({ replicas: 1 })
  })

  it('throws NOT_FOUND for an unchanged spec of an object that somebody deleted', async () => {
    await deleteUnseen()
    expect(await codeOf(scale(1))).to.equal('NOT_FOUND')
  })

  it('removes fields that the new spec lacks', async () => {
    await create({ replicas: 1, storageSize: '5Gi' })
    const { object } = await records.update(VectorCluster, ref, {
      caller,
      change: ({ spec: { cpuLimit: _cpu, storageSize: _size, ...spec } }) => spec,
    })
    expect(object.spec).to.not.have.property('storageSize')
  })

  it('repeats the change on the newer object after a conflict', async () => {
    await create()
    const seen: (number | undefined)[] = []
    client.fail('patch', VectorCluster.resource, () => {
      client.edit(
        VectorCluster.resource,
        ref,
        (object: { spec?: { replicas?: number } } & Parameters<typeof client.seed>[1]) => {
          object.spec = { ...object.spec, replicas: 7 }
        },
      )
    })
    const { object } = await records.update(VectorCluster, ref, {
      caller,
      change: ({ spec }) => {
        seen.push(spec.replicas)
        return { ...spec, enableIngress: true }
      },
    })
    expect(seen).to.deep.equal([1, 7])
    expect(object.spec).to.include({ replicas: 7, enableIngress: true })
  })

  it('applies the changes of 10 concurrent writers', async () => {
    await create({ tags: {} })
    const keys = Array.from({ length: 10 }, (_, index) => `key-${index}`)
    // Reads and writes interleave as over a network.
    const slow = new Proxy(client, {
      get: (target, property) => {
        const value: unknown = Reflect.get(target, property, target)
        if (property !== 'mergePatch' && property !== 'get') return value
        return async (...args: unknown[]) => {
          await new Promise((resolve) => setImmediate(resolve))
          return (value as (...given: unknown[]) => unknown).apply(target, args)
        }
      },
    })
    const writers = keys.map((key) =>
      createRecords({ client: slow, caches }).update(VectorCluster, ref, {
        caller,
        change: ({ spec }) => ({ ...spec, tags: { ...spec.tags, [key]: 'x' } }),
      }),
    )
    await Promise.all(writers)
    const stored = await client.get(VectorCluster.resource, ref)
    expect(Object.keys((stored.spec as { tags: object }).tags).sort()).to.deep.equal(keys)
  })

  it('throws CONFLICT for a stale If-Match without a call', async () => {
    const first = versionOf((await create()).object)
    const second = versionOf((await scale(2)).object)
    client.calls.length = 0
    expect(await codeOf(scale(3, [first]))).to.equal('CONFLICT')
    expect(await codeOf(records.remove(VectorCluster, ref, { caller, ifMatch: [first] }))).to.equal('CONFLICT')
    expect(await codeOf(scale(3, []))).to.equal('CONFLICT')
    expect(verbs()).to.deep.equal([])
    expect((await scale(3, [second])).isChanged).to.equal(true)
  })

  it('throws CONFLICT for an If-Match of a former incarnation', async () => {
    const seen = versionOf((await create()).object)
    await records.remove(VectorCluster, ref, { caller })
    const anew = versionOf((await create()).object)
    expect([anew.generation, anew.uidPrefix === seen.uidPrefix]).to.deep.equal([seen.generation, false])
    expect(await codeOf(scale(3, [seen]))).to.equal('CONFLICT')
    expect(await codeOf(records.remove(VectorCluster, ref, { caller, ifMatch: [seen] }))).to.equal('CONFLICT')
    expect((await scale(3, [seen, anew])).isChanged).to.equal(true)
  })

  it('reads from the API server if If-Match is newer than the cache', async () => {
    const seen = versionOf((await create()).object)
    client.edit(
      VectorCluster.resource,
      ref,
      (object: { spec?: { replicas?: number } } & Parameters<typeof client.seed>[1]) => {
        object.spec = { ...object.spec, replicas: 5 }
      },
    )
    expect((await scale(6, [{ ...seen, generation: 2 }])).object.spec.replicas).to.equal(6)
  })

  it('applies the rules of the kind without a call', async () => {
    await create({ replicas: 1, storageSize: '5Gi' })
    client.calls.length = 0
    const shrink = records.update(VectorCluster, ref, {
      caller,
      change: ({ spec }) => ({ ...spec, storageSize: '1Gi' }),
    })
    expect(await codeOf(shrink)).to.equal('STORAGE_CANNOT_SHRINK')
    expect(await codeOf(scale(100))).to.equal('BAD_REQUEST')
    expect(await codeOf(records.create(VectorCluster, { ...ref, name: 'x', spec: { color: 1 }, caller }))).to.equal(
      'MODEL_BINDING_FAILED',
    )
    expect(verbs()).to.deep.equal([])
  })

  it('rejects invisible characters in displayName, except in an unchanged value', async () => {
    const hidden = { displayName: 'Te\u200bam' }
    const made = records.create(Boundary, { name: B, spec: hidden, caller })
    expect(await made.catch((error: Error) => error.message)).to.equal(
      'The field "displayName" must have no invisible characters, and no space at either end.',
    )
    const { apiVersion, kind, resource } = Boundary
    client.seed(resource, { apiVersion, kind, metadata: { name: B, uid: 'u', generation: 1 }, spec: hidden })
    const change = (spec: object) =>
      records.update(Boundary, { name: B }, { caller, change: (stored) => ({ ...stored.spec, ...spec }) })
    const tags = { team: 'search' }
    await change({ tags, displayName: hidden.displayName })
    expect((await records.get(Boundary, { name: B }))?.spec).to.deep.include({ ...hidden, tags })
    expect(await codeOf(change({ displayName: 'Te\u202eam' }))).to.equal('BAD_REQUEST')
    await change({ displayName: '👩\u200d👧' })
  })

  it('names the collection of REST in NOT_FOUND', async () => {
    caches.add(PlatformApp.resource)
    caches.start()
    await caches.whenAllSynced()
    const change = () => ({})
    const message = records.update(PlatformApp, ref, { caller, change }).catch((error: Error) => error.message)
    expect(await message).to.equal('"orders" of apps was not found.')
    await caches.stopAll()
  })

  it('throws NOT_FOUND only after a read from the API server', async () => {
    expect(await codeOf(scale(1))).to.equal('NOT_FOUND')
    expect(await codeOf(records.remove(VectorCluster, ref, { caller }))).to.equal('NOT_FOUND')
    expect(verbs()).to.deep.equal(['get', 'get'])
  })

  it('throws NOT_FOUND if the object is deleted between the read and the write', async () => {
    const deleted = () => {
      throw new KubeError('NotFound', 'deleted', { status: 404 })
    }
    await create()
    client.fail('patch', VectorCluster.resource, deleted)
    const update = scale(3).then(
      undefined,
      goneAs(() => new PlatformError('not_found', 'The link is used.')),
    )
    expect(await codeOf(update)).to.equal('not_found')
    client.fail('delete', VectorCluster.resource, deleted)
    const remove = records.remove(VectorCluster, ref, { caller })
    expect(await remove.then(() => 'removed', ignoreNotFound)).to.equal(undefined)
  })

  it('returns undefined for an invalid name without a call', async () => {
    for (const name of ['../x', 'a/b', 'A', '', 'a b', '..']) {
      expect(await records.get(VectorCluster, { namespace, name }, { fresh: true })).to.equal(undefined)
    }
    expect(verbs()).to.deep.equal([])
  })

  it('removes with If-Match although the status changed meanwhile', async () => {
    const { object } = await create()
    client.fail('delete', VectorCluster.resource, () => {
      throw new KubeError('Conflict', 'the status was written', { status: 409 })
    })
    expect(await records.remove(VectorCluster, ref, { caller, ifMatch: [versionOf(object)] })).to.deep.equal({
      isGone: true,
    })
  })

  it('throws CONFLICT for a removal with If-Match if the spec changed meanwhile', async () => {
    const { object } = await create()
    client.fail('delete', VectorCluster.resource, () => {
      client.edit<VectorCluster & KubeObject>(VectorCluster.resource, ref, ({ spec, metadata }) => {
        spec.replicas = 3
        metadata.generation = 2
      })
      throw new KubeError('Conflict', 'the spec was written', { status: 409 })
    })
    const removed = records.remove(VectorCluster, ref, { caller, ifMatch: [versionOf(object)] })
    expect(await codeOf(removed)).to.equal('CONFLICT')
  })

  it('reports isGone false if a finalizer is added meanwhile', async () => {
    await create()
    client.fail('delete', VectorCluster.resource, () =>
      client.edit(VectorCluster.resource, ref, ({ metadata }) => {
        metadata.finalizers = [FINALIZER]
      }),
    )
    expect(await records.remove(VectorCluster, ref, { caller })).to.deep.equal({ isGone: false })
    const { calls } = client
    expect(calls.filter(({ verb }) => verb === 'delete').length, 'once at the version without a finalizer').to.equal(2)
  })

  it('does not delete an object with another uid', async () => {
    await create()
    client.fail('delete', VectorCluster.resource, () =>
      client.edit(VectorCluster.resource, ref, ({ metadata }) => {
        metadata.uid = 'another'
      }),
    )
    expect(await codeOf(records.remove(VectorCluster, ref, { caller }))).to.match(/: Conflict\.$/)
    expect((await client.get(VectorCluster.resource, ref)).metadata.deletionTimestamp).to.equal(undefined)
  })

  it('removes the object', async () => {
    await create()
    expect(await records.remove(VectorCluster, ref, { caller })).to.deep.equal({ isGone: true })
    expect(await records.get(VectorCluster, ref)).to.equal(undefined)
  })

  it('lists by boundaryId the objects in the namespace of the boundary and its groups', async () => {
    await records.create(ResourceGroup, { namespace: boundaryNamespace(B), name: 'shop', spec: {}, caller })
    expect(records.peekAll(ResourceGroup, { boundaryId: B })).to.have.length(1)
    await create()
    expect(records.peekAll(VectorCluster, { boundaryId: B })).to.have.length(0)
    await records.create(VectorCluster, { ...ref, namespace: groupNamespace(B, 'shop'), spec: {}, caller })
    expect(records.peekAll(VectorCluster, { boundaryId: B })).to.have.length(1)
  })
})
