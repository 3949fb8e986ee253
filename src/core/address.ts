/**
 * A single e-mail address, for `RegExp`; `toRe2Pattern` converts the pattern for the API server. Claims of other issuers, people
 * and invitations share this rule. Mail servers may accept more.
 */
export const ADDRESS_PATTERN =
  '^[^\\s\\x00-\\x20\\x7f-\\xa0\\u202a-\\u202e\\u2066-\\u2069@<>,;:"()\\[\\]\\\\]{1,64}@[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)+$'
export const ADDRESS_MAX_LENGTH = 254

const PATTERN = new RegExp(ADDRESS_PATTERN)

export function isAddress(text: string): boolean {
  return text.length <= ADDRESS_MAX_LENGTH && PATTERN.test(text)
}
