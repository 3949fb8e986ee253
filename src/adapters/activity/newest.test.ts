import { expect } from 'chai'
import { RESOURCE } from '../../../test/suites/activityStoreContract.ts'
import type { Actor } from '../../contracts/activity.ts'
import { type EntrySource, mergeNewestEntries } from './newest.ts'
import type { ResourceEntry } from './port.ts'

const DAYS = '2026-01-'

function entryOf(day: number, name = 'search', actor: Actor = { platform: true }): ResourceEntry {
  const entry: ResourceEntry['entry'] = {
    id: `${name}-${day}`,
    occurredAt: `${DAYS}${day}`,
    action: 'vectorcluster/write',
    actor,
    channel: 'Rest',
    outcome: 'Succeeded',
    changes: [],
    metadata: {},
  }
  return { resource: { ...RESOURCE, resourceName: name }, entry }
}

describe('mergeNewestEntries', () => {
  const opened: string[] = []
  beforeEach(() => {
    opened.length = 0
  })
  const source = (
    name: string,
    days: readonly number[],
    older: readonly EntrySource[] = [],
    actor: Actor = { platform: true },
  ): EntrySource => ({
    newest: `${DAYS}${Math.max(...days)}`,
    open: async () => {
      opened.push(name)
      return { entries: days.map((day) => entryOf(day, name.split(' ')[0], actor)), older }
    },
  })
  const idsOf = async (sources: readonly EntrySource[], limit: number) =>
    (await mergeNewestEntries(sources, limit)).map(({ entry }) => entry.id)

  it('merges records, the newest entry first', async () => {
    expect(await idsOf([source('a', [11, 13]), source('b', [12])], 9)).to.deep.equal(['a-13', 'b-12', 'a-11'])
  })

  it('includes older parts of a record', async () => {
    const record = source('a', [15], [source('a chapter', [12], [source('a first', [10])])])
    expect(await idsOf([record, source('b', [13])], 9)).to.deep.equal(['a-15', 'b-13', 'a-12', 'a-10'])
  })

  it('returns at most the limit, without opening parts that hold only older entries', async () => {
    const recent = Array.from({ length: 8 }, (_, index) =>
      source(`r${index}`, [30], [source(`old${index}`, [11])], { kubernetes: `r${index}` }),
    )
    expect(await idsOf([...recent, source('never', [12])], 8)).to.have.length(8)
    expect(opened).to.have.members(recent.map((_, index) => `r${index}`))
  })

  it('includes entries of a quiet caller that are older than the newest of a loud one', async () => {
    const quiet = source('quiet', [11], [], { kubernetes: 'ann' })
    const loud = Array.from({ length: 3 }, (_, index) => source(`loud${index}`, [20, 21, 22, 23, 24, 25, 26, 27]))
    const ids = await idsOf([...loud, quiet], 8)
    expect(ids).to.have.length(8)
    expect(ids.at(-1)).to.equal('quiet-11')
  })

  it('returns the newest entries if nobody did most of them', async () => {
    const done = [
      ['ann', 20],
      ['bob', 19],
      ['ann', 18],
      ['bob', 17],
      ['cleo', 11],
    ] as const
    const entries = done.map(([by, day]) => entryOf(day, by, { kubernetes: by }))
    const open = async () => ({ entries, older: [] })
    const newest = ['ann-20', 'bob-19', 'ann-18', 'bob-17']
    expect(await idsOf([{ newest: `${DAYS}20`, open }], 4)).to.deep.equal(newest)
  })

  it('opens a bounded number of further parts if one caller is loud', async () => {
    const old = Array.from({ length: 200 }, (_, index) => source(`old${index}`, [11]))
    expect(await idsOf([source('loud', [20, 21, 22, 23, 24, 25, 26, 27]), ...old], 8)).to.have.length(8)
    expect(opened.length).to.be.within(9, 80)
  })

  it('returns an entry once, even if two parts contain it', async () => {
    expect(await idsOf([source('a', [12], [source('a chapter', [12, 11])])], 9)).to.deep.equal(['a-12', 'a-11'])
  })

  it('sorts the entries a few times, not once per record', async () => {
    let reads = 0
    const count = 1_000
    const sources = Array.from({ length: count }, (_, at): EntrySource => {
      const occurredAt = new Date(Date.UTC(2026, 0, 1) + at).toISOString()
      const { resource, entry } = entryOf(11, `r${at}`)
      const counted = Object.defineProperty({ ...entry }, 'occurredAt', {
        get: () => {
          reads += 1
          return occurredAt
        },
      })
      return { newest: occurredAt, open: async () => ({ entries: [{ resource, entry: counted }], older: [] }) }
    })
    expect(await mergeNewestEntries(sources, count / 2)).to.have.length(count / 2)
    expect(reads).to.be.below(count * 20)
  })
})
