import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { newLinkToken, readLinkToken } from './linkToken.ts'

describe('tokens of links', () => {
  const ids = [randomUUID(), randomUUID()]

  it('give back their ids and the hash that is stored', () => {
    const { token, hash } = newLinkToken(ids)
    expect(readLinkToken(token, 2)).to.deep.equal({ ids, hash })
    expect(hash).to.match(/^[0-9a-f]{64}$/)
    expect(token).to.not.contain(hash.slice(0, 16))
  })

  it('differ every time, in 256 bits', () => {
    const seen = new Set(Array.from({ length: 200 }, () => newLinkToken(ids).token.slice(-43)))
    expect(seen.size).to.equal(200)
  })

  const { token } = newLinkToken([ids[0] ?? ''])
  const cases: [string, string, number][] = [
    ['the empty text', '', 1],
    ['a token with fewer ids', token, 2],
    ['a token cut short', token.slice(0, -1), 1],
    ['a token with something behind it', `${token}A`, 1],
    ['a token with a character of plain base64', `+${token.slice(1)}`, 1],
    ['a token with a character of no alphabet', `%${token.slice(1)}`, 1],
    ['a text of the right length in another script', 'ж'.repeat(token.length), 1],
  ]
  for (const [title, text, count] of cases) {
    it(`do not read ${title}`, () => expect(readLinkToken(text, count)).to.equal(undefined))
  }

  it('do not read a second spelling of the same bytes', () => {
    // 64 bytes end in a character of which four bits count for nothing.
    const { token: two } = newLinkToken(ids)
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const spellings = [...alphabet].map((last) => two.slice(0, -1) + last).filter((text) => readLinkToken(text, 2))
    const ends = new Set(spellings.map((text) => Buffer.from(text, 'base64url').toString('hex')))
    expect(ends.size).to.equal(spellings.length)
  })
})
