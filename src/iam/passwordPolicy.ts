import { pluralize } from '../core/pluralize.ts'

/** The requirements for passwords of the local provider (records of section 14). */
export type PasswordPolicy = {
  readonly minLength: number
  readonly maxLength: number
  readonly minDigits: number
  readonly minLowerCase: number
  readonly minUpperCase: number
  readonly minSpecialChars: number
  /** Whether the password may contain the e-mail address. */
  readonly allowEmail: boolean
}

export const PASSWORD_POLICY: PasswordPolicy = {
  minLength: 12,
  maxLength: 128,
  minDigits: 1,
  minLowerCase: 1,
  minUpperCase: 1,
  minSpecialChars: 1,
  allowEmail: false,
}

type PasswordRule = { sentence: string; isBroken: (characters: readonly string[], email: string) => boolean }

/** Returns how many characters match. Characters are code points, so accents and emoji count once. */
function count(characters: readonly string[], pattern: RegExp): number {
  return characters.filter((character) => pattern.test(character)).length
}

function minimumRule(minimum: number, singular: string, plural: string, pattern: RegExp): PasswordRule[] {
  if (minimum === 0) return []
  return [
    {
      sentence: `It must contain at least ${minimum} ${minimum === 1 ? singular : plural}`,
      isBroken: (characters) => count(characters, pattern) < minimum,
    },
  ]
}

function rulesOf(policy: PasswordPolicy): PasswordRule[] {
  const { minLength, maxLength } = policy
  return [
    {
      sentence: `It must have at least ${pluralize(minLength, 'character')}`,
      isBroken: (characters) => characters.length < minLength,
    },
    {
      sentence: `It must have at most ${pluralize(maxLength, 'character')}`,
      isBroken: ({ length }) => length > maxLength,
    },
    ...minimumRule(policy.minDigits, 'digit', 'digits', /\p{Nd}/u),
    ...minimumRule(policy.minLowerCase, 'lower-case letter', 'lower-case letters', /\p{Ll}/u),
    ...minimumRule(policy.minUpperCase, 'upper-case letter', 'upper-case letters', /\p{Lu}/u),
    ...minimumRule(
      policy.minSpecialChars,
      'character that is neither a letter nor a digit',
      'characters that are neither letters nor digits',
      /[^\p{L}\p{N}]/u,
    ),
    ...(policy.allowEmail
      ? []
      : [
          {
            sentence: 'It must not contain the e-mail address',
            isBroken: (characters: readonly string[], email: string) =>
              email !== '' && characters.join('').toLowerCase().includes(email.toLowerCase()),
          },
        ]),
  ]
}

/** Returns the rules as sentences, for people who choose a password. */
export function policySentences(policy: PasswordPolicy = PASSWORD_POLICY): string[] {
  return rulesOf(policy).map(({ sentence }) => sentence)
}

/** Returns one sentence for each broken rule, without the password; empty if the password is acceptable. */
export function passwordViolations(
  password: string,
  email: string | undefined,
  policy: PasswordPolicy = PASSWORD_POLICY,
): string[] {
  const characters = [...password]
  return rulesOf(policy)
    .filter(({ isBroken }) => isBroken(characters, email ?? ''))
    .map(({ sentence }) => sentence)
}
