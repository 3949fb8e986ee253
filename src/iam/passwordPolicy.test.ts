import { expect } from 'chai'
import { PASSWORD_POLICY, passwordViolations, policySentences } from './passwordPolicy.ts'

const GOOD = 'Correct-horse7'

describe('the password policy', () => {
  it('has the numbers of the interface', () => {
    expect(PASSWORD_POLICY).to.deep.equal({
      minLength: 12,
      maxLength: 128,
      minDigits: 1,
      minLowerCase: 1,
      minUpperCase: 1,
      minSpecialChars: 1,
      allowEmail: false,
    })
    expect(policySentences()).to.have.length(7)
  })

  const cases: [string, string, RegExp[]][] = [
    ['a good one', GOOD, []],
    ['one of 12 characters', 'Correct-hor7', []],
    ['one of 11', 'Correct-ho7', [/at least 12/]],
    ['one of 128', `${GOOD}${'x'.repeat(114)}`, []],
    ['one of 129', `${GOOD}${'x'.repeat(115)}`, [/at most 128/]],
    ['one without a digit', 'Correct-horses', [/digit$/]],
    ['one without a lower-case letter', 'CORRECT-HORSE7', [/lower-case/]],
    ['one without an upper-case letter', 'correct-horse7', [/upper-case/]],
    ['one without a special character', 'CorrectHorse77', [/neither/]],
    ['a space as the special character', 'Correct horse7', []],
    ['letters and digits of other scripts', 'Größe-über-٣٣', []],
    ['an emoji once, not twice', 'Aa1😀😀😀😀', [/at least 12/]],
    ['the e-mail address in other letters', 'X-1aNNA@example.com', [/e-mail/]],
    ['the empty one, every rule', '', [/12/, /digit$/, /lower/, /upper/, /neither/]],
  ]
  for (const [title, password, wanted] of cases) {
    it(`judges ${title}`, () => {
      const found = passwordViolations(password, 'anna@example.com')
      expect(found, found.join()).to.have.length(wanted.length)
      for (const [index, pattern] of wanted.entries()) expect(found[index]).to.match(pattern)
    })
  }

  it('does not mind the address where the policy allows it, or if there is none', () => {
    expect(passwordViolations('X-1anna@example.com', 'anna@example.com', { ...PASSWORD_POLICY, allowEmail: true })).to
      .be.empty
    expect(passwordViolations(GOOD, undefined)).to.deep.equal([])
    expect(passwordViolations(GOOD, '')).to.deep.equal([])
  })

  it('repeats nothing of the password', () => {
    for (const sentence of passwordViolations('hunter2', undefined)) expect(sentence).to.not.contain('hunter')
  })
})
