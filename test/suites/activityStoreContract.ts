import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import type { ActivityStore, ObservedAction, ResourcePath } from '../../src/adapters/activity/port.ts'

export const RESOURCE: ResourcePath = {
  boundaryId: '11111111-1111-4111-8111-111111111111',
  resourceGroup: 'shop',
  resourceType: 'vectorclusters',
  resourceName: 'search',
}

let clock = Date.now()
/** Each a millisecond after the previous one. */
export function observedAction(more: Partial<ObservedAction> = {}): ObservedAction {
  clock += 1
  return {
    id: randomUUID(),
    occurredAt: new Date(clock).toISOString(),
    action: 'vectorcluster/write',
    actor: { principalId: '22222222-2222-4222-8222-222222222222' },
    channel: 'Rest',
    outcome: 'Succeeded',
    metadata: {},
    ...more,
  }
}

export function stateOf(generation: number, spec: object, uid = 'one-life') {
  return { uid, generation, spec, labelling: '', isNew: generation === 1 }
}

/** The contract of every store of activity; each case has a resource of its own. */
export function activityStoreContract(open: () => ActivityStore | Promise<ActivityStore>): void {
  const make = async () => ({ store: await open(), resource: { ...RESOURCE, resourceName: `r-${randomUUID()}` } })

  it('returns undefined for a resource without entries', async () => {
    const { store, resource } = await make()
    expect(await store.read(resource)).to.equal(undefined)
  })

  it('stores each entry once, in order, also if it is appended again', async () => {
    const { store, resource } = await make()
    const [first, second, third] = [observedAction(), observedAction(), observedAction()]
    await store.append(resource, [third, first])
    await store.append(resource, [second, first])
    expect((await store.read(resource))?.map(({ id }) => id)).to.deep.equal([first.id, second.id, third.id])
  })

  it('stores the entries of six concurrent writers', async () => {
    const { store, resource } = await make()
    const all = Array.from({ length: 6 }, () => observedAction())
    await Promise.all(all.map((one) => store.append(resource, [one])))
    expect(await store.read(resource)).to.have.length(6)
  })

  it('records the changes of a write since the previous one', async () => {
    const { store, resource } = await make()
    await store.append(resource, [observedAction({ after: stateOf(1, { replicas: 1 }) })])
    await store.append(resource, [observedAction({ after: stateOf(2, { replicas: 3, env: { KEY: 'hunter2' } }) })])
    const [made, changed] = (await store.read(resource)) ?? []
    expect(made?.changes).to.deep.equal([{ path: '/replicas', from: null, to: 1 }])
    expect(changed?.changes).to.deep.equal([
      { path: '/replicas', from: 1, to: 3 },
      { path: '/env/KEY', from: null, to: '***' },
    ])
  })

  it('reads 700 entries in order, over closed and open logs', async () => {
    const { store, resource } = await make()
    const all = Array.from({ length: 700 }, () => observedAction())
    for (let at = 0; at < all.length; at += 100) await store.append(resource, all.slice(at, at + 100))
    // Repeated long after it was closed.
    await store.append(resource, all.slice(0, 5))
    expect((await store.read(resource))?.map(({ id }) => id)).to.deep.equal(all.map(({ id }) => id))
  })

  it('returns the newest entries of all resources of a boundary, filtered by the caller', async () => {
    const store = await open()
    const boundaryId = randomUUID()
    const of = (resourceName: string) => ({ ...RESOURCE, boundaryId, resourceName })
    const [first, second, third] = [observedAction(), observedAction({ channel: 'Reported' }), observedAction()]
    await store.append(of('one'), [first])
    await store.append(of('two'), [second])
    await store.append(of('one'), [third])
    await store.append({ ...of('one'), boundaryId: randomUUID() }, [observedAction()])
    const newest = await store.newest(boundaryId, () => () => true)
    expect(newest.map(({ entry, resource }) => [entry.id, resource])).to.deep.equal([
      [third.id, of('one')],
      [second.id, of('two')],
      [first.id, of('one')],
    ])
    const some = await store.newest(boundaryId, ({ resourceName }) =>
      resourceName === 'one' ? ({ id }) => id !== first.id : undefined,
    )
    expect(some.map(({ entry }) => entry.id)).to.deep.equal([third.id])
  })

  it('returns entries of a boundary from closed logs too', async () => {
    const store = await open()
    const resource = { ...RESOURCE, boundaryId: randomUUID() }
    const all = Array.from({ length: 400 }, () => observedAction())
    await store.append(resource, all.slice(0, 300))
    await store.append(resource, all.slice(300))
    const newest = await store.newest(resource.boundaryId, () => () => true)
    expect(newest.map(({ entry }) => entry.id)).to.deep.equal(all.map(({ id }) => id).reverse())
  })
}
