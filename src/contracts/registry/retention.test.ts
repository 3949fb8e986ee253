import { expect } from 'chai'
import {
  DEFAULT_RETENTION_POLICY,
  decideRetention,
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
/** Ten that are newer, so that nothing older is among the latest. */
const NEWER = Array.from({ length: 10 }, (_, index) => stored(`newer-${index}`, 1))
const OLD = stored('old', 90)
const pin = (change: object = {}) => ({ digests: [], expiresAt: daysAgo(-1), ...change })
const uses = (where: 'running' | 'revisions', digests: string[], tags: string[] = []) => ({
  ...NO_IMAGE_USES,
  [where]: { digests: new Set(digests), tags: new Set(tags) },
})

const CASES: [string, Partial<RetentionInput> & { of?: StoredDigest }, string][] = [
  ['the newest ten with a tag stay, however old', { digests: [OLD] }, 'Keep Latest'],
  ['a tag that is neither among them nor used goes', {}, 'Remove Expired'],
  ['a tag that was pushed within 30 days stays', { of: stored('old', 29) }, 'Keep Recent'],
  ['a tag that was pulled within 30 days stays', { of: { ...OLD, lastPulledAt: daysAgo(2) } }, 'Keep Recent'],
  ['what has no tag stays for seven days', { of: stored('old', 6, { tags: [] }) }, 'Keep Recent'],
  ['what has no tag goes after seven days', { of: stored('old', 8, { tags: [] }) }, 'Remove Untagged'],
  ['what has no tag is never among the latest', { digests: [stored('old', 8, { tags: [] })] }, 'Remove Untagged'],
  ['a digest that runs stays', { uses: uses('running', ['old']) }, 'Keep Running'],
  ['a tag that runs keeps what it points to', { uses: uses('running', [], ['tag-old']) }, 'Keep Running'],
  ['a digest of a kept revision stays', { uses: uses('revisions', ['old']) }, 'Keep Revision'],
  ['a pinned digest stays', { pins: [pin({ digests: ['old'] })] }, 'Keep Pinned'],
  ['a pin that names others keeps nothing else', { pins: [pin({ digests: ['another'] })] }, 'Remove Expired'],
  ['a pin without digests and bounds keeps everything', { pins: [pin()] }, 'Keep Pinned'],
  [
    'a pin that has expired keeps nothing',
    { pins: [pin({ digests: ['old'], expiresAt: daysAgo(0) })] },
    'Remove Expired',
  ],
  ['a pin may keep more of the latest', { pins: [pin({ keepLast: 11 })] }, 'Keep Latest'],
  ['a pin never keeps fewer of the latest', { digests: [OLD], pins: [pin({ keepLast: 1 })] }, 'Keep Latest'],
  ['a pin may keep them longer', { pins: [pin({ keepForDays: 91 })] }, 'Keep Recent'],
  [
    'a part of an index that runs stays with it',
    {
      digests: [...NEWER, OLD, stored('index', 90, { references: ['old'] })],
      uses: uses('running', ['index']),
    },
    'Keep Running',
  ],
  [
    'a signature stays as long as what it is about',
    { of: stored('old', 90, { tags: [], subject: 'newer-0' }) },
    'Keep Latest',
  ],
  [
    'a signature goes with what it is about',
    { of: stored('old', 90, { tags: [], subject: 'gone' }) },
    'Remove Untagged',
  ],
]

describe('retention', () => {
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

  it('tells of each digest once, the newest first', () => {
    const question = {
      digests: [OLD, ...NEWER],
      pins: [],
      uses: NO_IMAGE_USES,
      policy: DEFAULT_RETENTION_POLICY,
      now: NOW,
    }
    const told = decideRetention(question).map((each) => each.stored.digest)
    expect(told).to.have.length(11)
    expect(told.at(-1)).to.equal('old')
  })
})
