import { expect } from 'chai'
import { activityStoreContract, observedAction, RESOURCE, stateOf } from '../../../test/suites/activityStoreContract.ts'
import { MAX_ENTRY_BYTES, OWN_BOUNDS, REPORTED_ENTRIES_MAX } from '../../contracts/activity.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { secret } from '../../kube/builtin.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import { addObservedActions, emptyHead } from './history.ts'
import { SecretActivity } from './secrets.ts'

const DAY = 86_400_000

describe('SecretActivity', () => {
  activityStoreContract(() => new SecretActivity(new FakeKubeClient()))

  it('shares entries between replicas and keeps them across restarts', async () => {
    const client = new FakeKubeClient()
    const [one, other] = [new SecretActivity(client), new SecretActivity(client)]
    await one.append(RESOURCE, [observedAction()])
    await other.append(RESOURCE, [observedAction()])
    await one.append(RESOURCE, [observedAction()])
    expect(await new SecretActivity(client).read(RESOURCE)).to.have.length(3)
  })

  it('reads without writing', async () => {
    const client = new FakeKubeClient()
    const store = new SecretActivity(client)
    await store.append(RESOURCE, [observedAction()])
    client.calls.length = 0
    await store.read(RESOURCE)
    expect(new Set(client.calls.map(({ verb }) => verb))).to.deep.equal(new Set(['get']))
  })

  it("reads a boundary's newest entries without writing, and rereads only changed Secrets", async () => {
    const client = new FakeKubeClient()
    const [store, other] = [new SecretActivity(client), new SecretActivity(client)]
    const of = (resourceName: string) => ({ ...RESOURCE, resourceName })
    for (const name of ['one', 'two', 'three']) await other.append(of(name), [observedAction()])
    const verbsOf = async () => {
      client.calls.length = 0
      const entries = await store.newest(RESOURCE.boundaryId, () => () => true)
      return [entries.length, ...client.calls.map(({ verb }) => verb)]
    }
    expect(await verbsOf()).to.deep.equal([3, 'list', 'get', 'get', 'get'])
    expect(await verbsOf()).to.deep.equal([3, 'list'])
    await other.append(of('two'), [observedAction()])
    expect(await verbsOf()).to.deep.equal([4, 'list', 'get'])
  })

  it('rereads none of 700 unchanged resources, although their states exceed its cache', async () => {
    const client = new FakeKubeClient()
    const writer = new SecretActivity(client)
    const spec = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`field${at}`, 'x'.repeat(100)]))
    for (let at = 0; at < 700; at += 1)
      await writer.append({ ...RESOURCE, resourceName: `r-${at}` }, [observedAction({ after: stateOf(1, spec) })])
    const reader = new SecretActivity(client)
    const readsOf = async () => {
      const before = client.calls.length
      expect(await reader.newest(RESOURCE.boundaryId, () => () => true)).to.have.length(700)
      return client.calls.slice(before).filter(({ verb }) => verb === 'get').length
    }
    expect(await readsOf()).to.equal(700)
    expect(await readsOf()).to.equal(0)
  })

  it('adds missing labels to a stored record when it appends the next entry', async () => {
    const client = new FakeKubeClient()
    const store = new SecretActivity(client)
    await store.append(RESOURCE, [observedAction()])
    const [stored] = (await client.list(secret)).items
    const former = { metadata: { labels: { 'freehold.dev/activity': 'true' } } }
    await client.mergePatch(secret, { namespace: SYSTEM_NAMESPACE, name: stored?.metadata.name ?? '' }, former)
    const newest = () => new SecretActivity(client).newest(RESOURCE.boundaryId, () => () => true)
    expect(await newest()).to.have.length(0)
    await new SecretActivity(client).append(RESOURCE, [observedAction()])
    expect(await newest()).to.have.length(2)
  })

  it('keeps at most ENTRIES_MAX entries and deletes Secrets beyond them', async () => {
    const client = new FakeKubeClient()
    const store = new SecretActivity(client)
    for (let batch = 0; batch < 53; batch += 1) {
      await store.append(
        RESOURCE,
        Array.from({ length: 200 }, () => observedAction()),
      )
    }
    expect((await store.read(RESOURCE))?.length).to.be.within(8_000, OWN_BOUNDS.entries)
    const { items } = await client.list(secret)
    expect(items.length).to.be.lessThan(60)
  })

  it('keeps the entries of others, and single entries of a caller, after 10,000 changes by that caller', async () => {
    const client = new FakeKubeClient()
    const store = new SecretActivity(client)
    const [ann, bob] = [{ kubernetes: 'ann' }, { kubernetes: 'bob' }]
    const others = Array.from({ length: 20 }, () => observedAction({ actor: ann }))
    const opened = observedAction({ actor: bob, action: 'vectorcluster/access/write' })
    await store.append(RESOURCE, [...others, opened])
    for (let batch = 0; batch < 60; batch += 1)
      await store.append(
        RESOURCE,
        Array.from({ length: 200 }, () => observedAction({ actor: bob })),
      )
    const kept = (await new SecretActivity(client).read(RESOURCE)) ?? []
    const ids = new Set(kept.map(({ id }) => id))
    expect([...others, opened].filter(({ id }) => !ids.has(id))).to.deep.equal([])
    expect(kept.length).to.be.within(8_000, OWN_BOUNDS.entries)
    const times = kept.map(({ occurredAt }) => occurredAt)
    expect(times).to.deep.equal(times.toSorted())
    expect((await client.list(secret)).items.length).to.be.lessThan(60)
  })

  it("does not evict the platform's own entries for reported ones", async () => {
    const store = new SecretActivity(new FakeKubeClient())
    const seen = Array.from({ length: 200 }, () => observedAction())
    await store.append(RESOURCE, seen)
    const report = () => observedAction({ channel: 'Reported' })
    for (let batch = 0; batch < 20; batch += 1) await store.append(RESOURCE, Array.from({ length: 100 }, report))
    const kept = await store.read(RESOURCE)
    const ids = new Set(kept?.map(({ id }) => id))
    expect(seen.filter(({ id }) => !ids.has(id))).to.deep.equal([])
    expect(ids.size - seen.length).to.be.within(REPORTED_ENTRIES_MAX - 250, REPORTED_ENTRIES_MAX + 250)
  })

  it('drops entries after 90 days and deletes the Secrets of resources without entries', async () => {
    let now = Date.now()
    const client = new FakeKubeClient()
    const store = new SecretActivity(client, () => now)
    await store.append(RESOURCE, [observedAction({ occurredAt: new Date(now).toISOString() })])
    await store.sweep(() => true)
    now += 91 * DAY
    expect(await store.read(RESOURCE)).to.deep.equal([])
    await store.sweep(() => true)
    expect((await client.list(secret)).items).to.deep.equal([])
  })

  it('removes the oldest records of deleted resources beyond the limit of a boundary', async () => {
    let now = Date.UTC(2026, 0, 1)
    const client = new FakeKubeClient()
    const store = new SecretActivity(client, () => now)
    for (const name of ['kept', 'gone-1', 'gone-2', 'gone-3', 'gone-4']) {
      now += DAY
      await store.append({ ...RESOURCE, resourceName: name }, [
        observedAction({ occurredAt: new Date(now).toISOString() }),
      ])
    }
    const exists = ({ resourceName }: typeof RESOURCE) => resourceName === 'kept'
    const names = async () => {
      const entries = await store.newest(RESOURCE.boundaryId, () => () => true)
      return entries.map(({ resource }) => resource.resourceName)
    }
    await store.sweep(exists)
    expect(await names()).to.have.length(5)
    await store.sweep(exists, { records: 2, bytes: Number.POSITIVE_INFINITY })
    expect(await names()).to.deep.equal(['gone-4', 'gone-3', 'kept'])
  })

  it('appends concurrent entries one after another, without a conflict', async () => {
    const client = new FakeKubeClient()
    const store = new SecretActivity(client)
    await store.append(RESOURCE, [observedAction()])
    client.calls.length = 0
    await Promise.all(Array.from({ length: 20 }, () => store.append(RESOURCE, [observedAction()])))
    expect(client.calls.map(({ verb }) => verb)).to.deep.equal(Array(20).fill('patch'))
  })

  it('keeps entries that another replica appended while it compacted the record', async () => {
    const client = new FakeKubeClient()
    const [one, other] = [new SecretActivity(client), new SecretActivity(client)]
    const fill = Array.from({ length: 250 }, () => observedAction())
    await one.append(RESOURCE, fill)
    await other.read(RESOURCE)
    const late = Array.from({ length: 10 }, () => observedAction())
    await Promise.all([one.append(RESOURCE, late.slice(0, 5)), other.append(RESOURCE, late.slice(5))])
    expect(await one.read(RESOURCE)).to.have.length(260)
  })

  it('keeps all entries when the answer to the compacting write was lost', async () => {
    const client = new FakeKubeClient()
    const [get, list, create, remove] = [client.get, client.list, client.create, client.remove]
    const mergePatch: typeof client.mergePatch = async (...given) => {
      await client.mergePatch(...given)
      throw new Error('The answer was lost.')
    }
    const ofClient = { get: get.bind(client), list: list.bind(client), create: create.bind(client) }
    const store = new SecretActivity({ ...ofClient, remove: remove.bind(client), mergePatch })
    const all = Array.from({ length: 260 }, () => observedAction())
    await store.append(RESOURCE, all.slice(0, 250))
    expect(await store.append(RESOURCE, all.slice(250)).catch((error) => error)).to.be.instanceOf(Error)
    expect(await new SecretActivity(client).read(RESOURCE)).to.have.length(260)
  })
})

describe('addObservedActions', () => {
  const head = emptyHead('salt')
  const first = observedAction({ after: stateOf(1, { size: 1 }) })

  it('adds nothing for an apply that changes nothing', () => {
    const held = addObservedActions(head, [first])
    expect(
      addObservedActions(held, [
        observedAction({ onlyIfChanged: true, after: { ...stateOf(1, { size: 1 }), isNew: false } }),
      ]),
    ).to.equal(held)
  })

  it('adds nothing for an apply of an unchanged part, and one entry per changed part', () => {
    const metadata = { part: 'accountbuckets/raw' }
    const applied = (state: string, uid = 'raw') =>
      observedAction({ onlyIfChanged: true, metadata, part: { uid, state } })
    const made = addObservedActions(head, [applied('1')])
    expect(made.entries).to.have.length(1)
    expect(addObservedActions(made, [applied('1')])).to.equal(made)
    const changed = [applied('2'), applied('1'), applied('1', 'another')].reduce(
      (held, one) => addObservedActions(held, [one]),
      made,
    )
    expect(changed.entries).to.have.length(4)
  })

  it('adds nothing for an apply of a part that a request made, whichever source reported the request first', () => {
    const rest = observedAction({ metadata: { path: 'buckets/raw' } })
    const secondHand = { ...rest, isSecondHand: true, metadata: {}, part: { uid: 'raw', state: '1' } }
    for (const order of [
      [rest, secondHand],
      [secondHand, rest],
    ]) {
      const held = order.reduce((before, one) => addObservedActions(before, [one]), head)
      expect(
        addObservedActions(held, [observedAction({ onlyIfChanged: true, part: { uid: 'raw', state: '1' } })]),
      ).to.equal(held)
    }
  })

  it('adds an entry without changes if only labels changed', () => {
    const labelled = { ...stateOf(1, { size: 1 }), labelling: 'other', isNew: false }
    const { entries } = addObservedActions(addObservedActions(head, [first]), [
      observedAction({ onlyIfChanged: true, after: labelled }),
    ])
    expect(entries[1]?.changes).to.deep.equal([])
  })

  it('merges two actions of one request and prefers the fields of the first-hand one', () => {
    const [rest, audit] = [
      observedAction({ remoteAddress: '10.0.0.1' }),
      { channel: 'Platform' as const, isSecondHand: true },
    ]
    const secondHand = { ...rest, ...audit, remoteAddress: undefined, after: stateOf(1, { size: 1 }) }
    for (const order of [
      [rest, secondHand],
      [secondHand, rest],
    ]) {
      const [entry, ...others] = order.reduce((held, one) => addObservedActions(held, [one]), head).entries
      expect(others).to.deep.equal([])
      expect(entry).to.include({ channel: 'Rest', remoteAddress: '10.0.0.1' })
      expect(entry?.changes).to.deep.equal([{ path: '/size', from: null, to: 1 }])
    }
  })

  it('records changes of replicas through the scale subresource', () => {
    const held = addObservedActions(head, [observedAction({ after: stateOf(1, { replicas: 1 }) })])
    const { entries } = addObservedActions(held, [observedAction({ after: { replicas: 3, pointer: '/replicas' } })])
    expect(entries[1]?.changes).to.deep.equal([{ path: '/replicas', from: 1, to: 3 }])
  })

  it('compares nothing with another object of the same name', () => {
    const { entries } = addObservedActions(addObservedActions(head, [first]), [
      observedAction({ after: stateOf(5, { size: 2 }, 'another') }),
    ])
    expect(entries[1]?.changes).to.deep.equal([])
  })

  it('computes the changes of writes that are reported out of order', () => {
    const actions = [1, 2, 3, 4].map((size) => observedAction({ after: stateOf(size, { size }) }))
    for (const order of [
      [0, 3, 1, 2],
      [0, 2, 3, 1],
      [0, 1, 3, 2],
    ]) {
      const { entries } = order.reduce(
        (held, index) => addObservedActions(held, [actions[index] ?? observedAction()]),
        head,
      )
      const changes = entries.flatMap((entry) => entry.changes.map(({ from, to }) => `${from} ${to}`))
      expect(changes).to.deep.equal(['null 1', '1 2', '2 3', '3 4'])
    }
  })

  it('computes the changes of a write that is reported after 101 newer ones', () => {
    // The API server sends an audit batch that it could not deliver again after half a minute.
    const spec = (size: number) => ({
      size,
      ...Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`f${at}`, at])),
    })
    const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString()
    const actions = Array.from({ length: 103 }, (_, size) =>
      observedAction({ occurredAt: at(size), after: { ...stateOf(size + 1, spec(size)), isNew: size === 0 } }),
    )
    const [made, late, ...newer] = actions
    const { entries } = [made, ...newer, late].reduce(
      (held, one) => addObservedActions(held, [one ?? observedAction()]),
      head,
    )
    const changes = entries.slice(1).map((entry) => entry.changes.map(({ from, to }) => `${from} ${to}`).join())
    expect(changes).to.deep.equal(Array.from({ length: 102 }, (_, size) => `${size} ${size + 1}`))
  })

  it('keeps 11 of 100 states for comparison once they are older', () => {
    const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString()
    const actions = Array.from({ length: 100 }, (_, size) =>
      observedAction({ occurredAt: at(size), after: stateOf(size + 1, { size }) }),
    )
    const { known } = actions.reduce((held, one) => addObservedActions(held, [one]), head)
    expect(known?.states).to.have.length(11)
  })

  it('records the creation as such, even if a later label change is reported first', () => {
    const created = observedAction({ after: stateOf(1, { size: 1 }) })
    const labelled = { ...stateOf(1, { size: 1 }), labelling: 'x', isNew: false }
    const order = [
      observedAction({ onlyIfChanged: true, after: labelled }),
      created,
      { ...created, isSecondHand: true },
    ]
    const { entries } = order.reduce((held, one) => addObservedActions(held, [one]), head)
    expect(entries.map(({ changes }) => changes.length)).to.deep.equal([1, 0])
    expect(entries[0]?.id).to.equal(created.id)
  })

  it('adds nothing for writes of controllers to a resource without entries', () => {
    const finalizer = observedAction({
      onlyIfChanged: true,
      onlyIfKnown: true,
      after: { ...stateOf(1, {}), isNew: false },
    })
    expect(addObservedActions(head, [finalizer])).to.equal(head)
  })

  it('limits an entry to MAX_ENTRY_BYTES and counts the changes that it leaves out', () => {
    const spec = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`field${index}`, 'x'.repeat(150)]))
    const [entry] = addObservedActions(head, [observedAction({ after: stateOf(1, spec) })]).entries
    expect(Buffer.byteLength(JSON.stringify(entry))).to.be.lessThan(MAX_ENTRY_BYTES + 1)
    expect(Number(entry?.metadata.changesLeftOut)).to.be.greaterThan(0)
  })

  const secrets: [string, object][] = [
    ['a map of environment variables', { env: { TOKEN: 'planted-1' } }],
    ['a list of environment variables', { components: [{ env: [{ name: 'A', value: 'planted-1' }] }] }],
    ['arguments', { args: ['--x', 'planted-1'] }],
    ['a field whose name contains "password"', { adminPassword: 'planted-1' }],
    ['a URL with a password', { source: 'https://me:planted-1@git.test/x' }],
    ['a data key', { envelope: { ciphertext: 'planted-1' } }],
  ]
  for (const [title, spec] of secrets) {
    it(`masks the value of ${title}, but records that it changed`, () => {
      const other = JSON.parse(JSON.stringify(spec).replace('planted-1', 'planted-2'))
      const held = addObservedActions(addObservedActions(head, [observedAction({ after: stateOf(1, spec) })]), [
        observedAction({ after: stateOf(2, other) }),
      ])
      expect(JSON.stringify(held)).to.not.include('planted')
      expect(held.entries[1]?.changes).to.have.length(1)
      expect(held.entries[1]?.changes[0]).to.include({ from: '***', to: '***' })
    })
  }
})
