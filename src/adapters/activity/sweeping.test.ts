import { expect } from 'chai'
import { observedAction, RESOURCE, stateOf } from '../../../test/suites/activityStoreContract.ts'
import type { ObjectMeta } from '../../core/object.ts'
import { secret } from '../../kube/builtin.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import { levelWithin } from './fairness.ts'
import { bytesOf, CHAPTER_MARKS, chapterName, contentMarks, marksOf } from './marks.ts'
import { SecretActivity } from './secrets.ts'
import { planSweep } from './sweeping.ts'

const KIB = 1024

describe('levelWithin', () => {
  const cases: [title: string, sizes: number[], capacity: number, level: number][] = [
    ['cuts nothing that fits', [1, 2, 3], 6, Number.POSITIVE_INFINITY],
    ['cuts the largest only', [1, 2, 100], 10, 7],
    ['cuts equal ones equally', [10, 10, 10, 10], 20, 5],
    ['gives what small ones leave to the large ones', [1, 50, 50], 21, 10],
  ]
  for (const [title, sizes, capacity, level] of cases)
    it(title, () => {
      expect(levelWithin(sizes, capacity)).to.equal(level)
      const left = sizes.reduce((sum, size) => sum + Math.min(size, level), 0)
      expect(left).to.equal(Math.min(capacity, left))
    })

  it('looks at each size once, in order', () => {
    let reads = 0
    const sizes = new Proxy(
      Array.from({ length: 5_000 }, (_, at) => at),
      {
        get: (target, property) => {
          if (typeof property === 'string' && /^\d+$/.test(property)) reads += 1
          return Reflect.get(target, property)
        },
      },
    )
    levelWithin(sizes, 100_000)
    expect(reads).to.be.at.most(5_000)
  })
})

describe('planSweep', () => {
  const head = (name: string, bytes: number, more: { boundaryId?: string; newest?: string } = {}): ObjectMeta => {
    const { boundaryId = 'one', newest = '2026-01-02' } = more
    const { labels, annotations } = marksOf({ ...RESOURCE, boundaryId, resourceName: name })
    return { name: `activity-${name}`, labels, annotations: { ...annotations, ...contentMarks(newest, bytes) } }
  }
  const chapter = (of: string, id: string, bytes: number): ObjectMeta => ({
    ...CHAPTER_MARKS,
    name: chapterName(`activity-${of}`, id),
    annotations: contentMarks('2026-01-02', bytes),
  })
  const plan = (all: readonly ObjectMeta[], limits = { records: 10, bytes: 160 * KIB }, exists = true) => {
    const { removed, thinned } = planSweep(all, '2026-01-01', () => exists, limits)
    const kept = [...thinned].map(([{ name }, bytes]) => [name, bytes / KIB])
    return { removed: removed.map(({ name }) => name), thinned: Object.fromEntries(kept) }
  }

  it('thins the largest records of a boundary over its bytes, with their chapters, and no small one', () => {
    const all = [head('small', 10 * KIB), head('large', 20 * KIB), chapter('large', 'a', 60 * KIB)]
    expect(plan(all)).to.deep.equal({ removed: [], thinned: {} })
    const more = [...all, head('larger', 20 * KIB), chapter('larger', 'b', 100 * KIB)]
    expect(plan(more)).to.deep.equal({ removed: [], thinned: { 'activity-large': 70, 'activity-larger': 70 } })
  })

  it('leaves other boundaries alone', () => {
    const all = [head('large', 200 * KIB), head('other', 150 * KIB, { boundaryId: 'two' })]
    expect(plan(all).thinned).to.deep.equal({ 'activity-large': 150 })
  })

  it('counts Secrets of an earlier version by an estimate', () => {
    const bare = { ...chapter('large', 'a', 0), annotations: {}, creationTimestamp: '2026-01-02' }
    expect(plan([head('large', 150 * KIB), bare]).thinned).to.deep.equal({ 'activity-large': 150 })
  })

  it('does not count what it removes', () => {
    const all = [head('new', 100 * KIB, { newest: '2026-01-03' }), head('gone', 100 * KIB)]
    const past = head('past', 900 * KIB, { newest: '2025-12-31' })
    const { removed, thinned } = plan([...all, past], { records: 1, bytes: 160 * KIB }, false)
    expect(removed).to.deep.equal(['activity-past', 'activity-gone'])
    expect(thinned).to.deep.equal({})
  })
})

describe('SecretActivity.sweep', () => {
  const of = (resourceName: string) => ({ ...RESOURCE, resourceName })
  const by = (name: string) => ({ kubernetes: name })
  const noise = (at: number) => ({
    actor: by('loud'),
    action: 'vectorcluster/write',
    // Nothing that compresses well, as somebody who wants to fill the store would write.
    metadata: { note: Array.from({ length: 30 }, (_, part) => Math.sin(at * 31 + part).toString(36)).join('') },
  })

  it('thins a boundary to its bytes: the loudest of the largest records lose entries', async () => {
    const client = new FakeKubeClient()
    const store = new SecretActivity(client)
    const quiet = observedAction({ actor: by('quiet') })
    await store.append(of('loud'), [quiet])
    for (let batch = 0; batch < 8; batch += 1)
      await store.append(
        of('loud'),
        Array.from({ length: 100 }, (_, at) => observedAction(noise(batch * 100 + at))),
      )
    for (let generation = 1; generation <= 20; generation += 1)
      await store.append(of('small'), [observedAction({ after: stateOf(generation, { replicas: generation }) })])
    const usage = async () => {
      const { items } = await client.list(secret)
      return items.reduce((sum, { metadata }) => sum + bytesOf(metadata), 0)
    }
    const [before, limit] = [await usage(), 100 * KIB]
    expect(before).to.be.above(2 * limit)
    const newest = async () => (await store.newest(RESOURCE.boundaryId, () => () => true))[0]?.entry.id
    const last = await newest()
    await store.sweep(() => true, { records: 10, bytes: limit })
    expect(await usage()).to.be.within(limit / 2, limit)
    expect(await store.read(of('small'))).to.have.length(20)
    const kept = (await store.read(of('loud'))) ?? []
    expect(kept.map(({ id }) => id)).to.include(quiet.id)
    expect(kept.length).to.be.within(100, 700)
    expect(await newest()).to.equal(last)
    client.calls.length = 0
    await store.sweep(() => true, { records: 10, bytes: limit })
    expect(client.calls.map(({ verb }) => verb)).to.deep.equal(['list'])
  })

  for (const [moment, verb] of [
    ['before it is read', 'list'],
    ['before it is written', 'get'],
  ] as const)
    it(`leaves a record to the next sweep if somebody writes to it ${moment}`, async () => {
      const client = new FakeKubeClient()
      const [store, other] = [new SecretActivity(client), new SecretActivity(client)]
      for (let batch = 0; batch < 4; batch += 1)
        await store.append(
          of('loud'),
          Array.from({ length: 100 }, (_, at) => observedAction(noise(batch * 100 + at))),
        )
      const late = observedAction()
      const asked = client[verb].bind(client) as (...wanted: never[]) => Promise<unknown>
      let isAnswered = false
      const answerThenAppend = async (...wanted: never[]) => {
        const found = await asked(...wanted)
        if (!isAnswered) {
          isAnswered = true
          await other.append(of('loud'), [late])
        }
        return found as never
      }
      Object.assign(client, { [verb]: answerThenAppend })
      await store.sweep(() => true, { records: 10, bytes: 20 * KIB })
      const kept = (await new SecretActivity(client).read(of('loud'))) ?? []
      expect(kept.length).to.equal(401)
      expect(kept.at(-1)?.id).to.equal(late.id)
    })
})
