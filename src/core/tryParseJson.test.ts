import { expect } from 'chai'
import { parseForeignJson } from './tryParseJson.ts'

describe('the answer of a server that is not ours', () => {
  const listOf = (count: number, one: string) => `[${Array(count).fill(one).join(',')}]`
  const cases: [sentence: string, text: string, isRead: boolean][] = [
    ['is read with as many values as a page of repositories has', listOf(50, listOf(150, '"text"')), true],
    ['is read with a long text, whatever that holds', JSON.stringify({ text: '[1,'.repeat(30_000) }), true],
    ['is not read with more numbers than any answer has', listOf(30_000, '1'), false],
    ['is not read with more empty objects', listOf(30_000, '{}'), false],
    ['is not read with more lists in each other', `${'['.repeat(30_000)}${']'.repeat(30_000)}`, false],
    ['is not read with more objects in each other', `${'{"a":'.repeat(2_000)}1${'}'.repeat(2_000)}`, false],
    ['is read with many objects beside each other', listOf(2_000, '{"a":{}}'), true],
    ['is not read if it is no JSON', '<html>', false],
  ]
  for (const [sentence, text, isRead] of cases)
    it(sentence, () => expect(parseForeignJson(text) !== undefined).to.equal(isRead))
})
