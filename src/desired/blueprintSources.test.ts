import { expect } from 'chai'
import { SOURCE_TEMPLATES_MAX } from '../contracts/blueprints/sources.ts'
import type { BlueprintSource } from '../crds/blueprintSources.ts'
import {
  describeStaleTemplate,
  failuresOf,
  MAX_SYNC_BACKOFF_MS,
  mergeTemplates,
  SYNC_BACKOFF_MS,
  SYNC_INTERVAL_MS,
  syncDueIn,
} from './blueprintSources.ts'

const NOW = Date.UTC(2026, 0, 1)
const ago = (milliseconds: number) => new Date(NOW - milliseconds).toISOString()
const problem = { severity: 'Error', code: 'Syntax', path: '', line: 1, column: null, message: 'is no YAML' } as const

/** A text `x` or `x 2` is a template of slug x; with a question mark it is none, and may still say its slug. */
const read = (text: string) => {
  const [slug = ''] = text.split(/[ ?]/)
  const draft = { slug: slug === '' ? undefined : slug }
  return text.includes('?')
    ? { template: undefined, draft, problems: [problem] }
    : { template: { slug }, draft, problems: [] }
}
const files = (...texts: (string | undefined)[]) => texts.map((text, index) => ({ path: `${index}.yaml`, text }))

describe('the templates that a source keeps', () => {
  const cases: [string, ReturnType<typeof files>, string[], string[]][] = [
    ['are those of all files', files('a', 'b'), ['a', 'b'], []],
    ['are none of none', [], [], []],
    ['leave out a file that is none, and no other', files('a', '?', 'b'), ['a', 'b'], ['1.yaml Syntax']],
    ['are one of each slug, the first by path', files('a', 'a'), ['a'], ['1.yaml DuplicateName']],
    ['leave out what is too large or no text', files(undefined, 'b'), ['b'], ['0.yaml SpecInvalid']],
  ]
  for (const [sentence, given, slugs, invalid] of cases)
    it(sentence, () => {
      const found = mergeTemplates('source', given, read)
      expect(found.templates.map(({ slug }) => slug)).to.deep.equal(slugs)
      expect(found.invalid.map(({ path, errors }) => `${path} ${errors[0]?.code}`)).to.deep.equal(invalid)
      expect(found.invalidCount).to.equal(invalid.length)
    })

  const before = [
    { slug: 'a', content: 'a old', path: 'a.yaml' },
    { slug: 'b', content: 'b old', path: 'b.yaml' },
    { slug: 'c', content: 'c old' },
  ]
  const later: [string, Record<string, string | undefined>, string[], string[]][] = [
    ['are those of the commit', { 'a.yaml': 'a new', 'b.yaml': 'b new' }, ['a new', 'b new'], []],
    ['stay as they were where their file is none any more', { 'a.yaml': '?', 'b.yaml': 'b' }, ['b', 'a old'], ['a']],
    ['stay where their file is too large', { 'a.yaml': undefined }, ['a old'], ['a']],
    ['stay where their file says the slug of another one', { 'a.yaml': 'a', 'b.yaml': 'a' }, ['a', 'b old'], ['b']],
    ['go with their file', { 'b.yaml': 'b' }, ['b'], []],
    ['go where their file is another one by now', { 'a.yaml': 'd' }, ['d'], []],
    [
      'are not replaced by what they were where another file has their slug',
      { 'a.yaml': '?', 'z.yaml': 'a' },
      ['a'],
      [],
    ],
    ['stay where their file was broken while it was renamed', { 'x.yaml': 'a?' }, ['a old'], ['a']],
    [
      'are not those of another file that was never one',
      { 'a.yaml': 'a', 'x.yaml': 'b?', 'b.yaml': 'b' },
      ['a', 'b'],
      [],
    ],
    ['stay by their slug where no file is known of them', { 'c.yaml': 'c?' }, ['c old'], ['c']],
  ]
  for (const [sentence, texts, contents, kept] of later)
    it(`${sentence}, after an earlier commit`, () => {
      const given = Object.entries(texts).map(([path, text]) => ({ path, text }))
      const found = mergeTemplates('source', given, read, before)
      expect(found.templates.map(({ content }) => content)).to.deep.equal(contents)
      expect(found.invalid.flatMap(({ keeps }) => keeps ?? [])).to.deep.equal(kept)
    })

  it('that are older than their file are said first, with the reason', () => {
    const given = [
      ...Array.from({ length: 25 }, (_, at) => ({ path: `0${at}`, text: '?' })),
      { path: 'a.yaml', text: '?' },
    ]
    const { invalid } = mergeTemplates('source', given, read, before)
    expect([invalid.length, invalid[0]?.keeps]).to.deep.equal([20, 'a'])
    expect(describeStaleTemplate(invalid)).to.equal(
      '"a.yaml" is not valid at line 1: is no YAML. Blueprint "a" stays as it was.',
    )
    expect(describeStaleTemplate(invalid.slice(1))).to.equal(undefined)
  })

  it('are bounded, and so is what is said of the others', () => {
    const given = Array.from({ length: SOURCE_TEMPLATES_MAX + 30 }, (_, index) => ({
      path: `${index}`,
      text: `t${index}`,
    }))
    const found = mergeTemplates('source', given, read)
    expect([found.templates.length, found.invalidCount, found.invalid.length]).to.deep.equal([
      SOURCE_TEMPLATES_MAX,
      30,
      20,
    ])
  })

  it('have names that no other source and no person can choose', () => {
    const name = (source: string) => mergeTemplates(source, files('a'), read).templates[0]?.name
    expect(name('one')).to.match(/^source\.[0-9a-f]{24}$/)
    expect(name('one')).not.to.equal(name('two'))
  })
})

describe('a source is read', () => {
  type Status = NonNullable<BlueprintSource['status']>
  const good: Partial<Status> = { state: 'Ready', triedAt: ago(60_000), lastSyncAt: ago(60_000), syncedGeneration: 1 }
  const due = (
    status: Partial<Status> | undefined,
    more: { syncAt?: string; pushedAt?: string; isWhole?: boolean } = {},
  ) =>
    syncDueIn(
      {
        spec: { ref: 'main', path: '/', requests: { syncAt: more.syncAt } },
        status,
        metadata: { generation: 1 },
      } as never,
      NOW,
      {
        push: more.pushedAt === undefined ? undefined : { deliveryId: 'new', receivedAt: more.pushedAt },
        isWhole: more.isWhole ?? true,
      },
    )
  const failed = { ...good, state: 'Failing' as const, lastSyncAt: ago(100_000) }
  const cases: [string, number, number][] = [
    ['at once when it is new', due(undefined), 0],
    ['an hour after it was read', due(good), SYNC_INTERVAL_MS - 60_000],
    ['at once an hour later', due({ ...good, triedAt: ago(SYNC_INTERVAL_MS), lastSyncAt: ago(SYNC_INTERVAL_MS) }), 0],
    ['five minutes after a failure', due(failed), SYNC_BACKOFF_MS - 60_000],
    ['ten minutes after the second failure in a row', due({ ...failed, failures: 2 }), 2 * SYNC_BACKOFF_MS - 60_000],
    ['two hours after the hundredth', due({ ...failed, failures: 100 }), MAX_SYNC_BACKOFF_MS - 60_000],
    ['at once when somebody asks, however often it failed', due({ ...failed, failures: 9 }, { syncAt: ago(0) }), 0],
    ['at once after a push, however often it failed', due({ ...failed, failures: 9 }, { pushedAt: ago(1) }), 0],
    ['at once when its spec has changed, whether or not it failed', due({ ...failed, syncedGeneration: 0 }), 0],
    ['at once when somebody asks', due(good, { syncAt: ago(0) }), 0],
    [
      'not again for a request that was heard',
      due({ ...good, syncedAt: ago(5) }, { syncAt: ago(5) }),
      SYNC_INTERVAL_MS - 60_000,
    ],
    [
      'five seconds after the last time, however often somebody asks',
      due({ ...good, triedAt: ago(1_000), lastSyncAt: ago(1_000) }, { syncAt: ago(0) }),
      4_000,
    ],
    ['at once after a push', due(good, { pushedAt: ago(1) }), 0],
    ['at once after a push of the same second', due(good, { pushedAt: ago(60_000) }), 0],
    ['once for a push', due({ ...good, heardDelivery: 'new' }, { pushedAt: ago(60_000) }), SYNC_INTERVAL_MS - 60_000],
    ['not again for a push that was read', due(good, { pushedAt: ago(70_000) }), SYNC_INTERVAL_MS - 60_000],
    ['again where its controller died while it read', due({ ...good, state: 'Syncing' }), 0],
    ['at once when it is enabled again', due({ ...good, state: 'Disabled' }), 0],
    [
      'again where a template is missing, a minute later at most',
      due({ ...good, triedAt: ago(1), lastSyncAt: ago(1) }, { isWhole: false }),
      59_999,
    ],
  ]
  for (const [sentence, found, expected] of cases) it(sentence, () => expect(found).to.equal(expected))
})

describe('failures of a source are counted', () => {
  const count = (failures: number | undefined, more: { syncAt?: string; generation?: number } = {}) =>
    failuresOf({
      spec: { requests: { syncAt: more.syncAt } },
      status: { failures, syncedGeneration: 1 },
      metadata: { generation: more.generation ?? 1 },
    } as never)
  const cases: [string, number, number][] = [
    ['from one', count(undefined), 1],
    ['in a row', count(3), 4],
    ['anew when its spec has changed', count(3, { generation: 2 }), 1],
    ['anew when somebody asks', count(3, { syncAt: ago(0) }), 1],
  ]
  for (const [sentence, found, expected] of cases) it(sentence, () => expect(found).to.equal(expected))
})
