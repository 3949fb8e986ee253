import { expect } from 'chai'
import {
  generateSigningKey,
  type KeyRing,
  nextKeyDueAt,
  parseRing,
  sameRing,
  serializeRing,
  signingKeyAt,
  withoutExpired,
} from './keyRing.ts'

const HOUR = 3_600_000
const times = { rotateAfter: 100 * HOUR, publishAhead: 2 * HOUR, keepAfter: HOUR }
const ring = (...starts: number[]): KeyRing =>
  starts.map((start) => ({ kid: `from-${start}`, notBefore: start * HOUR, jwk: { kty: 'RSA' } }))
const kids = (found: KeyRing) => found.map((key) => key.kid)

describe('the ring of signing keys', () => {
  for (const [sentence, keys, now, wanted] of [
    ['an empty ring signs with nothing', ring(), 5, undefined],
    ['the only key signs', ring(0), 5, 'from-0'],
    ['the first key signs even before its time, since an issuer needs one', ring(7), 5, 'from-7'],
    ['a published key does not sign before its time', ring(0, 100), 99.9, 'from-0'],
    ['a key signs from its time on', ring(0, 100), 100, 'from-100'],
    ['the newest of several signs', ring(0, 100, 200), 250, 'from-200'],
  ] as const) {
    it(sentence, () => expect(signingKeyAt(keys, now * HOUR)?.kid).to.equal(wanted))
  }

  for (const [sentence, keys, now, wanted] of [
    ['an empty ring needs a key that signs at once', ring(), 5, 5],
    ['a fresh key needs no successor', ring(0), 97.9, undefined],
    ['a successor is made so early that it is published for the full while', ring(0), 98, 100],
    ['a successor that is late is still published for the full while', ring(0), 300, 302],
    ['a successor that waits for its time is enough', ring(0, 100), 99, undefined],
  ] as const) {
    it(sentence, () => {
      expect(nextKeyDueAt(keys, now * HOUR, times)).to.equal(wanted === undefined ? undefined : wanted * HOUR)
    })
  }

  for (const [sentence, keys, now, wanted] of [
    ['the only key stays however old', ring(0), 10_000, ['from-0']],
    ['a replaced key stays while its tokens live', ring(0, 100), 100.9, ['from-0', 'from-100']],
    ['a replaced key goes when its last tokens have expired', ring(0, 100), 101, ['from-100']],
    ['a key whose successor does not sign yet stays', ring(0, 100), 99, ['from-0', 'from-100']],
    ['all keys before the last but one go together', ring(0, 100, 200), 201, ['from-200']],
  ] as const) {
    it(sentence, () => expect(kids(withoutExpired(keys, now * HOUR, times))).to.deep.equal(wanted))
  }

  it('is read as it was written, in the order of first use', async () => {
    const late = await generateSigningKey(200 * HOUR)
    const early = await generateSigningKey(100 * HOUR)
    const found = parseRing(serializeRing([late, early]))
    expect(kids(found)).to.deep.equal([early.kid, late.kid])
    expect(found[0]?.jwk.n).to.equal(early.jwk.n)
    expect(sameRing(found, [early, late])).to.equal(true)
    expect(sameRing(found, [early])).to.equal(false)
  })

  for (const [name, text] of Object.entries({
    'no text': '',
    'a text cut short': '[{"kid":"a-secret-part',
    'no key': '[]',
    'a key without its private part': '[{"kid":"a","notBefore":"2026-01-01T00:00:00Z","jwk":{"kty":"RSA","n":"AQAB"}}]',
    'a symmetric key': '[{"kid":"a","notBefore":"2026-01-01T00:00:00Z","jwk":{"kty":"oct","k":"a-secret-part"}}]',
  })) {
    it(`refuses ${name} without quoting it`, () => {
      expect(() => parseRing(text))
        .to.throw(/not readable/)
        .and.not.match(/a-secret-part/)
    })
  }
})
