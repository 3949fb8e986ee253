import { expect } from 'chai'
import { packUid, unpackText, unpackUid } from './packedUid.ts'

describe('packUid', () => {
  const uids: [string, string][] = [
    ['a UUID', '3f0c1a52-8f3e-4a53-9d5c-0d0c8c3f7b11'],
    ['a UUID of zeros', '00000000-0000-0000-0000-000000000000'],
    ['a UUID of ones', 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
    ['an upper-case UUID', '3F0C1A52-8F3E-4A53-9D5C-0D0C8C3F7B11'],
    ['no uid', ''],
    ['a uid that looks like a marker', '!:12:'],
    ['a uid with non-Latin characters', '🐎-žluťoučký'],
  ]
  for (const [what, uid] of uids) {
    it(`keeps the uid and the text: ${what}`, () => {
      for (const text of ['["a"]', '', '7:x', '["žluťoučký 🐎"]']) {
        const kept = packUid(uid, text)
        expect([unpackUid(kept), unpackText(kept)]).to.deep.equal([uid, text])
      }
    })
  }

  it('packs a UUID into 17 characters', () => {
    expect(packUid('3f0c1a52-8f3e-4a53-9d5c-0d0c8c3f7b11', '')).to.have.length(17)
  })
})
