import { expect } from 'chai'
import type { TakenSnapshot } from '../../crds/vectorSnapshots.ts'
import {
  failIfPeerRemoved,
  isUnfinished,
  mergeWantedSnapshots,
  nextSnapshotAction,
  type SnapshotFacts,
  withExistingFiles,
} from './snapshots.ts'

const NOW = '2026-01-01T12:00:00Z'
const [HERE, THERE] = [
  { peer: 'vc-a-0', collection: 'docs' },
  { peer: 'vc-a-1', collection: 'docs' },
]
const taken = (more: Partial<TakenSnapshot> = {}): TakenSnapshot => ({ name: 'first', files: [], ...more })
const file = (place: typeof HERE) => ({ ...place, file: `${place.peer}.snapshot`, sizeBytes: 7 })
const NEW = { name: 'new.snapshot', sizeBytes: 9 }

describe('nextSnapshotAction', () => {
  const cases: [string, TakenSnapshot, Partial<SnapshotFacts>, string, Partial<TakenSnapshot>?][] = [
    ['notes existing files before the first file', taken(), {}, 'note'],
    ['notes existing files before the next file', taken({ files: [file(HERE)] }), {}, 'note'],
    [
      'notes existing files of the next collection at the same peer',
      taken({ files: [file(HERE)] }),
      { places: [HERE, { ...HERE, collection: 'more' }] },
      'note',
    ],
    ['orders a file after the note', taken({ pending: { ...HERE, known: [] } }), {}, 'ask'],
    ['waits for an ordered file', taken({ pending: { ...HERE, known: [], askedAt: NOW } }), {}, 'wait'],
    [
      'adopts a new file even if it recorded no order',
      taken({ pending: { ...HERE, known: ['old.snapshot'] } }),
      { found: [{ name: 'old.snapshot', sizeBytes: 1 }, NEW] },
      'keep',
      { files: [{ ...HERE, file: NEW.name, sizeBytes: 9 }] },
    ],
    [
      'keeps earlier files beside a new one',
      taken({ files: [file(THERE)], pending: { ...HERE, known: [] } }),
      { found: [NEW] },
      'keep',
      { files: [file(THERE), { ...HERE, file: NEW.name, sizeBytes: 9 }] },
    ],
    [
      'fails after an hour without a file',
      taken({ pending: { ...HERE, known: [], askedAt: '2026-01-01T10:59:59Z' } }),
      {},
      'keep',
      { files: [], failure: 'The snapshot of collection "docs" at peer vc-a-0 did not end within an hour.' },
    ],
    [
      'completes with a file of each collection at each peer',
      taken({ startedAt: NOW, files: [file(HERE), file(THERE)] }),
      {},
      'keep',
      { startedAt: NOW, completedAt: NOW, files: [file(HERE), file(THERE)] },
    ],
    ['completes without collections', taken(), { places: [] }, 'keep', { startedAt: NOW, completedAt: NOW }],
    ['deletes the files of a removed snapshot', taken({ isLeaving: true, files: [file(HERE)] }), {}, 'delete'],
    [
      'waits for an ordered file before it deletes',
      taken({ isLeaving: true, pending: { ...HERE, known: [], askedAt: NOW } }),
      {},
      'wait',
    ],
    [
      'drops an order of a removed snapshot',
      taken({ isLeaving: true, pending: { ...HERE, known: [] } }),
      {},
      'keep',
      { isLeaving: true },
    ],
  ]
  for (const [sentence, snapshot, more, kind, kept] of cases) {
    it(sentence, () => {
      const action = nextSnapshotAction(snapshot, { places: [HERE, THERE], found: [], now: NOW, ...more })
      expect(action.kind).to.equal(kind)
      if (kept !== undefined) expect(action).to.deep.equal({ kind, snapshot: taken(kept) })
    })
  }

  it('names the next place', () => {
    const facts = { places: [HERE, THERE], found: [], now: NOW }
    const asked = taken({ pending: { ...HERE, known: [] } })
    expect(nextSnapshotAction(taken({ files: [file(HERE)] }), facts)).to.deep.equal({ kind: 'note', place: THERE })
    expect(nextSnapshotAction(asked, facts)).to.deep.equal({ kind: 'ask', place: HERE })
  })

  it('fails for more than 300 files', () => {
    const places = Array.from({ length: 301 }, (_, index) => ({ ...HERE, collection: `c${index}` }))
    const action = nextSnapshotAction(taken(), { places, found: [], now: NOW })
    expect(action.kind === 'keep' && action.snapshot.failure).to.match(/301 files/)
    expect(action.kind === 'keep' && action.snapshot.name).to.equal('first')
    expect(nextSnapshotAction(taken(), { places: places.slice(1), found: [], now: NOW }).kind).to.equal('note')
  })
})

describe('withExistingFiles', () => {
  const there = (count: number) => Array.from({ length: count }, (_, index) => ({ name: `old-${index}`, sizeBytes: 1 }))

  it('records the start and the existing files once', () => {
    const noted = taken({ startedAt: NOW, pending: { ...HERE, known: ['old-0', 'old-1'] } })
    expect(withExistingFiles(taken(), HERE, there(2), NOW)).to.deep.equal(noted)
    expect(withExistingFiles(noted, HERE, there(2), '2026-01-01T13:00:00Z')).to.deep.equal(noted)
  })

  it('fails for more than 300 existing files', () => {
    expect(isUnfinished(withExistingFiles(taken(), HERE, there(300), NOW))).to.equal(true)
    const failed = withExistingFiles(taken(), HERE, there(301), NOW)
    expect(failed.startedAt).to.equal(NOW)
    expect(failed.failure).to.equal(
      'Collection "docs" has 301 other snapshots at peer vc-a-0; at most 300 are possible.',
    )
    expect(isUnfinished(failed)).to.equal(false)
  })
})

describe('isUnfinished', () => {
  const file = { ...HERE, known: [] }
  const cases: [Partial<TakenSnapshot>, boolean][] = [
    [{}, true],
    [{ completedAt: NOW }, false],
    [{ failure: 'It failed.' }, false],
    [{ failure: 'It failed.', pending: file }, true],
    [{ completedAt: NOW, isLeaving: true }, true],
  ]
  for (const [given, expected] of cases)
    it(`returns ${expected} for ${Object.keys(given).join(' and ') || 'a new snapshot'}`, () =>
      expect(isUnfinished(taken(given))).to.equal(expected))
})

describe('wanted snapshots', () => {
  it('are the recorded and new ones', () => {
    const known = [taken({ completedAt: NOW }), taken({ name: 'second' })]
    expect(mergeWantedSnapshots(known, [{ name: 'first' }, { name: 'second' }, { name: 'third' }])).to.deep.equal([
      ...[...known, taken({ name: 'third' })],
    ])
  })

  it('exclude a removed snapshot until its files are deleted, even if its name returns', () => {
    const [left] = mergeWantedSnapshots([taken({ completedAt: NOW, files: [file(HERE)] })], [])
    expect(left).to.deep.include({ isLeaving: true })
    expect(mergeWantedSnapshots([left as TakenSnapshot], [{ name: 'first' }])).to.deep.equal([left])
  })

  it('drop a removed snapshot without files at once', () => {
    expect(mergeWantedSnapshots([taken()], [{ name: 'second' }])).to.deep.equal([taken({ name: 'second' })])
    const asked = taken({ pending: { ...HERE, known: [] } })
    expect(mergeWantedSnapshots([asked], [])).to.deep.equal([{ ...asked, isLeaving: true }])
  })

  it('fail when a peer with a part is removed', () => {
    const one = failIfPeerRemoved(taken({ files: [file(HERE)], pending: { ...THERE, known: [] } }), ['vc-a-0'])
    expect(one).to.deep.equal(taken({ files: [file(HERE)], failure: 'Peer vc-a-1 went, and its part with it.' }))
    expect(isUnfinished(one)).to.equal(false)
    const rest = failIfPeerRemoved(taken({ files: [file(HERE), file(THERE)] }), ['vc-a-1'])
    expect(rest.files).to.deep.equal([file(THERE)])
    expect(failIfPeerRemoved(taken({ files: [file(HERE)] }), ['vc-a-0'])).to.deep.equal(taken({ files: [file(HERE)] }))
  })
})
