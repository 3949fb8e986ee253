import { z } from 'zod'
import { type PasswordPolicy, policySentences } from '../../iam/passwordPolicy.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { DateTime } from '../resources/dto.ts'

export const PasswordPolicyDto = namedRecord('PasswordPolicyDto', {
  minLength: z.int(),
  minDigits: z.int(),
  minLowerCase: z.int(),
  minUpperCase: z.int(),
  minSpecialChars: z.int(),
  maxLength: z.int(),
  allowEmail: z.boolean(),
  rules: z.array(z.string()),
})

export function passwordPolicyDto(policy: PasswordPolicy): z.output<typeof PasswordPolicyDto> {
  return { ...policy, rules: policySentences(policy) }
}

/** The schema accepts any text as a password; the policy judges it. */
const Password = z.string().max(10_000).describe('The new password, as the policy wants it')

export const PasswordResetRequest = strictRecord('PasswordResetRequest', {
  email: z.string().max(1000).describe('Address of the account'),
})
export const PasswordResetConfirmRequest = strictRecord('PasswordResetConfirmRequest', { password: Password })
export const ChangePasswordRequest = strictRecord('ChangePasswordRequest', { password: Password })

export const PasswordResetLinkDto = namedRecord('PasswordResetLinkDto', {
  email: z.string().describe('Only its first letter and its domain'),
  expiresAt: DateTime,
})
export const PasswordResetResult = namedRecord('PasswordResetResult', { signInUrl: z.string() })
export const PasswordChangedDto = namedRecord('PasswordChangedDto', { changedAt: DateTime })

/** `a***@example.com`: enough to know one's own address again. */
export function maskedAddress(email: string): string {
  const [local = '', domain = ''] = email.split('@')
  return `${[...local][0] ?? ''}***@${domain}`
}
