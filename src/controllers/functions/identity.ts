import { functionNames } from '../../contracts/functions.ts'
import { done, type Outcome, waiting } from '../../core/outcome.ts'
import { FunctionNamespace } from '../../crds/functions.ts'
import { functionShared } from '../../desired/functions.ts'
import { secret as secretChild } from '../../desired/workload/child.ts'
import { secret } from '../../kube/builtin.ts'
import { refOfPass } from '../workload/pass.ts'
import { readSecret, withSecretRights } from '../workload/secrets.ts'
import { clusterOfFunction } from './otherClusters.ts'
import type { FunctionPass } from './types.ts'

const BEING_MADE = 'The credentials of the managed identity of its namespace are being made.'

/**
 * Removes the credentials from another cluster once the namespace has no identity. Runs before any step that can stop
 * the pass, because credentials grant access.
 */
export function withdrawIdentity(pass: FunctionPass): Outcome | Promise<Outcome> {
  const { object, records } = pass
  const { namespace, name } = refOfPass(pass)
  const functionNamespace = records.cache(FunctionNamespace).get(namespace, object.spec.namespaceName)
  if (
    functionNamespace === undefined ||
    functionNamespace.spec.managedIdentity ||
    clusterOfFunction(object, records) === undefined
  )
    return done()
  return withSecretRights(async () => {
    await pass.children.remove(secret, namespace, functionNames(name).identity)
    return done()
  })
}

/** Requires the credentials first: a copy started without them would never get them. */
export function findIdentity(pass: FunctionPass): Outcome | Promise<Outcome> {
  const { object, state, records } = pass
  const { spec, status } = state.functionNamespace ?? {}
  if (spec?.managedIdentity !== true) return done()
  const stored = status?.identitySecret
  if (stored === undefined) return waiting('WaitingForDependency', BEING_MADE)
  if (clusterOfFunction(object, records) !== undefined) return withSecretRights(() => copyCredentials(pass, stored))
  state.identitySecret = stored
  return done()
}

/** Copies the credentials to another cluster, one Secret per function, which is deleted with the function. */
async function copyCredentials(pass: FunctionPass, stored: string): Promise<Outcome> {
  const { object, records, children, state } = pass
  const { namespace, name } = refOfPass(pass)
  const { identity } = functionNames(name)
  const localSecret = await readSecret({ workloads: records }, namespace, stored)
  if (localSecret === undefined) return waiting('WaitingForDependency', BEING_MADE)
  await children.ensure(secretChild(functionShared(object), identity, localSecret.data ?? {}), { resource: secret })
  state.identitySecret = identity
  return done()
}
