import { expect } from 'chai'
import { isShown, SHOWN_LINE, SHOWN_NAME, SHOWN_PROSE, shownName, toRe2Pattern } from './shownText.ts'

const FAMILY = '👩\u200d👩\u200d👧'
const ENGLAND = '🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}'

describe('names that people are shown', () => {
  const cases: [sentence: string, name: string, isTaken: boolean][] = [
    ['may be of any script', 'Ünïted Ακμή 株式会社 آکمه', true],
    ['may have a single character', 'A', true],
    ['may join emoji', FAMILY, true],
    ['may join emoji in a text', `Team ${FAMILY} one`, true],
    ['may choose the look of an emoji', '❤\ufe0f', true],
    ['may have the flag of a part of a country', `${ENGLAND} team`, true],
    ['may join letters', 'می\u200cخواهم', true],
    ['may have a space that does not break inside', 'Acme\u00a01', true],
    ['are not empty', '', false],
    ['are no space that does not break', '\u00a0', false],
    ['have none at their beginning', '\u00a0Acme', false],
    ['have none at their end', 'Acme\u3000', false],
    ['have no space without width', 'Ac\u200bme', false],
    ['are no space without width', '\u200b', false],
    ['are no joiner', '\u200d', false],
    ['do not end with a joiner', 'Acme\u200d', false],
    ['turn no direction', 'Acme\u202eemca', false],
    ['isolate no direction', '\u2066Acme\u2069', false],
    ['have no mark of the order of bytes', '\ufeffAcme', false],
    ['have no soft hyphen', 'Ac\u00adme', false],
    ['have no second line', 'Acme\u2028Inc', false],
    ['are no filler', '\u3164', false],
    ['are no mark alone', '\ufe0f', false],
    ['hide no tags', `Acme${ENGLAND.slice(2)}`, false],
    ['have no controls', 'Ac\u0085me', false],
  ]
  for (const [sentence, name, isTaken] of cases) it(sentence, () => expect(isShown(SHOWN_NAME, name)).to.equal(isTaken))
})

describe('texts that people are shown', () => {
  it('may be empty', () => {
    expect(isShown(SHOWN_LINE, '')).to.equal(true)
    expect(isShown(SHOWN_PROSE, '')).to.equal(true)
  })
  it('show something where they are one line', () => {
    for (const text of [' ', '\u00a0', '\u3164']) expect(isShown(SHOWN_LINE, text), text).to.equal(false)
    expect(isShown(SHOWN_LINE, ' a ')).to.equal(true)
    expect(isShown(SHOWN_LINE, `${'a '.repeat(256)}\u200b`)).to.equal(false)
  })
  it('may have lines and tabs, where they are more than a line', () => {
    expect(isShown(SHOWN_PROSE, 'one\r\n\ttwo\n')).to.equal(true)
    expect(isShown(SHOWN_LINE, 'one\ntwo')).to.equal(false)
  })
  it('have nothing that is not seen', () => {
    for (const shown of [SHOWN_LINE, SHOWN_PROSE])
      for (const text of ['a\u200bb', 'a\u202eb', '\ufeff', 'a\u0000'])
        expect(isShown(shown, text), text).to.equal(false)
  })
  it('are read fast, however long', () => {
    expect(isShown(SHOWN_PROSE, `${'🏴 a\u200d'.repeat(4_000)}\u200b`)).to.equal(false)
  })
  it('have patterns without a spelling that RE2 has not', () => {
    for (const shown of [SHOWN_LINE, SHOWN_NAME, SHOWN_PROSE])
      expect(toRe2Pattern(shown)).to.not.match(/\\u|\(\?[=!<]|'/)
    expect(toRe2Pattern(SHOWN_NAME)).to.include(String.raw`[\x{200c}\x{200d}]`).and.to.include(String.raw`\x{1f3f4}`)
  })
})

describe('names that somebody else gave', () => {
  for (const [sentence, given, expected] of [
    ['stay as they are where they can', FAMILY, FAMILY],
    ['lose what is not seen', '\ufeff Ada\u200b\u202e Lovelace \u0000', 'Ada  Lovelace'],
    ['are cut between two characters', 'A😀', 'A'],
    ['lose half of a character at their end', 'A\ud83d', 'A'],
    ['are none where nothing is left', '\u200b\u00a0', undefined],
  ] as const)
    it(sentence, () => expect(shownName(given, given.startsWith('A😀') ? 2 : 64)).to.equal(expected))
})
