import { z } from 'zod'
import { type PasswordPolicy, policySentences } from '../../iam/passwordPolicy.ts'
import { DateTime } from '../resources/dto.ts'

export const PasswordPolicyDto = z
  .object({
    minLength: z.int(),
    minDigits: z.int(),
    minLowerCase: z.int(),
    minUpperCase: z.int(),
    minSpecialChars: z.int(),
    maxLength: z.int(),
    allowEmail: z.boolean(),
    rules: z.array(z.string()),
  })
  .meta({ id: 'PasswordPolicyDto' })

export function passwordPolicyDto(policy: PasswordPolicy): z.output<typeof PasswordPolicyDto> {
  return { ...policy, rules: policySentences(policy) }
}

/** The schema accepts any text as a password; the policy judges it. */
const Password = z.string().max(10_000).describe('The new password, as the policy wants it')

export const PasswordResetRequest = z
  .strictObject({ email: z.string().max(1000).describe('Address of the account') })
  .meta({ id: 'PasswordResetRequest' })
export const PasswordResetConfirmRequest = z
  .strictObject({ password: Password })
  .meta({ id: 'PasswordResetConfirmRequest' })
export const ChangePasswordRequest = z.strictObject({ password: Password }).meta({ id: 'ChangePasswordRequest' })

export const PasswordResetLinkDto = z
  .object({ email: z.string().describe('Only its first letter and its domain'), expiresAt: DateTime })
  .meta({ id: 'PasswordResetLinkDto' })
export const PasswordResetResult = z.object({ signInUrl: z.string() }).meta({ id: 'PasswordResetResult' })
export const PasswordChangedDto = z.object({ changedAt: DateTime }).meta({ id: 'PasswordChangedDto' })

/** `a***@example.com`: enough to know one's own address again. */
export function maskedAddress(email: string): string {
  const [local = '', domain = ''] = email.split('@')
  return `${[...local][0] ?? ''}***@${domain}`
}
