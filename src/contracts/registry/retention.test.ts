import { expect } from 'chai'
import {
  DEFAULT_RETENTION_POLICY,
  decideRetention,
  KEEP_NOTHING_POLICY,
  NO_IMAGE_USES,
  type RetentionInput,
  type StoredDigest,
} from './retention.ts'

const NOW = Date.parse('2026-06-01T00:00:00Z')
const daysAgo = (days: number) => new Date(NOW - days * 86_400_000).toISOString()
const stored = (digest: string, age: number, change: Partial<StoredDigest> = {}): StoredDigest => ({
  digest,
  tags: [`tag-${digest}`],
  sizeBytes: 1,
  pushedAt: daysAgo(age),
  ...change,
})
/** Ten newer ones, so that nothing older is among the latest. */
const NEWER = Array.from({ length: 10 }, (_, index) => stored(`newer-${index}`, 1))
const OLD = stored('old', 90)
const pin = (change: object = {}) => ({ digests: [], expiresAt: daysAgo(-1), ...change })
const uses = (where: 'running' | 'revisions', digests: string[], tags: string[] = []) => ({
  ...NO_IMAGE_USES,
  [where]: { digests: new Set(digests), tags: new Set(tags) },
})

const CASES: [string, Partial<RetentionInput> & { of?: StoredDigest }, string][] = [
  ['keeps the ten newest tagged digests, however old', { digests: [OLD] }, 'Keep Latest'],
  ['removes an old tagged digest that is not used', {}, 'Remove Expired'],
  ['keeps a tagged digest for 30 days after its push', { of: stored('old', 29) }, 'Keep Recent'],
  [
    'keeps a tagged digest for 30 days after its last pull',
    { of: { ...OLD, lastPulledAt: daysAgo(2) } },
    'Keep Recent',
  ],
  ['keeps an untagged digest for 7 days', { of: stored('old', 6, { tags: [] }) }, 'Keep Recent'],
  ['removes an untagged digest after 7 days', { of: stored('old', 8, { tags: [] }) }, 'Remove Untagged'],
  [
    'does not count untagged digests among the latest',
    { digests: [stored('old', 8, { tags: [] })] },
    'Remove Untagged',
  ],
  ['removes a tagged digest on the 30th day', { of: stored('old', 30) }, 'Remove Expired'],
  ['removes an untagged digest on the 7th day', { of: stored('old', 7, { tags: [] }) }, 'Remove Untagged'],
  [
    'leaves the number of the latest alone for a pin by name',
    { digests: [OLD], pins: [pin({ digests: ['another'] })] },
    'Keep Latest',
  ],
  [
    'leaves the number of days alone for a pin by name',
    { of: stored('old', 29), pins: [pin({ digests: ['another'] })] },
    'Keep Recent',
  ],
  [
    'keeps nothing of a boundary that is gone',
    {
      digests: [stored('old', 0.5), stored('other', 0.1, { tags: [] })],
      policy: KEEP_NOTHING_POLICY,
      pins: [pin({ digests: ['another'] })],
    },
    'Remove Expired',
  ],
  [
    'keeps not even an untagged digest of a boundary that is gone',
    { digests: [stored('old', 0.5, { tags: [] })], policy: KEEP_NOTHING_POLICY },
    'Remove Untagged',
  ],
  ['keeps a digest that runs', { uses: uses('running', ['old']) }, 'Keep Running'],
  ['keeps the digest of a tag that runs', { uses: uses('running', [], ['tag-old']) }, 'Keep Running'],
  ['keeps a digest of a revision', { uses: uses('revisions', ['old']) }, 'Keep Revision'],
  ['keeps a pinned digest', { pins: [pin({ digests: ['old'] })] }, 'Keep Pinned'],
  ['removes a digest that a pin does not name', { pins: [pin({ digests: ['another'] })] }, 'Remove Expired'],
  ['keeps everything for a pin without digests and limits', { pins: [pin()] }, 'Keep Pinned'],
  ['ignores an expired pin', { pins: [pin({ digests: ['old'], expiresAt: daysAgo(0) })] }, 'Remove Expired'],
  ['keeps more of the latest for a pin', { pins: [pin({ keepLast: 11 })] }, 'Keep Latest'],
  ['keeps no fewer of the latest for a pin', { digests: [OLD], pins: [pin({ keepLast: 1 })] }, 'Keep Latest'],
  ['keeps digests longer for a pin', { pins: [pin({ keepForDays: 91 })] }, 'Keep Recent'],
  [
    'keeps what is needed by what another one needs',
    {
      digests: [
        ...[...NEWER, OLD, stored('part', 90, { references: ['old'] })],
        stored('index', 90, { references: ['part'] }),
      ],
      uses: uses('running', ['index']),
    },
    'Keep Running',
  ],
  [
    'keeps the parts of an index that runs',
    {
      digests: [...NEWER, OLD, stored('index', 90, { references: ['old'] })],
      uses: uses('running', ['index']),
    },
    'Keep Running',
  ],
  [
    'keeps a signature as long as its subject',
    { of: stored('old', 90, { tags: [], subject: 'newer-0' }) },
    'Keep Latest',
  ],
  [
    'removes a signature without its subject',
    { of: stored('old', 90, { tags: [], subject: 'gone' }) },
    'Remove Untagged',
  ],
]

describe('decideRetention', () => {
  for (const [title, { of = OLD, ...change }, expected] of CASES) {
    it(title, () => {
      const question = {
        digests: [...NEWER, of],
        pins: [],
        uses: NO_IMAGE_USES,
        policy: DEFAULT_RETENTION_POLICY,
        now: NOW,
        ...change,
      }
      const verdict = decideRetention(question).find((each) => each.stored.digest === 'old')
      expect(`${verdict?.action} ${verdict?.reason}`).to.equal(expected)
    })
  }

  it('has one order for digests of one moment', () => {
    const some = ['b', 'c', 'a'].map((digest) => stored(digest, 1))
    for (const digests of [some, some.toReversed()]) {
      const input = {
        digests,
        pins: [],
        uses: NO_IMAGE_USES,
        policy: { ...DEFAULT_RETENTION_POLICY, keepLast: 1 },
        now: NOW,
      }
      const verdicts = decideRetention(input).map(({ stored: { digest }, reason }) => `${digest} ${reason}`)
      expect(verdicts).to.deep.equal(['c Latest', 'b Recent', 'a Recent'])
    }
  })

  it('returns each digest once, the newest first', () => {
    const question = {
      digests: [OLD, ...NEWER],
      pins: [],
      uses: NO_IMAGE_USES,
      policy: DEFAULT_RETENTION_POLICY,
      now: NOW,
    }
    const digests = decideRetention(question).map((each) => each.stored.digest)
    expect(digests).to.have.length(11)
    expect(digests.at(-1)).to.equal('old')
  })
})
