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

/** A text `x` or `x 2` is a template with slug x; with a question mark it is invalid, but may still have a slug. */
const read = (text: string) => {
  const [slug = ''] = text.split(/[ ?]/)
  const draft = { slug: slug === '' ? undefined : slug }
  return text.includes('?')
    ? { template: undefined, draft, problems: [problem] }
    : { template: { slug }, draft, problems: [] }
}
const files = (...texts: (string | undefined)[]) => texts.map((text, index) => ({ path: `${index}.yaml`, text }))

describe('mergeTemplates', () => {
  const cases: [string, ReturnType<typeof files>, string[], string[]][] = [
    ['returns the templates of all files', files('a', 'b'), ['a', 'b'], []],
    ['returns nothing for no files', [], [], []],
    ['skips an invalid file and keeps the others', files('a', '?', 'b'), ['a', 'b'], ['1.yaml Syntax']],
    ['returns one template per slug, the first by path', files('a', 'a'), ['a'], ['1.yaml DuplicateName']],
    ['skips a file that is too large or not text', files(undefined, 'b'), ['b'], ['0.yaml SpecInvalid']],
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
    ['replaces both templates', { 'a.yaml': 'a new', 'b.yaml': 'b new' }, ['a new', 'b new'], []],
    ['keeps the old template of an invalid file', { 'a.yaml': '?', 'b.yaml': 'b' }, ['b', 'a old'], ['a']],
    ['keeps the old template of a file that is too large', { 'a.yaml': undefined }, ['a old'], ['a']],
    ['keeps the old template of a file with a duplicate slug', { 'a.yaml': 'a', 'b.yaml': 'a' }, ['a', 'b old'], ['b']],
    ['drops the template of a deleted file', { 'b.yaml': 'b' }, ['b'], []],
    ['drops the old slug of a file that has another', { 'a.yaml': 'd' }, ['d'], []],
    ['takes a slug from another file instead of keeping the old template', { 'a.yaml': '?', 'z.yaml': 'a' }, ['a'], []],
    ['keeps the template of a file that is invalid since its rename', { 'x.yaml': 'a?' }, ['a old'], ['a']],
    [
      'keeps no template for an invalid file with the slug of another',
      { 'a.yaml': 'a', 'x.yaml': 'b?', 'b.yaml': 'b' },
      ['a', 'b'],
      [],
    ],
    ['keeps a template without a path by its slug', { 'c.yaml': 'c?' }, ['c old'], ['c']],
  ]
  for (const [sentence, texts, contents, kept] of later)
    it(`${sentence}, after an earlier commit`, () => {
      const given = Object.entries(texts).map(([path, text]) => ({ path, text }))
      const found = mergeTemplates('source', given, read, before)
      expect(found.templates.map(({ content }) => content)).to.deep.equal(contents)
      expect(found.invalid.flatMap(({ keeps }) => keeps ?? [])).to.deep.equal(kept)
    })

  it('lists stale templates first, with the reason', () => {
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

  it('limits the number of templates and of reported problems', () => {
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

  it('derives a name of 24 hexadecimal digits from the source', () => {
    const name = (source: string) => mergeTemplates(source, files('a'), read).templates[0]?.name
    expect(name('one')).to.match(/^source\.[0-9a-f]{24}$/)
    expect(name('one')).not.to.equal(name('two'))
  })
})

describe('syncDueIn', () => {
  type Status = NonNullable<BlueprintSource['status']>
  const good: Partial<Status> = { state: 'Ready', triedAt: ago(60_000), lastSyncAt: ago(60_000), syncedGeneration: 1 }
  const due = (
    status: Partial<Status> | undefined,
    more: { syncAt?: string; pushedAt?: string; hasAllTemplates?: boolean } = {},
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
        hasAllTemplates: more.hasAllTemplates ?? true,
      },
    )
  const failed = { ...good, state: 'Failing' as const, lastSyncAt: ago(100_000) }
  const cases: [string, number, number][] = [
    ['returns 0 for a new source', due(undefined), 0],
    ['returns the rest of the hour since the last read', due(good), SYNC_INTERVAL_MS - 60_000],
    ['returns 0 after an hour', due({ ...good, triedAt: ago(SYNC_INTERVAL_MS), lastSyncAt: ago(SYNC_INTERVAL_MS) }), 0],
    ['returns the rest of 5 minutes after a failure', due(failed), SYNC_BACKOFF_MS - 60_000],
    [
      'returns the rest of 10 minutes after the second failure in a row',
      due({ ...failed, failures: 2 }),
      2 * SYNC_BACKOFF_MS - 60_000,
    ],
    [
      'returns the rest of 2 hours after the hundredth failure',
      due({ ...failed, failures: 100 }),
      MAX_SYNC_BACKOFF_MS - 60_000,
    ],
    ['returns 0 for a request after 9 failures', due({ ...failed, failures: 9 }, { syncAt: ago(0) }), 0],
    ['returns 0 for a push after 9 failures', due({ ...failed, failures: 9 }, { pushedAt: ago(1) }), 0],
    ['returns 0 for a changed spec after a failure', due({ ...failed, syncedGeneration: 0 }), 0],
    ['returns 0 for a request', due(good, { syncAt: ago(0) }), 0],
    [
      'ignores a request that was served',
      due({ ...good, syncedAt: ago(5) }, { syncAt: ago(5) }),
      SYNC_INTERVAL_MS - 60_000,
    ],
    [
      'returns the rest of 5 seconds since the last read for a request',
      due({ ...good, triedAt: ago(1_000), lastSyncAt: ago(1_000) }, { syncAt: ago(0) }),
      4_000,
    ],
    ['returns 0 for a push', due(good, { pushedAt: ago(1) }), 0],
    ['returns 0 for a push in the second of the last read', due(good, { pushedAt: ago(60_000) }), 0],
    [
      'ignores a push that was served',
      due({ ...good, heardDelivery: 'new' }, { pushedAt: ago(60_000) }),
      SYNC_INTERVAL_MS - 60_000,
    ],
    ['ignores a push before the last read', due(good, { pushedAt: ago(70_000) }), SYNC_INTERVAL_MS - 60_000],
    ['returns 0 after a crash during the read', due({ ...good, state: 'Syncing' }), 0],
    ['returns 0 for a source that was disabled', due({ ...good, state: 'Disabled' }), 0],
    [
      'returns at most a minute if a template is missing',
      due({ ...good, triedAt: ago(1), lastSyncAt: ago(1) }, { hasAllTemplates: false }),
      59_999,
    ],
  ]
  for (const [sentence, found, expected] of cases) it(sentence, () => expect(found).to.equal(expected))
})

describe('failuresOf', () => {
  const count = (failures: number | undefined, more: { syncAt?: string; generation?: number } = {}) =>
    failuresOf({
      spec: { requests: { syncAt: more.syncAt } },
      status: { failures, syncedGeneration: 1 },
      metadata: { generation: more.generation ?? 1 },
    } as never)
  const cases: [string, number, number][] = [
    ['starts at 1', count(undefined), 1],
    ['adds 1 to the failures in a row', count(3), 4],
    ['starts again after a changed spec', count(3, { generation: 2 }), 1],
    ['starts again after a request', count(3, { syncAt: ago(0) }), 1],
  ]
  for (const [sentence, found, expected] of cases) it(sentence, () => expect(found).to.equal(expected))
})
