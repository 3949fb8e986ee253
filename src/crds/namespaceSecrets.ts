import { ACTIONS_OF_SECRETS, IDENTITIES } from '../contracts/namespaceSecrets.ts'
import type { AdmissionRule } from './define.ts'
import { listSetOf, matching } from './fields.ts'
import { celMayReadAll, celUnchanged } from './referenceAdmission.ts'

/** Variables in `env` of a function or its namespace. Callers who cannot read all resources must list each. */
export const VARIABLES_MAX = 200

const COLLECTIONS = [...ACTIONS_OF_SECRETS.keys()]
const NAMED_COLLECTIONS = COLLECTIONS.filter((collection) => collection !== IDENTITIES)

const secretsOfGroup = (collections: readonly string[], but: string) =>
  listSetOf(
    matching(
      100,
      new RegExp(`^(${collections.join('|')}|(${NAMED_COLLECTIONS.join('|')})/[a-z0-9]([a-z0-9-]*[a-z0-9])?)$`),
      `must be one of ${collections.join(', ')}; all${but} may have a slash and the name of a resource behind them`,
    ),
    VARIABLES_MAX + collections.length,
  )

export const NamespaceSecrets = secretsOfGroup(COLLECTIONS, ' but the first').describe(
  'Secrets of its namespace that it may be given: managedidentities (its identity), secretvaults, and so on, or `secretvaults/<name>`; whoever writes it or the code may read them. Only shortened later',
)

export const FunctionSecrets = secretsOfGroup(NAMED_COLLECTIONS, '').describe(
  'Secrets of its functions that env, which leads to code, may come beside: secretvaults, and so on, or `secretvaults/<name>`; whoever writes it or env may read them. Only shortened while there is env',
)

type SecretList = {
  readonly field: string
  readonly collections: readonly string[]
  /** Fields that are code, or determine it. */
  readonly code: readonly string[]
  /** CEL for when the list may grow: all code was written by the caller. */
  readonly grows: string
  readonly what: string
  readonly again: string
}

/**
 * Whoever decides which code runs can read what that code may be given. Only this object is checked, in the write that
 * stores it: no other object that is written concurrently, or that the API server has not seen yet, matters.
 */
function secretsAdmission({ field, collections, code, grows, what, again }: SecretList): AdmissionRule[] {
  const [current, before] = [`object.spec.?${field}.orValue([])`, `oldObject.spec.?${field}.orValue([])`]
  return [
    {
      on: 'WRITE',
      cel: `variables.isExempt || ${celUnchanged(...code, field)} || ${celMayReadAll(current, collections)}`,
      message: `${field} has what you may not read, or more than two single resources: leave out what you may not read`,
    },
    {
      on: 'WRITE',
      cel: `variables.isExempt || ${grows} || ${current}.all(t, t in ${before} || t.split('/')[0] in ${before})`,
      message: `${field} of ${what} gets no longer, as others may have written ${again}`,
    },
  ]
}

export const namespaceSecretsAdmission: readonly AdmissionRule[] = secretsAdmission({
  field: 'namespaceSecrets',
  collections: COLLECTIONS,
  code: ['env', 'handler'],
  grows: "request.operation == 'CREATE'",
  what: 'a function that is there already',
  again: 'its code: delete the function and create it again',
})

export const functionSecretsAdmission: readonly AdmissionRule[] = secretsAdmission({
  field: 'functionSecrets',
  collections: NAMED_COLLECTIONS,
  code: ['env'],
  grows: "request.operation == 'CREATE' || size(oldObject.spec.?env.orValue([])) == 0",
  what: 'a namespace that has env already',
  again: 'that: take env away and write it again',
})
