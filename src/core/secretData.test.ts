import { expect } from 'chai'
import { secretData, secretText, secretTexts } from './secretData.ts'

describe('the data of a Secret', () => {
  const texts = { user: 'jürgen', empty: '' }

  it('is read as it was written', () => {
    expect(secretTexts(secretData(texts))).to.deep.equal(texts)
    expect(secretTexts(undefined)).to.deep.equal({})
  })

  const CASES = [
    ['the text of an entry', secretData(texts), 'user', 'jürgen'],
    ['an empty text of an entry that is empty', secretData(texts), 'empty', ''],
    ['nothing of an entry that there is not', secretData(texts), 'other', undefined],
    ['nothing where there is no data', undefined, 'user', undefined],
  ] as const
  for (const [sentence, data, key, expected] of CASES)
    it(`says ${sentence}`, () => expect(secretText(data, key)).to.equal(expected))
})
