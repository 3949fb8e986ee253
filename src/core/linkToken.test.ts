import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { newLinkToken, readLinkToken } from './linkToken.ts'

describe('newLinkToken and readLinkToken', () => {
  const ids = [randomUUID(), randomUUID()]

  it('return the ids and the stored hash', () => {
    const { token, hash } = newLinkToken(ids)
    expect(readLinkToken(token, 2)).to.deep.equal({ ids, hash })
    expect(hash).to.match(/^[0-9a-f]{64}$/)
    expect(token).to.not.contain(hash.slice(0, 16))
  })

  it('differ each time in 256 bits', () => {
    const seen = new Set(Array.from({ length: 200 }, () => newLinkToken(ids).token.slice(-43)))
    expect(seen.size).to.equal(200)
  })

  const { token } = newLinkToken([ids[0] ?? ''])
  const cases: [string, string, number][] = [
    ['an empty string', '', 1],
    ['a token with fewer ids', token, 2],
    ['a truncated token', token.slice(0, -1), 1],
    ['a token with a suffix', `${token}A`, 1],
    ['a token with a character of standard base64', `+${token.slice(1)}`, 1],
    ['a token with a character outside of base64', `%${token.slice(1)}`, 1],
    ['Cyrillic text of the same length', 'ж'.repeat(token.length), 1],
  ]
  for (const [title, text, count] of cases) {
    it(`reject ${title}`, () => expect(readLinkToken(text, count)).to.equal(undefined))
  }

  it('reject other spellings of the same bytes', () => {
    // The last character of 64 bytes has four unused bits.
    const { token: two } = newLinkToken(ids)
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const spellings = [...alphabet].map((last) => two.slice(0, -1) + last).filter((text) => readLinkToken(text, 2))
    const ends = new Set(spellings.map((text) => Buffer.from(text, 'base64url').toString('hex')))
    expect(ends.size).to.equal(spellings.length)
  })
})
