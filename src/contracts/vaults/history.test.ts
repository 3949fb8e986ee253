import { expect } from 'chai'
import {
  currentVersion,
  type EntrySpec,
  entryVersionsOf,
  forgetTime,
  hasNoValueYet,
  isEntryActive,
  isEntryVisible,
  lastValidityChange,
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
  withVersion(spec, { at: at(day), by: 'anna', enabled: true, bytes: 8, ...attributes, version }, RULES)
const entry = (spec: EntrySpec) => ({ metadata: {}, spec })
const numbers = (spec: EntrySpec) => entryVersionsOf(spec).map(({ version }) => version)

describe('withVersion', () => {
  it('begins the history of a secret, under the rules of its vault', () => {
    const rules = { ...RULES, softDeleteEnabled: false, enablePurgeProtection: true }
    const first = withVersion(
      EMPTY,
      { at: at(1), by: 'anna', enabled: true, contentType: 'a', bytes: 8, version: 1 },
      rules,
    )
    const attributes = { enabled: true, contentType: 'a', notBefore: undefined, expiresOn: undefined }
    expect(first).to.deep.equal({
      ...EMPTY,
      ...attributes,
      history: {
        life: 1,
        lastVersion: 1,
        versions: [{ version: 1, ...attributes, bytes: 8, createdAt: at(1), createdBy: 'anna' }],
        softDelete: false,
        purgeProtection: true,
        isManaged: false,
        createdAt: at(1),
        updatedAt: at(1),
        updatedBy: 'anna',
        deletedAt: undefined,
        purgedAt: undefined,
      },
    })
    expect(put(first, 2).history).to.include({ softDelete: true, purgeProtection: false })
  })

  it('keeps a version that is written twice once, and who manages the secret', () => {
    const spec = put(put(EMPTY, 1), 2, { contentType: 'first' })
    const again = put({ ...spec, history: spec.history && { ...spec.history, isManaged: true } }, 2, {
      contentType: 'second',
    })
    expect(entryVersionsOf(again).map(({ version, contentType }) => [version, contentType])).to.deep.equal([
      [1, undefined],
      [2, 'second'],
    ])
    expect(again.history?.isManaged).to.equal(true)
  })

  it('keeps the tags if the version brings none, and makes a deleted secret active', () => {
    const deleted = withDeletion(put(EMPTY, 1, { tags: { a: '1' } }), { at: at(2) })
    expect(put(deleted, 2)).to.deep.include({ tags: { a: '1' }, state: 'Active', vaultName: 'v', secretName: 's' })
    const slow = put({ ...withDeletion(put(put(EMPTY, 1), 3), { at: at(4) }) }, 2)
    expect(slow).to.include({ state: 'Active', vaultName: 'v', secretName: 's' })
    expect(put(deleted, 2).history).to.include({ deletedAt: undefined })
  })

  it('numbers versions in order, and makes the newest the current one', () => {
    const spec = put(put(EMPTY, 1), 2)
    expect(numbers(spec)).to.deep.equal([1, 2])
    expect(currentVersion(spec)).to.equal(2)
    expect(spec.history).to.include({ lastVersion: 2, life: 1, createdAt: at(1), updatedAt: at(2), updatedBy: 'anna' })
  })

  it("keeps a slower writer's version in order, and the attributes of the newest", () => {
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

  it('stores the attributes of a version when a newer one is added', () => {
    const changed = { ...put(EMPTY, 1, { contentType: 'a' }), contentType: 'b', enabled: false }
    expect(entryVersionsOf(put(changed, 2))[0]).to.include({ contentType: 'b', enabled: false })
  })

  it('begins another life if a purged secret is marked active before it has a value', () => {
    const purged = withPurge(withDeletion(put(EMPTY, 1), { at: at(3) }), { at: at(4) })
    const again = put({ ...purged, state: 'Active' }, 2, {}, 5)
    expect(again.history).to.include({ life: 2, purgedAt: undefined })
  })

  it('keeps 100 versions and drops the oldest', () => {
    let spec = EMPTY
    for (let version = 1; version <= 103; version += 1) spec = put(spec, version, {}, 1)
    expect(numbers(spec)).to.have.length(100)
    expect([numbers(spec)[0], currentVersion(spec)]).to.deep.equal([4, 103])
  })

  it('continues the numbers in another life after a purge', () => {
    const purged = withPurge(withDeletion(put(put(EMPTY, 1), 2), { at: at(3) }), { at: at(4) })
    expect(purged.history).to.include({ lastVersion: 2, life: 1, purgedAt: at(4) })
    expect(purged.history?.versions).to.deep.equal([])
    expect(lifeOfNextValue(purged)).to.equal(2)
    const again = put(purged, 3, {}, 5)
    expect(again.history).to.include({ life: 2, lastVersion: 3, createdAt: at(5), purgedAt: undefined })
    expect([numbers(again), again.state]).to.deep.equal([[3], 'Active'])
  })
})

describe('withDeletion, withRecovery and withPurge', () => {
  const live = put(EMPTY, 1, { contentType: 'text', tags: { team: 'x' }, expiresOn: at(20) })
  const deleted = withDeletion(live, { at: at(2), by: 'bob' })

  const states: [string, EntrySpec, { known: boolean; live: boolean }][] = [
    ['neither visible nor active without a value', EMPTY, { known: false, live: false }],
    ['visible and active with a value', live, { known: true, live: true }],
    ['visible but not active after a deletion', deleted, { known: true, live: false }],
    ['visible and active after a recovery', withRecovery(deleted, { at: at(3) }), { known: true, live: true }],
    ['neither visible nor active after a purge', withPurge(deleted, { at: at(3) }), { known: false, live: false }],
  ]
  for (const [title, spec, wanted] of states) {
    it(title, () =>
      expect({ known: isEntryVisible(entry(spec)), live: isEntryActive(entry(spec)) }).to.deep.equal(wanted),
    )
  }

  it('keep everything else at a deletion and a recovery', () => {
    const { history } = live
    expect(deleted).to.deep.equal({
      ...live,
      state: 'Deleted',
      history: { ...history, deletedAt: at(2), updatedAt: at(2), updatedBy: 'bob' },
    })
    expect(withRecovery(deleted, { at: at(3), by: 'carl' })).to.deep.equal({
      ...live,
      history: { ...history, deletedAt: undefined, updatedAt: at(3), updatedBy: 'carl' },
    })
  })

  it('need no history', () => {
    expect(withDeletion(EMPTY, { at: at(1) })).to.deep.equal({ ...EMPTY, state: 'Deleted' })
    expect(withRecovery({ ...EMPTY, state: 'Deleted' }, { at: at(1) })).to.deep.equal(EMPTY)
    expect(withPurge(EMPTY, { at: at(1) })).to.deep.equal({ ...EMPTY, state: 'Purged' })
    expect([purgeTime, forgetTime].map((timeOf) => timeOf({ ...EMPTY, state: 'Deleted' }, RULES))).to.deep.equal([
      undefined,
      undefined,
    ])
  })

  it('never show a secret that is being removed, or that was purged', () => {
    expect(isEntryVisible({ metadata: { deletionTimestamp: at(1) }, spec: live })).to.equal(false)
    expect(isEntryVisible(entry({ ...live, state: 'Purged' }))).to.equal(false)
  })

  it('have times only in the state that they are of', () => {
    expect(purgeTime({ ...deleted, state: 'Active' }, RULES)).to.equal(undefined)
    const purged = withPurge(deleted, { at: at(9) })
    expect(forgetTime({ ...purged, state: 'Active' }, RULES)).to.equal(undefined)
    expect(forgetTime({ ...live, state: 'Purged' }, RULES)).to.equal(undefined)
  })

  it('know a secret that never had a value', () => {
    expect([EMPTY, live, withPurge(deleted, { at: at(9) })].map(hasNoValueYet)).to.deep.equal([true, false, false])
  })

  it('keep nothing but numbers and the source at a purge', () => {
    const source = { secretName: 'a', key: 'b', uid: 'c', resourceVersion: '1', version: 1 }
    const managed = {
      ...deleted,
      history: deleted.history && { ...deleted.history, source, isManaged: true, purgeProtection: true },
    }
    const { vaultName, secretName } = EMPTY
    expect(withPurge({ ...managed, enabled: false }, { at: at(9), by: 'bob' })).to.deep.equal({
      vaultName,
      secretName,
      tags: {},
      state: 'Purged',
      enabled: true,
      history: {
        life: 1,
        lastVersion: 1,
        versions: [],
        softDelete: true,
        purgeProtection: false,
        isManaged: false,
        source,
        updatedAt: at(9),
        updatedBy: 'bob',
        purgedAt: at(9),
      },
    })
  })

  it("purge a deleted secret after the vault's retention", () => {
    expect(purgeTime(deleted, RULES)).to.equal(at(9))
    expect(purgeTime(live, RULES)).to.equal(undefined)
    expect(purgeTime(withRecovery(deleted, { at: at(3) }), RULES)).to.equal(undefined)
  })

  it('keep the version numbers for another retention after the purge', () => {
    expect(forgetTime(withPurge(deleted, { at: at(9) }), RULES)).to.equal(at(16))
    expect(forgetTime(deleted, RULES)).to.equal(undefined)
  })

  it('remove the attributes at the purge', () => {
    const purged = withPurge(deleted, { at: at(9) })
    expect(purged).to.include({ state: 'Purged', enabled: true })
    expect(purged.tags).to.deep.equal({})
    expect(purged).to.not.have.any.keys('contentType', 'expiresOn')
    expect(purged.history).to.be.an('object').that.does.not.have.any.keys('deletedAt', 'createdAt')
  })
})

describe('readRefusal and nextValidityChange', () => {
  const cases: [string, EntrySpec, number, number, string | undefined][] = [
    ['permit the newest version', put(put(EMPTY, 1), 2), 2, 5, undefined],
    ['permit an older version', put(put(EMPTY, 1), 2), 1, 5, undefined],
    ['refuse an unknown version', put(EMPTY, 1), 2, 5, 'Missing'],
    ['refuse a deleted secret', withDeletion(put(EMPTY, 1), { at: at(2) }), 1, 5, 'Missing'],
    ['refuse a disabled secret', put(EMPTY, 1, { enabled: false }), 1, 5, 'Disabled'],
    ['refuse an older version of a disabled secret', put(put(EMPTY, 1), 2, { enabled: false }), 1, 5, 'Disabled'],
    ['refuse a disabled version', put(put(EMPTY, 1, { enabled: false }), 2), 1, 5, 'Disabled'],
    ['refuse a version before notBefore', put(EMPTY, 1, { notBefore: at(6) }), 1, 5, 'NotYetValid'],
    ['permit a version at notBefore', put(EMPTY, 1, { notBefore: at(5) }), 1, 5, undefined],
    ['permit a version before expiresOn', put(EMPTY, 1, { expiresOn: at(6) }), 1, 5, undefined],
    ['refuse a version at expiresOn', put(EMPTY, 1, { expiresOn: at(5) }), 1, 5, 'Expired'],
  ]
  for (const [title, spec, version, day, wanted] of cases) {
    it(title, () => expect(readRefusal(entry(spec), version, time(day))).to.equal(wanted))
  }

  it('return the next of notBefore and expiresOn', () => {
    const both = { enabled: true, notBefore: at(5), expiresOn: at(7) }
    expect([3, 5, 7].map((day) => nextValidityChange(both, time(day)))).to.deep.equal([time(5), time(7), undefined])
    const swapped = { enabled: true, notBefore: at(7), expiresOn: at(5) }
    expect(nextValidityChange(swapped, time(3))).to.equal(time(5))
    expect(nextValidityChange({ enabled: true }, time(3))).to.equal(undefined)
  })

  it('return the latest change of the secret or a version that has passed', () => {
    const spec = put(put(EMPTY, 1, { notBefore: at(3) }), 2, { notBefore: at(5), expiresOn: at(7) })
    expect([2, 3, 5, 6, 7].map((day) => lastValidityChange(entry(spec), time(day)))).to.deep.equal([
      undefined,
      at(3),
      at(5),
      at(5),
      at(7),
    ])
  })
})
