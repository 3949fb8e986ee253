import { expect } from 'chai'
import { parseTokenUrl, TokenAnswer } from './tokens.ts'

describe('parseTokenUrl and TokenAnswer', () => {
  const REALM = 'Bearer realm="https://auth.test/token"'
  const cases: [sentence: string, challenge: string, repository: string | undefined, place: string | undefined][] = [
    ['return the realm', REALM, undefined, 'https://auth.test/token'],
    ['add the service', `${REALM},service="a b"`, undefined, 'https://auth.test/token?service=a+b'],
    ['add a scope for the repository', REALM, 'a/b', 'https://auth.test/token?scope=repository%3Aa%2Fb%3Apull'],
    ['ignore the case of names', 'bearer Realm="https://a.test/"', undefined, 'https://a.test/'],
    ['return undefined without a realm', 'Bearer service="a"', 'a', undefined],
    ['return undefined for a realm that is not a URL', 'Bearer realm="token"', undefined, undefined],
  ]
  for (const [sentence, challenge, repository, place] of cases) {
    it(sentence, () => {
      expect(parseTokenUrl(challenge, repository)).to.equal(place)
    })
  }

  it('accept "token" and "access_token"', () => {
    expect(TokenAnswer.parse({ token: 'a', access_token: 'b' })).to.equal('Bearer a')
    expect(TokenAnswer.parse({ access_token: 'b' })).to.equal('Bearer b')
  })
})
