import { z } from 'zod'
import { ACTIONS_OF_SECRETS } from '../contracts/namespaceSecrets.ts'
import type { AdmissionRule } from './define.ts'
import { setOf } from './fields.ts'
import { mayReadAll, unchanged } from './referenceAdmission.ts'

const COLLECTIONS = [...ACTIONS_OF_SECRETS.keys()]
const NAMED = COLLECTIONS.filter((collection) => collection !== 'managedidentities')

export const NamespaceSecrets = setOf(
  z
    .string()
    .max(100)
    .regex(
      new RegExp(`^(${COLLECTIONS.join('|')}|(${NAMED.join('|')})/[a-z0-9]([a-z0-9-]*[a-z0-9])?)$`),
      `must be one of ${COLLECTIONS.join(', ')}; all but the first may have a slash and the name of a resource behind them`,
    ),
  50,
).describe(
  'Secrets of its namespace that it may be given: managedidentities (its identity), secretvaults, and so on, or `secretvaults/<name>`; whoever writes it or the code may read them. Only shortened later',
)

const TAKEN = 'object.spec.?namespaceSecrets.orValue([])'
const BEFORE = 'oldObject.spec.?namespaceSecrets.orValue([])'

/**
 * Whoever decides what code a function runs may read what that may be given. The object alone is asked about, in the write that
 * stores it: no other object that is written in the same moment, or that the API server has not heard of yet, decides.
 */
export const namespaceSecretsAdmission: readonly AdmissionRule[] = [
  {
    on: 'WRITE',
    cel: `variables.isExempt || ${unchanged('env', 'handler', 'namespaceSecrets')} || ${mayReadAll(TAKEN, COLLECTIONS)}`,
    message:
      'namespaceSecrets has what you may not read, or more than two single resources: leave out what you may not read',
  },
  {
    on: 'WRITE',
    cel: `variables.isExempt || request.operation == 'CREATE' || ${TAKEN}.all(t, t in ${BEFORE} || t.split('/')[0] in ${BEFORE})`,
    message:
      'namespaceSecrets of a function that is there already gets no longer, as others may have written its code: delete the function and create it again',
  },
]
