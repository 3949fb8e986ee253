import { expect } from 'chai'
import { RegistryRepository, shownManifests } from './registry.ts'

const digestOf = (number: number) => `sha256:${String(number).padStart(64, '0')}`
const manifest = (number: number, more: object = {}) => ({
  ...{ digest: digestOf(number), tags: [], mediaType: 'application/vnd.oci.image.manifest.v1+json', sizeBytes: 1 },
  ...{ references: [] as string[], ...more },
})
const references = (count: number) => Array.from({ length: count }, (_, index) => digestOf(index))

describe('what the record of a repository shows', () => {
  const cases: [string, object, boolean][] = [
    ['an ordinary manifest', {}, true],
    ['an index of 500 manifests', { references: references(500) }, true],
    ['no index of more', { references: references(501) }, false],
    ['no media type of any length', { mediaType: 'x'.repeat(129) }, false],
    ['no digest that is none', { subject: 'sha512:'.padEnd(135, '0') }, false],
    ['no size that is no number', { sizeBytes: Number.POSITIVE_INFINITY }, false],
  ]
  for (const [title, more, isShown] of cases) {
    it(`is ${title}`, () => expect(shownManifests([manifest(1, more)])).to.have.length(isShown ? 1 : 0))
  }

  it('is what an object of etcd has room for, and what its schema takes', () => {
    const shown = shownManifests(
      Array.from({ length: 1_500 }, (_, at) => manifest(at, { references: references(400) })),
    )
    expect(JSON.stringify(shown).length).to.be.lessThan(500_000)
    const digests = shown.map((one) => ({ ...one, pushedAt: '' }))
    expect(RegistryRepository.status.safeParse({ digests }).success).to.equal(true)
  })
})
