import { expect } from 'chai'
import { ManualClock } from '../../../test/make/clock.ts'
import { until } from '../../../test/make/until.ts'
import { SecretActivity } from '../../adapters/activity/secrets.ts'
import { ACTOR_ANNOTATION } from '../../core/labels.ts'
import { silentLog } from '../../core/log.ts'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { Boundary } from '../../crds/boundaries.ts'
import { KINDS } from '../../crds/index.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { VectorCluster } from '../../crds/vector.ts'
import { CacheSet } from '../../kube/caches.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import { ActivityRecorder } from '../records/activity/recorder.ts'
import { createRecords } from '../records/kubeRecords.ts'
import { followObjects } from './watched.ts'

const BOUNDARY = '11111111-1111-4111-8111-111111111111'
const PERSON = '22222222-2222-4222-8222-222222222222'
const namespace = groupNamespace(BOUNDARY, 'shop')
const ref = { namespace, name: 'search' }
const path = { boundaryId: BOUNDARY, resourceGroup: 'shop', resourceType: 'vectorclusters', resourceName: 'search' }

async function world(replicas = 1) {
  const client = new FakeKubeClient()
  const { apiVersion, kind, resource } = ResourceGroup
  client.seed(resource, { apiVersion, kind, metadata: { name: 'shop', namespace: boundaryNamespace(BOUNDARY) } })
  const clock = new ManualClock()
  const store = new SecretActivity(new FakeKubeClient(), () => clock.now())
  const sets = await Promise.all(
    Array.from({ length: replicas }, async () => {
      const caches = new CacheSet({ client })
      for (const one of KINDS) caches.add(one.resource)
      caches.start()
      await caches.whenAllSynced()
      const recorder = new ActivityRecorder({ store, clock, log: silentLog })
      followObjects({
        client,
        caches,
        records: createRecords({ client, caches }),
        recorder,
        store,
        clock,
        log: silentLog,
      })
      return caches
    }),
  )
  /** Advances the clock until the entries are stored. */
  const entriesOnceThere = async (count: number, of = path) =>
    until(`${count} entries are told`, async () => {
      clock.advance(4_000)
      const entries = (await store.read(of)) ?? []
      return entries.length === count && entries
    })
  return {
    client,
    store,
    told: entriesOnceThere,
    clock,
    stop: () => Promise.all(sets.map((caches) => caches.stopAll())),
  }
}

const object = (spec: object, annotations = {}): KubeObject & { spec: object } => ({
  apiVersion: VectorCluster.apiVersion,
  kind: VectorCluster.kind,
  metadata: { ...ref, annotations },
  spec,
})

describe('activity from watches, without an audit log', () => {
  it('records a change once for all replicas, marked as incomplete', async () => {
    const { client, told, stop } = await world(2)
    await client.create(VectorCluster.resource, object({ replicas: 1 }))
    await told(1)
    await client.mergePatch(VectorCluster.resource, ref, { spec: { replicas: 2 } })
    const [made, changed] = await told(2)
    expect(made).to.deep.include({ operation: 'create', channel: 'Kubernetes', metadata: { complete: 'false' } })
    expect(made?.message).to.include('may be missing')
    expect(changed?.changes).to.deep.equal([{ path: '/replicas', from: 1, to: 2 }])
    await client.remove(VectorCluster.resource, ref)
    const [, , deleted] = await told(3)
    expect(deleted).to.deep.include({ operation: 'delete', actor: { kubernetes: 'unknown' } })
    await stop()
  })

  it('records changes of groups and their boundary', async () => {
    const { client, told, stop } = await world()
    const boundary = { name: BOUNDARY }
    await client.create(Boundary.resource, {
      apiVersion: Boundary.apiVersion,
      kind: Boundary.kind,
      metadata: boundary,
      spec: { displayName: 'Shop' },
    } as KubeObject)
    const group = { namespace: boundaryNamespace(BOUNDARY), name: 'shop' }
    const ofGroup = { ...path, resourceType: 'resourcegroups', resourceName: 'shop' }
    const ofBoundary = { ...path, resourceGroup: '', resourceType: 'boundaries', resourceName: BOUNDARY }
    await client.mergePatch(Boundary.resource, boundary, { spec: { quota: { cpu: '4' } } })
    await told(2, ofBoundary)
    await client.mergePatch(ResourceGroup.resource, group, { spec: { quota: { cpu: '4' } } })
    await told(1, ofGroup)
    await client.remove(ResourceGroup.resource, group)
    const [changed, gone] = await told(2, ofGroup)
    expect([changed?.operation, gone?.operation]).to.deep.equal(['update', 'delete'])
    await stop()
  })

  const managers: [string, object[], { by: string; ago: number }][] = [
    [
      'the newest',
      [
        { manager: 'flux', ago: 9_000 },
        { manager: 'kubectl', ago: 2_000 },
      ],
      { by: 'kubectl', ago: 2_000 },
    ],
    [
      'the newest that is not in the future',
      [
        { manager: 'alice', ago: -9e9 },
        { manager: 'kubectl', ago: 2_000 },
      ],
      { by: 'kubectl', ago: 2_000 },
    ],
    ['the newest, with the present time if it is old', [{ manager: 'alice', ago: 9e9 }], { by: 'alice', ago: 3_000 }],
  ]
  for (const [which, written, { by, ago }] of managers)
    it(`takes the actor from managedFields: ${which}`, async () => {
      const { client, told, clock, stop } = await world()
      const at = (milliseconds: number) => new Date(clock.now() - milliseconds).toISOString()
      const managedFields = (written as { manager: string; ago: number }[]).map(({ manager, ago: since }) => ({
        manager,
        operation: 'Update',
        time: at(since),
      }))
      const made = object({ replicas: 1 })
      await client.create(VectorCluster.resource, {
        ...made,
        metadata: { ...made.metadata, managedFields },
      } as KubeObject)
      const began = clock.now()
      const [entry] = await told(1)
      expect(entry?.actor).to.deep.equal({ kubernetes: by })
      expect(Math.abs(Date.parse(entry?.occurredAt ?? '') - (began - ago)), entry?.occurredAt).to.be.lessThan(60_000)
      await stop()
    })

  it('records no write of REST and no status', async () => {
    const { client, store, told, clock, stop } = await world()
    await client.create(VectorCluster.resource, object({ replicas: 1 }, { [ACTOR_ANNOTATION]: `1 ${PERSON}` }))
    await client.mergePatch(VectorCluster.resource, ref, { status: { phase: 'x' } }, { subresource: 'status' })
    await client.mergePatch(VectorCluster.resource, ref, { spec: { replicas: 2 } })
    expect((await told(1))[0]?.operation).to.equal('update')
    await store.append(path, [
      {
        id: PERSON,
        occurredAt: new Date(clock.now()).toISOString(),
        action: 'vectorcluster/delete',
        actor: { principalId: PERSON },
        channel: 'Rest',
        outcome: 'Succeeded',
        metadata: {},
      },
    ])
    await client.remove(VectorCluster.resource, ref)
    await told(2)
    await stop()
  })

  it('records a slow deletion through REST once', async () => {
    const { client, store, told, clock, stop } = await world()
    const byRest = { [ACTOR_ANNOTATION]: `1 ${PERSON}` }
    await client.create(VectorCluster.resource, object({ replicas: 1 }, byRest))
    const at = new Date(clock.now()).toISOString()
    const facts = { action: 'vectorcluster/delete', actor: { principalId: PERSON }, metadata: {} }
    await store.append(path, [{ id: PERSON, occurredAt: at, channel: 'Rest', outcome: 'Succeeded', ...facts }])
    client.edit(VectorCluster.resource, ref, ({ metadata }) => {
      Object.assign(metadata, { deletionTimestamp: at, finalizers: ['held/test'] })
    })
    await clock.advance(1_800_000)
    await client.mergePatch(VectorCluster.resource, ref, { metadata: { finalizers: null } })
    await client.create(VectorCluster.resource, object({ replicas: 1 }))
    const [deleted, made] = await told(2)
    expect([deleted?.channel, made?.operation]).to.deep.equal(['Rest', 'create'])
    await stop()
  })
})
