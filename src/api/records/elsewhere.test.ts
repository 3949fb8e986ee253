import { expect } from 'chai'
import { codeOf, recordsWorld } from '../../../test/worlds/recordsWorld.ts'
import { PlatformError } from '../../core/errors.ts'
import { VectorCluster } from '../../crds/vector.ts'
import type { CacheSet } from '../../kube/caches.ts'
import type { KubeClient } from '../../kube/client.ts'
import { KubeError, type KubeErrorReason } from '../../kube/errors.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import type { Caller } from '../http/context.ts'
import { type SeenVersion, versionOf } from '../http/etag.ts'
import { createRecords } from './kubeRecords.ts'

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

  describe('with an object that another replica has just created', () => {
    beforeEach(() => {
      client.seed(VectorCluster.resource, {
        apiVersion: VectorCluster.apiVersion,
        kind: 'VectorCluster',
        metadata: { ...ref },
        spec: VectorCluster.spec.parse({ replicas: 1 }),
      })
    })

    it('reads it from the API server', async () => {
      expect((await records.get(VectorCluster, ref))?.spec.replicas).to.equal(1)
      expect(verbs()).to.deep.equal(['get'])
    })

    it('caches it after a read', async () => {
      await records.get(VectorCluster, ref)
      expect(records.peek(VectorCluster, ref)?.spec.replicas).to.equal(1)
    })

    it('patches it', async () => {
      expect((await scale(2)).object.spec.replicas).to.equal(2)
      expect(verbs()).to.deep.equal(['get', 'patch'])
    })

    it('deletes it', async () => {
      expect(await records.remove(VectorCluster, ref, { caller })).to.deep.equal({ isGone: true })
      expect(verbs()).to.deep.equal(['get', 'delete'])
    })
  })

  describe('with a lost answer to the first attempt', () => {
    /** Records whose write succeeds, but fails on the client: its retry meets its own result. */
    const meetItself = (
      verb: string,
      reason: KubeErrorReason,
      detail: { maybeApplied?: boolean; repeated?: boolean },
    ) => {
      const write = verb === 'create' ? client.create.bind(client) : client.mergePatch.bind(client)
      const lost = async (...given: Parameters<typeof client.create>) => {
        await (write as (...given: unknown[]) => Promise<unknown>)(...given)
        throw new KubeError(reason, 'lost', { status: 0, ...detail })
      }
      const unheard = new FakeKubeClient()
      Object.assign(unheard, {
        get: (...given: Parameters<typeof client.get>) => client.get(...given),
        remove: client.remove.bind(client),
      })
      return createRecords({
        client: Object.assign(unheard, verb === 'create' ? { create: lost } : { mergePatch: lost }),
        caches,
      })
    }

    it('reports a created object as new', async () => {
      const doubtful = meetItself('create', 'Unavailable', { maybeApplied: true })
      expect((await doubtful.create(VectorCluster, { ...ref, spec: { replicas: 1 }, caller })).isNew).to.equal(true)
    })

    it('looks for the created object with a timeout of 1 s', async () => {
      const doubtful = meetItself('create', 'Unavailable', { maybeApplied: true })
      const waited: unknown[] = []
      const get = client.get.bind(client) as KubeClient['get']
      const timed: KubeClient['get'] = (resource, wanted, options) => {
        waited.push(options?.timeout)
        return get(resource, wanted, options)
      }
      Object.assign(client, { get: timed })
      await doubtful.create(VectorCluster, { ...ref, spec: { replicas: 1 }, caller })
      expect(waited).to.deep.equal([1_000])
    })

    it('reports a patched object as changed, and caches it', async () => {
      const ifMatch = [versionOf((await create()).object)]
      const doubtful = meetItself('patch', 'Conflict', { repeated: true })
      const change = { caller, ifMatch, change: ({ spec }: { spec: object }) => ({ ...spec, replicas: 4 }) }
      const { object, isChanged } = await doubtful.update(VectorCluster, ref, change)
      expect([object.spec.replicas, isChanged]).to.deep.equal([4, true])
      expect(records.peek(VectorCluster, ref)?.spec.replicas).to.equal(4)
    })

    it('refuses a change with isOnce, which another caller may have made', async () => {
      await create()
      const doubtful = meetItself('patch', 'Conflict', { repeated: true })
      const change = ({ spec }: { spec: { replicas?: number | undefined } }) => {
        if (spec.replicas === 4) throw new PlatformError('not_found', 'used')
        return { ...spec, replicas: 4 }
      }
      expect(await codeOf(doubtful.update(VectorCluster, ref, { caller, change, isOnce: true }))).to.equal('not_found')
      expect((await records.get(VectorCluster, ref, { fresh: true }))?.spec.replicas).to.equal(4)
    })

    it('throws CONFLICT if another write came first', async () => {
      const ifMatch = [versionOf((await create()).object)]
      const doubtful = meetItself('patch', 'Conflict', { repeated: false })
      const change = { caller, ifMatch, change: ({ spec }: { spec: object }) => ({ ...spec, replicas: 4 }) }
      expect(await codeOf(doubtful.update(VectorCluster, ref, change))).to.equal('CONFLICT')
    })
  })
})
