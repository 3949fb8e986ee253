/** Bounds of what a process is given as environment variables, the same for every kind. */

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
