import { secretsOf, secretsWithin } from '../../contracts/namespaceSecrets.ts'
import { done, type Outcome, stalled } from '../../core/outcome.ts'
import type { FunctionPass } from './types.ts'

/**
 * Code that may not be given what its namespace has that is secret is not run beside it. What it may be given stands in the object
 * that brings the code, where its writer was asked: nothing follows from which of the two objects came first.
 *
 * @param what brings the code, in words
 */
export function withheld({ state }: FunctionPass, what: string, allowed: readonly string[] = []): Outcome {
  const given = secretsOf(state.around?.spec ?? {})
  const within = secretsWithin(given, allowed)
  const [lacking] = given.filter((secret) => !within.includes(secret))
  if (lacking === undefined) return done()
  return stalled(
    'ConfigurationInvalid',
    `${what} may not be given ${lacking}, which its namespace has, as nobody who may read that wrote it: somebody who may creates it again.`,
  )
}
