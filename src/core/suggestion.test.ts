import { expect } from 'chai'
import { suggestion } from './suggestion.ts'

describe('suggestion', () => {
  const known = ['boundary', 'boundaries', 'app', 'secretvault', 'get', 'delete']
  const cases: [sentence: string, word: string, expected: string][] = [
    ['returns a word with one letter more', 'boundry', 'boundary'],
    ['returns the nearest of several words', 'boundares', 'boundaries'],
    ['ignores the case', 'SecretVualt', 'secretvault'],
    ['returns nothing for a word that resembles none', 'unicorn', ''],
    ['returns nothing for a word of two letters', 'xy', ''],
    ['returns a word with one letter less', 'apps', 'app'],
    ['returns nothing for an empty string', '', ''],
    ['returns nothing for a million letters', 'a'.repeat(1_000_000), ''],
  ]
  for (const [sentence, word, expected] of cases) {
    it(sentence, () => {
      expect(suggestion(word, known)).to.equal(expected === '' ? '' : `; did you mean "${expected}"?`)
    })
  }
})
