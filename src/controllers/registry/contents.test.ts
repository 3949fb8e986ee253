import { expect } from 'chai'
import { awaitsTag, type UntimedManifest } from './contents.ts'

const NOW = Date.parse('2026-01-01T00:00:10Z')
const held = (digest: string, more: Partial<UntimedManifest> = {}): UntimedManifest => ({
  ...{ digest, tags: [], mediaType: 'application/vnd.oci.image.manifest.v1+json', sizeBytes: 1, references: [] },
  ...more,
})

describe('a repository is read again for a tag', () => {
  const cases: [what: string, held: UntimedManifest[], pushedAt: string | undefined, expected: boolean][] = [
    ['of a manifest that was pushed a moment ago', [held('a')], '2026-01-01T00:00:09Z', true],
    ['but not where it has one', [held('a', { tags: ['v1'] })], '2026-01-01T00:00:09Z', false],
    ['but not for ever: it may have been pushed by its digest', [held('a')], '2026-01-01T00:00:00Z', false],
    ['but not of one that nobody told the time of', [held('a')], undefined, false],
    [
      'but not of a part of an index, which needs none',
      [held('a'), held('index', { tags: ['v1'], references: ['a'] })],
      '2026-01-01T00:00:09Z',
      false,
    ],
  ]
  for (const [what, manifests, pushedAt, expected] of cases)
    it(what, () => expect(awaitsTag(manifests, () => pushedAt, NOW)).to.equal(expected))
})
