import { expect } from 'chai'
import {
  currentVersion,
  type EntrySpec,
  entryVersionsOf,
  forgetTime,
  isEntryActive,
  isEntryVisible,
  lifeOfNextValue,
  nextValidityChange,
  purgeTime,
  readRefusal,
  type VaultRules,
  withDeletion,
  withPurge,
  withRecovery,
  withVersion,
} from './history.ts'

const RULES: VaultRules = { softDeleteEnabled: true, softDeleteRetentionDays: 7, enablePurgeProtection: false }
const at = (day: number) => `2026-01-${String(day).padStart(2, '0')}T00:00:00Z`
const time = (day: number) => Date.parse(at(day))
const EMPTY: EntrySpec = { vaultName: 'v', secretName: 's', tags: {}, state: 'Active', enabled: true }

type Attributes = Partial<Pick<EntrySpec, 'enabled' | 'notBefore' | 'expiresOn' | 'contentType' | 'tags'>>
const put = (spec: EntrySpec, version: number, attributes: Attributes = {}, day = version) =>
  withVersion(spec, { at: at(day), by: 'anna', enabled: true, ...attributes, version }, RULES)
const entry = (spec: EntrySpec) => ({ metadata: {}, spec })
const numbers = (spec: EntrySpec) => entryVersionsOf(spec).map(({ version }) => version)

describe('versions of a secret', () => {
  it('grow by one with each value, and the newest is the current one', () => {
    const spec = put(put(EMPTY, 1), 2)
    expect(numbers(spec)).to.deep.equal([1, 2])
    expect(currentVersion(spec)).to.equal(2)
    expect(spec.history).to.include({ lastVersion: 2, life: 1, createdAt: at(1), updatedAt: at(2), updatedBy: 'anna' })
  })

  it('of the slower of two writers stands in its place, and the attributes stay those of the newest', () => {
    const spec = put(put(put(EMPTY, 1), 3, { contentType: 'new', tags: { a: '1' } }), 2, { contentType: 'slow' })
    expect(entryVersionsOf(spec).map(({ version, contentType }) => [version, contentType])).to.deep.equal([
      [1, undefined],
      [2, 'slow'],
      [3, 'new'],
    ])
    expect(spec).to.include({ contentType: 'new' })
    expect(spec.tags).to.deep.equal({ a: '1' })
    expect(spec.history?.lastVersion).to.equal(3)
  })

  it('keep the attributes that they had when a newer one came', () => {
    const changed = { ...put(EMPTY, 1, { contentType: 'a' }), contentType: 'b', enabled: false }
    expect(entryVersionsOf(put(changed, 2))[0]).to.include({ contentType: 'b', enabled: false })
  })

  it('begin another life too where somebody calls a purged secret active before it has a value', () => {
    const purged = withPurge(withDeletion(put(EMPTY, 1), { at: at(3) }), { at: at(4) })
    const again = put({ ...purged, state: 'Active' }, 2, {}, 5)
    expect(again.history).to.include({ life: 2, purgedAt: undefined })
  })

  it('are a hundred at most: the oldest is dropped', () => {
    let spec = EMPTY
    for (let version = 1; version <= 103; version += 1) spec = put(spec, version, {}, 1)
    expect(numbers(spec)).to.have.length(100)
    expect([numbers(spec)[0], currentVersion(spec)]).to.deep.equal([4, 103])
  })

  it('are not given twice after a purge: the numbers go on, in another life', () => {
    const purged = withPurge(withDeletion(put(put(EMPTY, 1), 2), { at: at(3) }), { at: at(4) })
    expect(purged.history).to.include({ lastVersion: 2, life: 1, purgedAt: at(4) })
    expect(purged.history?.versions).to.deep.equal([])
    expect(lifeOfNextValue(purged)).to.equal(2)
    const again = put(purged, 3, {}, 5)
    expect(again.history).to.include({ life: 2, lastVersion: 3, createdAt: at(5), purgedAt: undefined })
    expect([numbers(again), again.state]).to.deep.equal([[3], 'Active'])
  })
})

describe('the life of a secret', () => {
  const live = put(EMPTY, 1, { contentType: 'text', tags: { team: 'x' }, expiresOn: at(20) })
  const deleted = withDeletion(live, { at: at(2), by: 'bob' })

  const states: [string, EntrySpec, { known: boolean; live: boolean }][] = [
    ['without a value is unknown', EMPTY, { known: false, live: false }],
    ['with a value is live', live, { known: true, live: true }],
    ['after its deletion is known, and not live', deleted, { known: true, live: false }],
    ['after its recovery is live again', withRecovery(deleted, { at: at(3) }), { known: true, live: true }],
    ['after its purge is unknown', withPurge(deleted, { at: at(3) }), { known: false, live: false }],
  ]
  for (const [title, spec, wanted] of states) {
    it(title, () =>
      expect({ known: isEntryVisible(entry(spec)), live: isEntryActive(entry(spec)) }).to.deep.equal(wanted),
    )
  }

  it('ends when the days of the vault are over', () => {
    expect(purgeTime(deleted, RULES)).to.equal(at(9))
    expect(purgeTime(live, RULES)).to.equal(undefined)
    expect(purgeTime(withRecovery(deleted, { at: at(3) }), RULES)).to.equal(undefined)
  })

  it('leaves its numbers behind for as many days more', () => {
    expect(forgetTime(withPurge(deleted, { at: at(9) }), RULES)).to.equal(at(16))
    expect(forgetTime(deleted, RULES)).to.equal(undefined)
  })

  it('leaves nothing else behind', () => {
    const purged = withPurge(deleted, { at: at(9) })
    expect(purged).to.include({ state: 'Purged', enabled: true })
    expect(purged.tags).to.deep.equal({})
    expect(Object.keys(purged)).not.to.include.members(['contentType', 'expiresOn'])
    expect(Object.keys(purged.history ?? {})).not.to.include.members(['deletedAt', 'createdAt'])
  })
})

describe('the reading of a value', () => {
  const cases: [string, EntrySpec, number, number, string | undefined][] = [
    ['is answered for the newest version', put(put(EMPTY, 1), 2), 2, 5, undefined],
    ['is answered for an older version', put(put(EMPTY, 1), 2), 1, 5, undefined],
    ['is refused for a version that never was', put(EMPTY, 1), 2, 5, 'Missing'],
    ['is refused for a deleted secret', withDeletion(put(EMPTY, 1), { at: at(2) }), 1, 5, 'Missing'],
    ['is refused for a disabled secret', put(EMPTY, 1, { enabled: false }), 1, 5, 'Disabled'],
    ['is refused for an old version of a disabled secret', put(put(EMPTY, 1), 2, { enabled: false }), 1, 5, 'Disabled'],
    ['is refused for a disabled version', put(put(EMPTY, 1, { enabled: false }), 2), 1, 5, 'Disabled'],
    ['is refused the moment before notBefore', put(EMPTY, 1, { notBefore: at(6) }), 1, 5, 'NotYetValid'],
    ['is answered at notBefore', put(EMPTY, 1, { notBefore: at(5) }), 1, 5, undefined],
    ['is answered before expiresOn', put(EMPTY, 1, { expiresOn: at(6) }), 1, 5, undefined],
    ['is refused at expiresOn', put(EMPTY, 1, { expiresOn: at(5) }), 1, 5, 'Expired'],
  ]
  for (const [title, spec, version, day, wanted] of cases) {
    it(title, () => expect(readRefusal(entry(spec), version, time(day))).to.equal(wanted))
  }

  it('changes by itself at the next of the two times', () => {
    const both = { enabled: true, notBefore: at(5), expiresOn: at(7) }
    expect([3, 5, 7].map((day) => nextValidityChange(both, time(day)))).to.deep.equal([time(5), time(7), undefined])
  })
})
