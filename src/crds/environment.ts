import { z } from 'zod'

/** What a process is given, and the limits of environment variables, the same for every kind. */

/** For patterns: one character of such a text. */
export const PROCESS_CHARACTER = '[^\\x00]'

/** An argument, a command, the value of a variable. NUL would end it; every other control character is legal. */
export const ProcessText = z.string().regex(new RegExp(`^${PROCESS_CHARACTER}*$`), 'must not hold the character NUL')

/** Words of a command; none if absent. */
export const Arguments = z.array(ProcessText.max(4096)).max(64).default([])

/** Maximum characters of one value. */
export const MAX_VALUE_CHARACTERS = 32_768

/**
 * Maximum characters of all values: they go into one Secret and one pod. Characters, as CEL counts them: of at most four
 * bytes each, they never have more than the MiB that a Secret accepts, and etcd accepts 1.5 MiB.
 */
export const MAX_ALL_VALUES_CHARACTERS = 262_144

/** Maximum references to Secrets. Each is an authorizer check in an admission policy, which can do about thirty. */
export const SECRET_REFERENCES_MAX = 20

/** Counts the characters of all values, as the size function of CEL does. */
export function countCharacters(values: readonly string[]): number {
  return values.reduce((sum, value) => sum + [...value].length, 0)
}
