import { expect } from 'chai'
import {
  changesBetween,
  isRevisionOf,
  nextRevision,
  type Revision,
  revisionOf,
  revisionsToDelete,
  type WantedRevision,
} from './revisions.ts'

type Content = { image: string; other?: string; size?: number }
const DEED = { at: '2026-01-01T00:00:00Z', by: 'somebody' }
const wanted = (content: Content, redeployedAt: Record<string, string> = {}): WantedRevision<Content> => ({
  content,
  redeployedAt,
  parts: ({ image, other }) => ({ web: image, ...(other !== undefined && { worker: other }) }),
  restorable: ({ size: _, ...rest }) => rest,
})
/** The revisions after these changes. */
function history(...contents: WantedRevision<Content>[]): Revision<Content>[] {
  const known: Revision<Content>[] = []
  for (const each of contents) {
    const next = nextRevision(known, each, DEED)
    if (next !== undefined) known.push(next)
  }
  return known
}
const shown = (known: readonly Revision<Content>[]) =>
  known.map(({ number, reason, message }) => [number, reason, ...(message === undefined ? [] : [message])].join(' '))

describe('nextRevision, revisionOf and changesBetween', () => {
  const [a, b, c] = ['a', 'b', 'c'].map((image) => wanted({ image })) as [
    WantedRevision<Content>,
    WantedRevision<Content>,
    WantedRevision<Content>,
  ]
  const cases: [sentence: string, changes: WantedRevision<Content>[], expected: string[]][] = [
    ['create the first revision', [a], ['1 Created']],
    ['create a revision for a change only', [a, a, b, b], ['1 Created', '2 Updated']],
    [
      'name the revision that a rollback restores',
      [a, b, c, a],
      ['1 Created', '2 Updated', '3 Updated', '4 RolledBack Rolled back to revision 1.'],
    ],
    [
      'name the newest revision with the same content',
      [a, b, a, b, a],
      [
        '1 Created',
        '2 Updated',
        '3 RolledBack Rolled back to revision 1.',
        '4 RolledBack Rolled back to revision 2.',
        '5 RolledBack Rolled back to revision 3.',
      ],
    ],
    [
      'create a revision for a redeployment',
      [a, wanted({ image: 'a' }, { web: DEED.at })],
      ['1 Created', '2 Redeployed'],
    ],
    [
      'recognise a rollback although a field that only grows has grown',
      [wanted({ image: 'a', size: 1 }), wanted({ image: 'b', size: 2 }), wanted({ image: 'a', size: 2 })],
      ['1 Created', '2 Updated', '3 RolledBack Rolled back to revision 1.'],
    ],
    [
      'create an update if only that field grows',
      [wanted({ image: 'a', size: 1 }), wanted({ image: 'a', size: 2 })],
      ['1 Created', '2 Updated'],
    ],
  ]
  for (const [sentence, changes, expected] of cases) {
    it(sentence, () => expect(shown(history(...changes))).to.deep.equal(expected))
  }

  it('return since which revision each part is unchanged', () => {
    const known = history(
      wanted({ image: 'a', other: 'x' }),
      wanted({ image: 'b', other: 'x' }),
      wanted({ image: 'b', other: 'x' }, { worker: DEED.at }),
      wanted({ image: 'a', other: 'x' }, { worker: DEED.at }),
    )
    expect(known.map(({ since }) => since)).to.deep.equal([
      { web: 1, worker: 1 },
      { web: 2, worker: 1 },
      { web: 2, worker: 3 },
      { web: 4, worker: 3 },
    ])
  })

  it('read back stored revisions and reject other objects', () => {
    const [first] = history(a) as [Revision<Content>]
    const { number, ...data } = JSON.parse(JSON.stringify(first))
    expect(revisionOf({ metadata: { name: 'x' }, revision: number, data })).to.deep.equal({ number, ...data })
    expect(revisionOf({ metadata: { name: 'x' }, revision: 1, data: { spec: {} } })).to.equal(undefined)
  })

  const pairs: [sentence: string, from: unknown, to: unknown, expected: string[]][] = [
    ['no change', { a: [1] }, { a: [1] }, []],
    ['a changed value', { a: 1 }, { a: 2 }, ['Changed /a 1 2']],
    ['a removed and an added field', { a: 1 }, { b: [2] }, ['Removed /a 1 null', 'Added /b null [2]']],
    ['a changed list item', { a: [{ x: 1 }, { x: 2 }] }, { a: [{ x: 1 }, { x: 3 }] }, ['Changed /a/1/x 2 3']],
    ['an escaped slash and tilde', { 'a/b~': 1 }, {}, ['Removed /a~1b~0 1 null']],
    ['a list replaced by an object', { a: [1] }, { a: { 0: 1 } }, ['Changed /a [1] {"0":1}']],
  ]
  for (const [sentence, from, to, expected] of pairs) {
    it(`return ${sentence}`, () => {
      const found = changesBetween(from, to).map(
        (change) => `${change.kind} ${change.path} ${JSON.stringify(change.from)} ${JSON.stringify(change.to)}`,
      )
      expect(found).to.deep.equal(expected)
    })
  }
})

const KIB = 1024
/** Revisions 1 to `count`, each of this size. */
const stored = (count: number, bytes: number) => [...Array(count).keys()].map((at) => ({ number: at + 1, bytes }))
const oldest = (count: number) => [...Array(count).keys()].map((at) => at + 1)

describe('revisionsToDelete', () => {
  const cases: [sentence: string, count: number, bytes: number, deleted: number[]][] = [
    ['none of 50 small ones', 50, KIB, []],
    ['those beyond the newest 50', 53, KIB, oldest(3)],
    ['those beyond 1 MiB', 20, 100 * KIB, oldest(10)],
    ['all but the newest 5 of large ones', 9, 900 * KIB, oldest(4)],
    ['none of 5 large ones', 5, 900 * KIB, []],
  ]
  for (const [sentence, count, bytes, deleted] of cases)
    it(`returns ${sentence}`, () => {
      expect(revisionsToDelete(stored(count, bytes)).sort((one, other) => one - other)).to.deep.equal(deleted)
    })
})

describe('isRevisionOf', () => {
  const owner = { name: 'shop', uid: 'now', annotations: { 'freehold.dev/incarnation': 'a-life' } }
  const revision = (uid: string, incarnation: string) => ({
    name: 'shop-1',
    ownerReferences: uid === '' ? [] : [{ apiVersion: 'v1', kind: 'Shop', name: 'shop', uid }],
    annotations: incarnation === '' ? {} : { 'freehold.dev/incarnation-of-owner': incarnation },
  })
  const cases: [title: string, uid: string, incarnation: string, expected: boolean][] = [
    ['returns true for an owner reference to the resource', 'now', '', true],
    ['returns true for the incarnation of a restored resource', '', 'a-life', true],
    ['returns false for a former incarnation', 'then', 'another-life', false],
    ['returns false without any mark', '', '', false],
  ]
  for (const [title, uid, incarnation, expected] of cases)
    it(title, () => expect(isRevisionOf(revision(uid, incarnation), owner)).to.equal(expected))

  it('returns false for a resource without an incarnation', () =>
    expect(isRevisionOf(revision('', ''), { name: 'shop' })).to.equal(false))
})
