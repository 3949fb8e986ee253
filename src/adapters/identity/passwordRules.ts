import type { PasswordRules } from './provider.ts'

/** @param user whose name and address the password must not equal */
export function satisfiesPasswordRules(
  password: string,
  rules: PasswordRules,
  user: { userName: string; email?: string | undefined },
): boolean {
  const count = (pattern: RegExp) => (password.match(pattern) ?? []).length
  const length = [...password].length
  const isName = [user.userName, user.email].some((name) => name?.toLowerCase() === password.toLowerCase())
  return (
    length >= rules.minLength &&
    length <= rules.maxLength &&
    count(/\p{Nd}/gu) >= rules.minDigits &&
    count(/\p{Ll}/gu) >= rules.minLowerCase &&
    count(/\p{Lu}/gu) >= rules.minUpperCase &&
    count(/[^\p{L}\p{Nd}]/gu) >= rules.minSpecialChars &&
    (rules.allowEmail || !isName)
  )
}
