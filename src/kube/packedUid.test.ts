import { expect } from 'chai'
import { packUid, unpackText, unpackUid } from './packedUid.ts'

describe('a uid in front of a text', () => {
  const uids: [string, string][] = [
    ['a UUID', '3f0c1a52-8f3e-4a53-9d5c-0d0c8c3f7b11'],
    ['a UUID of nothing but zeros', '00000000-0000-0000-0000-000000000000'],
    ['a UUID of nothing but ones', 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
    ['a UUID in capital letters', '3F0C1A52-8F3E-4A53-9D5C-0D0C8C3F7B11'],
    ['none', ''],
    ['one that looks like a mark', '!:12:'],
    ['one beyond Latin', '🐎-žluťoučký'],
  ]
  for (const [what, uid] of uids) {
    it(`comes back as it was, and so does the text: ${what}`, () => {
      for (const text of ['["a"]', '', '7:x', '["žluťoučký 🐎"]']) {
        const kept = packUid(uid, text)
        expect([unpackUid(kept), unpackText(kept)]).to.deep.equal([uid, text])
      }
    })
  }

  it('takes less than half of its characters if it is a UUID', () => {
    expect(packUid('3f0c1a52-8f3e-4a53-9d5c-0d0c8c3f7b11', '')).to.have.length(17)
  })
})
