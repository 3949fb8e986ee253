import { expect } from 'chai'
import { matchesWildcard } from './wildcard.ts'

describe('matchesWildcard', () => {
  const cases: [pattern: string, text: string, expected: boolean][] = [
    ['main', 'main', true],
    ['main', 'maintenance', false],
    ['feature/*', 'feature/login', true],
    ['feature/*', 'feature/', true],
    ['feature/*', 'features/login', false],
    ['*', 'whatever/there/is', true],
    ['*-next', 'shop-next-next', true],
    ['*-next', 'shop-next-', false],
    ['release-?', 'release-1', true],
    ['release-?', 'release-10', false],
    ['a*b*c', 'aXbYbZc', true],
    ['a*b*c', 'aXbYbZ', false],
    ['?', '', false],
    ['**', '', true],
    ['[a]', 'a', false],
  ]
  for (const [pattern, text, expected] of cases)
    it(`${expected ? 'matches' : 'does not match'} ${pattern} with "${text}"`, () =>
      expect(matchesWildcard(pattern, text)).to.equal(expected))

  it('evaluates a pattern with 120 stars without backtracking', () => {
    expect(matchesWildcard(`${'*a'.repeat(120)}b`, 'a'.repeat(240))).to.equal(false)
  })
})
