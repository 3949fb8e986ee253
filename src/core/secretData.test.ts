import { expect } from 'chai'
import { secretData, secretText, secretTexts } from './secretData.ts'

describe('secretData, secretText and secretTexts', () => {
  const texts = { user: 'jürgen', empty: '' }

  it('read back what they wrote', () => {
    expect(secretTexts(secretData(texts))).to.deep.equal(texts)
    expect(secretTexts(undefined)).to.deep.equal({})
  })

  const CASES = [
    ['the text of an entry', secretData(texts), 'user', 'jürgen'],
    ['an empty string for an empty entry', secretData(texts), 'empty', ''],
    ['undefined for a missing entry', secretData(texts), 'other', undefined],
    ['undefined without data', undefined, 'user', undefined],
  ] as const
  for (const [sentence, data, key, expected] of CASES)
    it(`return ${sentence}`, () => expect(secretText(data, key)).to.equal(expected))
})
