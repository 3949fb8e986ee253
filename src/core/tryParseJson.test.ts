import { expect } from 'chai'
import { parseForeignJson } from './tryParseJson.ts'

describe('parseForeignJson', () => {
  const listOf = (count: number, one: string) => `[${Array(count).fill(one).join(',')}]`
  const cases: [sentence: string, text: string, isRead: boolean][] = [
    ['parses a page of 50 repositories', listOf(50, listOf(150, '"text"')), true],
    ['parses a long string', JSON.stringify({ text: '[1,'.repeat(30_000) }), true],
    ['rejects 30,000 numbers', listOf(30_000, '1'), false],
    ['rejects 30,000 empty objects', listOf(30_000, '{}'), false],
    ['rejects 30,000 nested arrays', `${'['.repeat(30_000)}${']'.repeat(30_000)}`, false],
    ['rejects 2,000 nested objects', `${'{"a":'.repeat(2_000)}1${'}'.repeat(2_000)}`, false],
    ['parses 2,000 objects in an array', listOf(2_000, '{"a":{}}'), true],
    ['rejects text that is not JSON', '<html>', false],
  ]
  for (const [sentence, text, isRead] of cases)
    it(sentence, () => expect(parseForeignJson(text) !== undefined).to.equal(isRead))
})
