import { expect } from 'chai'
import { PASSWORD_POLICY, passwordViolations, policySentences } from './passwordPolicy.ts'

const GOOD = 'Correct-horse7'

describe('passwordViolations', () => {
  it('has the limits of the interface', () => {
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
    ['a valid password', GOOD, []],
    ['12 characters', 'Correct-hor7', []],
    ['11 characters', 'Correct-ho7', [/at least 12/]],
    ['128 characters', `${GOOD}${'x'.repeat(114)}`, []],
    ['129 characters', `${GOOD}${'x'.repeat(115)}`, [/at most 128/]],
    ['no digit', 'Correct-horses', [/digit$/]],
    ['no lower-case letter', 'CORRECT-HORSE7', [/lower-case/]],
    ['no upper-case letter', 'correct-horse7', [/upper-case/]],
    ['no special character', 'CorrectHorse77', [/neither/]],
    ['a space as the special character', 'Correct horse7', []],
    ['letters and digits of other scripts', 'Größe-über-٣٣', []],
    ['emojis counted as one character each', 'Aa1😀😀😀😀', [/at least 12/]],
    ['the email address in another case', 'X-1aNNA@example.com', [/e-mail/]],
    ['an empty password', '', [/12/, /digit$/, /lower/, /upper/, /neither/]],
  ]
  for (const [title, password, wanted] of cases) {
    it(`returns ${wanted.length} violations for ${title}`, () => {
      const found = passwordViolations(password, 'anna@example.com')
      expect(found, found.join()).to.have.length(wanted.length)
      for (const [index, pattern] of wanted.entries()) expect(found[index]).to.match(pattern)
    })
  }

  it('has no rule for what may be absent, and names a number', () => {
    const policy = { ...PASSWORD_POLICY, minDigits: 2, minLowerCase: 0 }
    expect(passwordViolations('CORRECT-HORSE7', undefined, policy)).to.deep.equal(['It must contain at least 2 digits'])
    expect(policySentences(policy)).to.have.length(6)
  })

  it('finds an email address with capital letters', () => {
    expect(passwordViolations('X-1anna@example.com', 'Anna@Example.com')).to.have.length(1)
  })

  it('accepts the email address if the policy allows it, and a missing one', () => {
    expect(passwordViolations('X-1anna@example.com', 'anna@example.com', { ...PASSWORD_POLICY, allowEmail: true })).to
      .be.empty
    expect(passwordViolations(GOOD, undefined)).to.deep.equal([])
    expect(passwordViolations(GOOD, '')).to.deep.equal([])
  })

  it('does not quote the password', () => {
    for (const sentence of passwordViolations('hunter2', undefined)) expect(sentence).to.not.contain('hunter')
  })
})
