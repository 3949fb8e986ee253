import { expect } from 'chai'
import { imageNamesIn, imagesIn, imageUsesIn } from './images.ts'
import { formatRepository, nextAnnouncement, parseRepository, pullSecretsOf, repositoryObjectName } from './names.ts'

const BOUNDARY = '3d1f8a52-7a4e-4b52-9a55-0d6c8f3f9b01'
const WEB = `${BOUNDARY}/shop/containerinstances/web`
const DIGEST = `sha256:${'a'.repeat(64)}`

describe('imagesIn', () => {
  const CASES: [string, unknown, string[]][] = [
    ['finds an image by tag', { image: `registry.test:5000/${WEB}:v1` }, ['v1']],
    ['finds an image by digest', { image: `registry.test/${WEB}@${DIGEST}` }, [DIGEST]],
    ['prefers the digest to the tag', { image: `r/${WEB}:v1@${DIGEST}` }, [DIGEST]],
    ['finds an image without a tag as latest', { image: `r/${WEB}` }, ['latest']],
    ['finds a tag in the field beside the image', { image: `r/${WEB}`, tag: 'v2' }, ['v2']],
    ['finds no tag beside a digest', { image: `r/${WEB}@${DIGEST}`, tag: 'v2' }, [DIGEST]],
    ['finds an image as latest beside a tag that is no text', { image: `r/${WEB}`, tag: 2 }, ['latest']],
    ['finds images beside an image and its tag', { image: 'r/a', tag: 'v2', env: [`r/${WEB}:v1`] }, ['v1']],
    ['finds images beside an image that is no text', { image: 7, tag: 'v2', env: [null, `r/${WEB}:v1`] }, ['v1']],
    ['finds images beside a field without a value', { image: undefined, a: undefined, b: `r/${WEB}:v1` }, ['v1']],
    ['finds images within other text, at any depth', { a: [{ b: `pulls r/${WEB}:v1, r/${WEB}:v2` }] }, ['v1', 'v2']],
    ['ignores images of other registries', { image: 'docker.io/library/web:v1' }, []],
  ]
  for (const [title, object, expected] of CASES) {
    it(title, () => {
      const { digests = new Set(), tags = new Set() } = imagesIn([object]).get(WEB) ?? {}
      expect([...digests, ...tags]).to.deep.equal(expected)
    })
  }
})

describe('imageNamesIn', () => {
  it('returns each image once, by digest or by tag', () => {
    const objects = [{ a: `r/${WEB}@${DIGEST}`, b: `r/${WEB}:v1` }, { c: `r/${WEB}:v1` }]
    expect(imageNamesIn(objects)).to.deep.equal([`${WEB}@${DIGEST}`, `${WEB}:v1`])
  })
})

describe('imageUsesIn', () => {
  it('tells what runs from what can be restored, and knows nothing of other repositories', () => {
    const usesOf = imageUsesIn({ running: [{ a: `r/${WEB}:v2` }], revisions: [{ a: `r/${WEB}:v1` }] })
    const tagged = (...tags: string[]) => ({ digests: new Set(), tags: new Set(tags) })
    expect(usesOf(WEB)).to.deep.equal({ running: tagged('v2'), revisions: tagged('v1') })
    expect(usesOf(`${WEB}-2`)).to.deep.equal({ running: tagged(), revisions: tagged() })
  })
})

describe('names of a repository', () => {
  it('are parsed and formatted', () => {
    const parts = { boundaryId: BOUNDARY, resourceGroup: 'shop', collection: 'containerinstances', name: 'web' }
    expect(parseRepository(WEB)).to.deep.equal(parts)
    expect(formatRepository(parts)).to.equal(WEB)
  })

  it('give each its own object', () => {
    expect(repositoryObjectName(WEB)).to.match(/^repository-[0-9a-f]{32}$/)
    expect(repositoryObjectName(WEB)).to.not.equal(repositoryObjectName(`${WEB}-2`))
  })

  it('need the Secret of nodes if the image is in the own registry', () => {
    expect(pullSecretsOf('r.test/a', 'r.test')).to.deep.equal([{ name: 'freehold-registry-pull' }])
    for (const [image, host] of [
      ['r.test.example/a', 'r.test'],
      ['a/r.test/', 'r.test'],
      ['r.test/a', undefined],
    ] as const)
      expect(pullSecretsOf(image, host), image).to.deep.equal([])
  })

  it('are announced at a time after the announcement before', () => {
    const now = Date.parse('2026-01-01T00:00:00.000Z')
    expect(nextAnnouncement(undefined, now)).to.equal('2026-01-01T00:00:00.000Z')
    expect(nextAnnouncement('2025-12-31T00:00:00.000Z', now)).to.equal('2026-01-01T00:00:00.000Z')
    expect(nextAnnouncement('2026-01-01T00:00:00.000Z', now)).to.equal('2026-01-01T00:00:00.001Z')
  })
})

describe('parseRepository', () => {
  const CASES: [string, string, boolean][] = [
    ['boundary, group, collection and name', WEB, true],
    ['three segments', `${BOUNDARY}/shop/web`, false],
    ['five segments', `${WEB}/more`, false],
    ['a name without a boundary id', 'library/shop/containerinstances/web', false],
    ['an upper-case boundary id', WEB.toUpperCase(), false],
    ['a name with ..', `${BOUNDARY}/../containerinstances/web`, false],
    ['an empty segment', `${BOUNDARY}//containerinstances/web`, false],
  ]
  for (const [title, text, isOne] of CASES)
    it(`${isOne ? 'accepts' : 'rejects'} ${title}`, () => expect(parseRepository(text) !== undefined).to.equal(isOne))
})
