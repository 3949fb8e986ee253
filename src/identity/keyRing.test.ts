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
    ['signingKeyAt returns undefined for an empty ring', ring(), 5, undefined],
    ['signingKeyAt returns the only key', ring(0), 5, 'from-0'],
    ['signingKeyAt returns the only key even before its notBefore', ring(7), 5, 'from-7'],
    ['signingKeyAt does not return a key before its notBefore', ring(0, 100), 99.9, 'from-0'],
    ['signingKeyAt returns a key from its notBefore on', ring(0, 100), 100, 'from-100'],
    ['signingKeyAt returns the newest of several keys', ring(0, 100, 200), 250, 'from-200'],
  ] as const) {
    it(sentence, () => expect(signingKeyAt(keys, now * HOUR)?.kid).to.equal(wanted))
  }

  for (const [sentence, keys, now, wanted] of [
    ['nextKeyDueAt returns now for an empty ring', ring(), 5, 5],
    ['nextKeyDueAt returns undefined for a fresh key', ring(0), 97.9, undefined],
    ['nextKeyDueAt returns the time of rotation, publishAhead in advance', ring(0), 98, 100],
    ['nextKeyDueAt returns publishAhead from now if the rotation is overdue', ring(0), 300, 302],
    ['nextKeyDueAt returns undefined if a successor is already published', ring(0, 100), 99, undefined],
  ] as const) {
    it(sentence, () => {
      expect(nextKeyDueAt(keys, now * HOUR, times)).to.equal(wanted === undefined ? undefined : wanted * HOUR)
    })
  }

  for (const [sentence, keys, now, wanted] of [
    ['withoutExpired keeps the only key at any age', ring(0), 10_000, ['from-0']],
    ['withoutExpired keeps a replaced key while its tokens are valid', ring(0, 100), 100.9, ['from-0', 'from-100']],
    ['withoutExpired removes a replaced key after its tokens have expired', ring(0, 100), 101, ['from-100']],
    ['withoutExpired keeps a key whose successor does not sign yet', ring(0, 100), 99, ['from-0', 'from-100']],
    ['withoutExpired removes several replaced keys at once', ring(0, 100, 200), 201, ['from-200']],
  ] as const) {
    it(sentence, () => expect(kids(withoutExpired(keys, now * HOUR, times))).to.deep.equal(wanted))
  }

  it('parseRing reads what serializeRing wrote, ordered by notBefore', async () => {
    const late = await generateSigningKey(200 * HOUR)
    const early = await generateSigningKey(100 * HOUR)
    const found = parseRing(serializeRing([late, early]))
    expect(kids(found)).to.deep.equal([early.kid, late.kid])
    expect(found[0]?.jwk.n).to.equal(early.jwk.n)
    expect(sameRing(found, [early, late])).to.equal(true)
    expect(sameRing(found, [early])).to.equal(false)
  })

  for (const [name, text] of Object.entries({
    'an empty text': '',
    'truncated JSON': '[{"kid":"a-secret-part',
    'an empty list': '[]',
    'a key without its private part': '[{"kid":"a","notBefore":"2026-01-01T00:00:00Z","jwk":{"kty":"RSA","n":"AQAB"}}]',
    'a symmetric key': '[{"kid":"a","notBefore":"2026-01-01T00:00:00Z","jwk":{"kty":"oct","k":"a-secret-part"}}]',
  })) {
    it(`parseRing rejects ${name} without quoting it`, () => {
      expect(() => parseRing(text))
        .to.throw(/not readable/)
        .and.not.match(/a-secret-part/)
    })
  }
})
