import { wantedDeployment } from '../../contracts/deployments.ts'
import { filterAllowedSecrets, secretsGivenTo } from '../../contracts/namespaceSecrets.ts'
import { done, type Outcome, stalled } from '../../core/outcome.ts'
import { ownDeployments } from '../deployments/owners.ts'
import { scaleServedVersion } from './copies.ts'
import type { FunctionPass } from './types.ts'

const findWithheldSecret = (given: readonly string[], allowed: readonly string[]) => {
  const within = filterAllowedSecrets(given, allowed)
  return given.find((secret) => !within.includes(secret))
}

/**
 * Refuses code that may not receive a secret of its namespace. What it may receive is listed in the object that brings
 * the code, whose writer was checked for it; so the order in which the two objects are created does not matter.
 *
 * @param subject brings the code, in words
 */
export async function refuseWithheldSecrets(
  pass: FunctionPass,
  subject: string,
  allowed: readonly string[] = [],
): Promise<Outcome> {
  const withheld = findWithheldSecret(secretsGivenTo(pass.state.functionNamespace?.spec ?? {}), allowed)
  if (withheld === undefined) return done()
  return refused(
    pass,
    `${subject} may not be given ${withheld}, which its namespace has, as nobody who may read that wrote it: somebody who may creates it again.`,
  )
}

/** As `refuseWithheldSecrets`, for the function's own secrets: variables of the namespace can make the runtime run other code. */
export async function refuseWithheldVariables(pass: FunctionPass): Promise<Outcome> {
  const { object, state } = pass
  const { env = [], functionSecrets = [] } = state.functionNamespace?.spec ?? {}
  const withheld =
    env.length === 0 ? undefined : findWithheldSecret(secretsGivenTo({ env: object.spec.env }), functionSecrets)
  if (withheld === undefined) return done()
  return refused(
    pass,
    `The variables of its namespace may not come beside ${withheld}, as nobody who may read that wrote them: somebody who may takes them away and writes them again.`,
  )
}

/** A waiting deployment fails for good, because its code cannot become that of a permitted writer. What served goes on. */
async function refused(pass: FunctionPass, message: string): Promise<Outcome> {
  const wanted = wantedDeployment(ownDeployments(pass))
  if (wanted?.status?.stage === 'Deploying')
    pass.report({ release: { deploymentId: wanted.metadata.name, state: 'Failed', message } })
  await scaleServedVersion(pass)
  return stalled('ConfigurationInvalid', message)
}
