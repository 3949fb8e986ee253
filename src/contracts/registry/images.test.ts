import { expect } from 'chai'
import { imagesIn } from './images.ts'
import { parseRepository } from './names.ts'

const BOUNDARY = '3d1f8a52-7a4e-4b52-9a55-0d6c8f3f9b01'
const WEB = `${BOUNDARY}/shop/containerinstances/web`
const DIGEST = `sha256:${'a'.repeat(64)}`

describe('images that objects name', () => {
  const CASES: [string, unknown, string[]][] = [
    ['by tag', { image: `registry.test:5000/${WEB}:v1` }, ['v1']],
    ['by digest', { image: `registry.test/${WEB}@${DIGEST}` }, [DIGEST]],
    ['by digest, whatever tag stands before it', { image: `r/${WEB}:v1@${DIGEST}` }, [DIGEST]],
    ['by nothing, which means latest', { image: `r/${WEB}` }, ['latest']],
    ['with the tag in a field beside it', { image: `r/${WEB}`, tag: 'v2' }, ['v2']],
    ['deep in a status or in a text of several', { a: [{ b: `pulls r/${WEB}:v1, r/${WEB}:v2` }] }, ['v1', 'v2']],
    ['of somebody else', { image: 'docker.io/library/web:v1' }, []],
  ]
  for (const [title, object, expected] of CASES) {
    it(title, () => {
      const { digests = new Set(), tags = new Set() } = imagesIn([object]).get(WEB) ?? {}
      expect([...digests, ...tags]).to.deep.equal(expected)
    })
  }
})

describe('names of repositories', () => {
  const CASES: [string, string, boolean][] = [
    ['boundary, group, collection and name', WEB, true],
    ['a shorter one', `${BOUNDARY}/shop/web`, false],
    ['a longer one', `${WEB}/more`, false],
    ['one without a boundary', 'library/shop/containerinstances/web', false],
    ['one with a boundary in capitals', WEB.toUpperCase(), false],
    ['one that climbs', `${BOUNDARY}/../containerinstances/web`, false],
    ['an empty part', `${BOUNDARY}//containerinstances/web`, false],
  ]
  for (const [title, text, isOne] of CASES)
    it(`${isOne ? 'are' : 'are not'} ${title}`, () => expect(parseRepository(text) !== undefined).to.equal(isOne))
})
