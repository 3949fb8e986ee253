import { expect } from 'chai'
import { imagesIn } from './images.ts'
import { parseRepository } from './names.ts'

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
