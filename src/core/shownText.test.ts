import { expect } from 'chai'
import { isShown, looksSame, SHOWN_LINE, SHOWN_NAME, SHOWN_PROSE, shownName, toRe2Pattern } from './shownText.ts'

const FAMILY = '👩\u200d👩\u200d👧'
const ENGLAND = '🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}'

describe('SHOWN_NAME', () => {
  const cases: [sentence: string, name: string, isTaken: boolean][] = [
    ['accepts any script', 'Ünïted Ακμή 株式会社 آکمه', true],
    ['accepts a single character', 'A', true],
    ['accepts joined emoji', FAMILY, true],
    ['accepts joined emoji within text', `Team ${FAMILY} one`, true],
    ['accepts an emoji variation selector', '❤\ufe0f', true],
    ['accepts a subdivision flag', `${ENGLAND} team`, true],
    ['accepts a zero-width non-joiner between letters', 'می\u200cخواهم', true],
    ['accepts a no-break space within text', 'Acme\u00a01', true],
    ['rejects an empty string', '', false],
    ['rejects a no-break space alone', '\u00a0', false],
    ['rejects a no-break space at the beginning', '\u00a0Acme', false],
    ['rejects an ideographic space at the end', 'Acme\u3000', false],
    ['rejects a zero-width space', 'Ac\u200bme', false],
    ['rejects a zero-width space alone', '\u200b', false],
    ['rejects a joiner alone', '\u200d', false],
    ['rejects a joiner at the end', 'Acme\u200d', false],
    ['rejects a bidirectional override', 'Acme\u202eemca', false],
    ['rejects a bidirectional isolate', '\u2066Acme\u2069', false],
    ['rejects a byte order mark', '\ufeffAcme', false],
    ['rejects a soft hyphen', 'Ac\u00adme', false],
    ['rejects a line separator', 'Acme\u2028Inc', false],
    ['rejects a filler alone', '\u3164', false],
    ['rejects a variation selector alone', '\ufe0f', false],
    ['rejects tags without a flag', `Acme${ENGLAND.slice(2)}`, false],
    ['rejects control characters', 'Ac\u0085me', false],
  ]
  for (const [sentence, name, isTaken] of cases) it(sentence, () => expect(isShown(SHOWN_NAME, name)).to.equal(isTaken))
})

describe('SHOWN_LINE and SHOWN_PROSE', () => {
  it('accept an empty string', () => {
    expect(isShown(SHOWN_LINE, '')).to.equal(true)
    expect(isShown(SHOWN_PROSE, '')).to.equal(true)
  })
  it('reject blank or invisible text in a line', () => {
    for (const text of [' ', '\u00a0', '\u3164']) expect(isShown(SHOWN_LINE, text), text).to.equal(false)
    expect(isShown(SHOWN_LINE, ' a ')).to.equal(true)
    expect(isShown(SHOWN_LINE, `${'a '.repeat(256)}\u200b`)).to.equal(false)
  })
  it('accept line breaks and tabs in prose only', () => {
    expect(isShown(SHOWN_PROSE, 'one\r\n\ttwo\n')).to.equal(true)
    expect(isShown(SHOWN_LINE, 'one\ntwo')).to.equal(false)
  })
  it('reject invisible characters', () => {
    for (const shown of [SHOWN_LINE, SHOWN_PROSE])
      for (const text of ['a\u200bb', 'a\u202eb', '\ufeff', 'a\u0000'])
        expect(isShown(shown, text), text).to.equal(false)
  })
  it('match long text fast', () => {
    expect(isShown(SHOWN_PROSE, `${'🏴 a\u200d'.repeat(4_000)}\u200b`)).to.equal(false)
  })
  it('translate to RE2 syntax', () => {
    for (const shown of [SHOWN_LINE, SHOWN_NAME, SHOWN_PROSE])
      expect(toRe2Pattern(shown)).to.not.match(/\\u|\(\?[=!<]|'/)
    expect(toRe2Pattern(SHOWN_NAME)).to.include(String.raw`[\x{200c}\x{200d}]`).and.to.include(String.raw`\x{1f3f4}`)
  })
})

describe('shownName', () => {
  for (const [sentence, given, expected] of [
    ['keeps a valid name', FAMILY, FAMILY],
    ['removes invisible characters', '\ufeff Ada\u200b\u202e Lovelace \u0000', 'Ada  Lovelace'],
    ['truncates between two characters', 'A😀', 'A'],
    ['removes an unpaired surrogate', 'A\ud83d', 'A'],
    ['returns undefined if nothing is left', '\u200b\u00a0', undefined],
  ] as const)
    it(sentence, () => expect(shownName(given, given.startsWith('A😀') ? 2 : 64)).to.equal(expected))
})

describe('looksSame', () => {
  const pairs: [one: string, other: string, isSame: boolean][] = [
    ['Team', 'Team', true],
    ['Caf\u00e9', 'Cafe\u0301', true],
    ['Admins', 'Ad\u200cmi\u200dns', true],
    ['Team', 'team', false],
    ['Team', 'Teams', false],
    ['👩\u200d👧', '👩👧', false],
    ['❤\ufe0f\u200d🔥', '❤\ufe0f🔥', false],
  ]
  for (const [one, other, isSame] of pairs)
    it(`${isSame ? 'is' : 'is not'} true of ${JSON.stringify(one)} and ${JSON.stringify(other)}`, () => {
      expect([looksSame(one, other), looksSame(other, one)]).to.deep.equal([isSame, isSame])
    })
})
