import { expect } from 'chai'
import { awaitsTag, type UntimedManifest } from './contents.ts'

const NOW = Date.parse('2026-01-01T00:00:10Z')
const held = (digest: string, more: Partial<UntimedManifest> = {}): UntimedManifest => ({
  ...{ digest, tags: [], mediaType: 'application/vnd.oci.image.manifest.v1+json', sizeBytes: 1, references: [] },
  ...more,
})

describe('awaitsTag', () => {
  const cases: [what: string, held: UntimedManifest[], pushedAt: string | undefined, expected: boolean][] = [
    ['returns true for an untagged manifest pushed a second ago', [held('a')], '2026-01-01T00:00:09Z', true],
    ['returns false for a tagged manifest', [held('a', { tags: ['v1'] })], '2026-01-01T00:00:09Z', false],
    ['returns false for an untagged manifest pushed 10 seconds ago', [held('a')], '2026-01-01T00:00:00Z', false],
    ['returns false without a push time', [held('a')], undefined, false],
    [
      'returns false for a child of a tagged index',
      [held('a'), held('index', { tags: ['v1'], references: ['a'] })],
      '2026-01-01T00:00:09Z',
      false,
    ],
  ]
  for (const [what, manifests, pushedAt, expected] of cases)
    it(what, () => expect(awaitsTag(manifests, () => pushedAt, NOW)).to.equal(expected))
})
