import { z } from 'zod'

/** What a process is given, and the bounds of it as environment variables, the same for every kind. */

/** Of a pattern: one character of such a text. */
export const PROCESS_CHARACTER = '[^\\x00]'

/** An argument, a command, the value of a variable. NUL ends each of them; every other control character is legal. */
export const ProcessText = z.string().regex(new RegExp(`^${PROCESS_CHARACTER}*$`), 'must not hold the character NUL')

/** Words of a command; none if absent. */
export const Arguments = z.array(ProcessText.max(4096)).max(64).default([])

/** Characters of one value. */
export const MOST_OF_A_VALUE = 32_768

/** Characters of all values: they go into one Secret and one pod, which etcd takes 1.5 MiB of. */
export const MOST_OF_ALL_VALUES = 262_144

/** References to Secrets. Each is a question to the authorizer in an admission policy, which may ask about thirty. */
export const MOST_REFERENCES = 20

/** Characters of all values, as the size function of CEL counts them. */
export function charactersOf(values: readonly string[]): number {
  return values.reduce((sum, value) => sum + [...value].length, 0)
}
