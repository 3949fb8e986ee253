import { functionNames } from '../../contracts/functions.ts'
import { done, type Outcome, waiting } from '../../core/outcome.ts'
import { functionShared } from '../../desired/functions.ts'
import { secret as secretChild } from '../../desired/workload/child.ts'
import { secret } from '../../kube/builtin.ts'
import { placeOfPass } from '../workload/pass.ts'
import { readSecret, withSecretRights } from '../workload/secrets.ts'
import type { FunctionPass } from './types.ts'
import { clusterOfFunction } from './whereabouts.ts'

const BEING_MADE = 'The credentials of the managed identity of its namespace are being made.'

/** A copy that began without the credentials would never find them. */
export function findIdentity(pass: FunctionPass): Outcome | Promise<Outcome> {
  const { object, state, records } = pass
  const { spec, status } = state.around ?? {}
  const isElsewhere = clusterOfFunction(object, records) !== undefined
  if (spec?.managedIdentity !== true) return isElsewhere ? withSecretRights(() => takeAway(pass)) : done()
  const stored = status?.identitySecret
  if (stored === undefined) return waiting('WaitingForDependency', BEING_MADE)
  if (isElsewhere) return withSecretRights(() => bring(pass, stored))
  state.identitySecret = stored
  return done()
}

/** Each function of another cluster has credentials of its own there: what is there belongs to one record, and goes with it. */
async function bring(pass: FunctionPass, stored: string): Promise<Outcome> {
  const { object, records, children, state } = pass
  const { namespace, name } = placeOfPass(pass)
  const { identity } = functionNames(name)
  const here = await readSecret({ workloads: records }, namespace, stored)
  if (here === undefined) return waiting('WaitingForDependency', BEING_MADE)
  await children.ensure(secretChild(functionShared(object), identity, here.data ?? {}), { resource: secret })
  state.identitySecret = identity
  return done()
}

async function takeAway(pass: FunctionPass): Promise<Outcome> {
  const { namespace, name } = placeOfPass(pass)
  await pass.children.remove(secret, namespace, functionNames(name).identity)
  return done()
}
