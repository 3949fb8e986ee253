import { expect } from 'chai'
import { RegistryRepository, shownManifests } from './registry.ts'

const digestOf = (number: number) => `sha256:${String(number).padStart(64, '0')}`
const manifest = (number: number, more: object = {}) => ({
  ...{ digest: digestOf(number), tags: [], mediaType: 'application/vnd.oci.image.manifest.v1+json', sizeBytes: 1 },
  ...{ references: [] as string[], ...more },
})
const references = (count: number) => Array.from({ length: count }, (_, index) => digestOf(index))

describe('shownManifests', () => {
  const cases: [string, object, boolean][] = [
    ['a manifest', {}, true],
    ['an index of 500 manifests', { references: references(500) }, true],
    ['an index of 501 manifests', { references: references(501) }, false],
    ['a media type of 129 characters', { mediaType: 'x'.repeat(129) }, false],
    ['an invalid digest', { subject: 'sha512:'.padEnd(135, '0') }, false],
    ['an invalid size', { sizeBytes: Number.POSITIVE_INFINITY }, false],
  ]
  for (const [title, more, isShown] of cases) {
    it(`${isShown ? 'includes' : 'omits'} ${title}`, () =>
      expect(shownManifests([manifest(1, more)])).to.have.length(isShown ? 1 : 0))
  }

  it('limits the size of all manifests, and matches the schema of RegistryRepository', () => {
    const shown = shownManifests(
      Array.from({ length: 1_500 }, (_, at) => manifest(at, { references: references(400) })),
    )
    expect(JSON.stringify(shown).length).to.be.lessThan(500_000)
    const digests = shown.map((one) => ({ ...one, pushedAt: '2026-01-01T00:00:00Z' }))
    expect(RegistryRepository.status.safeParse({ digests }).success).to.equal(true)
  })
})
