import { expect } from 'chai'
import { observedAction } from '../../../test/suites/activityStoreContract.ts'
import { selectFairly } from './fairness.ts'
import type { Entry } from './port.ts'

type Done = { by: string; times?: number; day?: number; field?: string; action?: string }

/** What was done, in this order. */
function history(...all: readonly Done[]): Entry[] {
  return all.flatMap(({ by, times = 1, day = 1, field, action = 'app/write' }) =>
    Array.from({ length: times }, (_, at) => ({
      ...observedAction({ actor: { kubernetes: by }, action, metadata: { at: String(at) } }),
      occurredAt: new Date(Date.UTC(2026, 0, day, 0, 0, 0, at)).toISOString(),
      changes: field === undefined ? [] : [{ path: `/${field}`, from: null, to: at }],
    })),
  )
}

/** How many entries of each actor stay, with the field that they changed. */
function counted(entries: readonly Entry[]): Record<string, number> {
  const names = entries.map(({ actor, changes: [change] }) => {
    const by = 'kubernetes' in actor ? actor.kubernetes : ''
    return change === undefined ? by : `${by}${change.path}`
  })
  return Object.fromEntries([...Map.groupBy(names, (name) => name)].map(([name, { length }]) => [name, length]))
}

describe('selectFairly', () => {
  const cases: readonly (readonly [sentence: string, given: Entry[], kept: Record<string, number>])[] = [
    ['keeps everything that fits', history({ by: 'ann', times: 10 }), { ann: 10 }],
    ['keeps the newest entries of one caller', history({ by: 'ann', times: 30 }), { ann: 10 }],
    [
      'keeps all entries of a quiet caller beside a loud one',
      history({ by: 'ann', times: 3 }, { by: 'bob', times: 100 }),
      { ann: 3, bob: 7 },
    ],
    [
      'gives loud callers equal shares',
      history({ by: 'ann' }, { by: 'bob', times: 50 }, { by: 'cleo', times: 20 }, { by: 'dan', times: 4 }),
      { ann: 1, bob: 3, cleo: 3, dan: 3 },
    ],
    [
      'keeps what a caller did once beside what they did often',
      history({ by: 'bob', field: 'allowedCidrs' }, { by: 'bob', times: 50, field: 'tags' }),
      { 'bob/allowedCidrs': 1, 'bob/tags': 9 },
    ],
    [
      'keeps the capacity over several days',
      history({ by: 'bob', day: 1, field: 'a' }, { by: 'bob', times: 50, day: 2, field: 'a' }),
      { 'bob/a': 10 },
    ],
    [
      'keeps the newest entries if there are more callers than places',
      history(...Array.from({ length: 12 }, (_, at) => ({ by: `c${at}`, day: at + 1 }))),
      Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`c${at + 2}`, 1])),
    ],
  ]
  for (const [sentence, given, kept] of cases)
    it(sentence, () => {
      const stays = selectFairly(given, () => 1, 10)
      expect(counted(given.filter((entry) => stays.has(entry)))).to.deep.equal(kept)
    })

  it('keeps a single act of one day beside many of the next', () => {
    const given = history({ by: 'bob', day: 1, field: 'a' }, { by: 'bob', times: 50, day: 2, field: 'a' })
    expect(selectFairly(given, () => 1, 10).has(given[0] as Entry)).to.equal(true)
  })

  it('counts entries by weight', () => {
    const given = history({ by: 'ann', times: 4 }, { by: 'bob', times: 9 })
    const weightOf = ({ actor }: Entry) => ('kubernetes' in actor && actor.kubernetes === 'bob' ? 3 : 1)
    const stays = selectFairly(given, weightOf, 10)
    expect(counted(given.filter((entry) => stays.has(entry)))).to.deep.equal({ ann: 4, bob: 2 })
  })
})
