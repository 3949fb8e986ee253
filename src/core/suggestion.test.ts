import { expect } from 'chai'
import { suggestion } from './suggestion.ts'

describe('suggestions', () => {
  const known = ['boundary', 'boundaries', 'app', 'secretvault', 'get', 'delete']
  const cases: [sentence: string, word: string, expected: string][] = [
    ['name what lacks a letter', 'boundry', 'boundary'],
    ['name the nearest', 'boundares', 'boundaries'],
    ['do not mind case', 'SecretVualt', 'secretvault'],
    ['are kept to themselves where nothing is near', 'unicorn', ''],
    ['are no guesses at short words', 'xy', ''],
    ['name a short word with one letter more', 'apps', 'app'],
    ['are none for nothing', '', ''],
    ['are none for what is no word', 'a'.repeat(1_000_000), ''],
  ]
  for (const [sentence, word, expected] of cases) {
    it(sentence, () => {
      expect(suggestion(word, known)).to.equal(expected === '' ? '' : `; did you mean "${expected}"?`)
    })
  }
})
