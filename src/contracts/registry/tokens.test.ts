import { expect } from 'chai'
import { parseTokenUrl, TokenAnswer } from './tokens.ts'

describe('tokens of registries', () => {
  const REALM = 'Bearer realm="https://auth.test/token"'
  const cases: [sentence: string, challenge: string, repository: string | undefined, place: string | undefined][] = [
    ['are given where the challenge says', REALM, undefined, 'https://auth.test/token'],
    ['are for the service', `${REALM},service="a b"`, undefined, 'https://auth.test/token?service=a+b'],
    ['are for a repository', REALM, 'a/b', 'https://auth.test/token?scope=repository%3Aa%2Fb%3Apull'],
    ['are found whatever the case of a name', 'bearer Realm="https://a.test/"', undefined, 'https://a.test/'],
    ['are nowhere without a place', 'Bearer service="a"', 'a', undefined],
    ['are nowhere if the place is no address', 'Bearer realm="token"', undefined, undefined],
  ]
  for (const [sentence, challenge, repository, place] of cases) {
    it(sentence, () => {
      expect(parseTokenUrl(challenge, repository)).to.equal(place)
    })
  }

  it('have two names', () => {
    expect(TokenAnswer.parse({ token: 'a', access_token: 'b' })).to.equal('Bearer a')
    expect(TokenAnswer.parse({ access_token: 'b' })).to.equal('Bearer b')
  })
})
