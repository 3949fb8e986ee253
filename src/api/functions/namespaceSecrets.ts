import { ACTIONS_OF_SECRETS, collectionOf, IDENTITIES, secretsOf } from '../../contracts/namespaceSecrets.ts'
import { refusedFields } from '../../core/errors.ts'
import { groupNamespace } from '../../core/names.ts'
import { FunctionNamespace, type ServerlessFunction } from '../../crds/functions.ts'
import { MOST_VARIABLES } from '../../crds/namespaceSecrets.ts'
import type { Context, Services } from '../http/context.ts'

type Asking = {
  readonly services: Services
  readonly context: Pick<Context, 'caller'>
  readonly boundaryId: string
  readonly resourceGroup: string
  readonly namespaceName: string
}

/** Of these secrets those that the caller may read, one of the group or all of a collection. */
export function readableOf(
  secrets: readonly string[],
  { services, context, boundaryId, resourceGroup }: Asking,
): string[] {
  const group = `/boundaries/${boundaryId}/resourcegroups/${resourceGroup}`
  const { principalId } = context.caller
  return secrets.filter((secret) => {
    const action = ACTIONS_OF_SECRETS.get(collectionOf(secret))
    if (action === undefined) return false
    const { access } = services
    if (secret.includes('/')) return access.isAllowed(principalId, action, `${group}/resources/${secret}`)
    if (!access.isAllowed(principalId, action, group)) return false
    // A deny at one of them makes them no longer all.
    return !access.scopesWith(principalId, action).denied.some((scope) => scope.startsWith(`${group}/`))
  })
}

/** What new code of the caller may be given: every collection that they may read all of, and of the others what the namespace has. */
export function readableHere(asking: Asking): string[] {
  const { services, boundaryId, resourceGroup, namespaceName } = asking
  const ref = { namespace: groupNamespace(boundaryId, resourceGroup), name: namespaceName }
  return readableAmong(secretsOf(services.records.peek(FunctionNamespace, ref)?.spec ?? {}), asking)
}

/**
 * What new variables of a namespace may come beside: the same, and of the others what its functions have.
 *
 * @throws PlatformError BAD_REQUEST
 */
export function readableBeside(functions: readonly ServerlessFunction['spec'][], asking: Asking): string[] {
  const single = new Set(functions.flatMap(({ env }) => secretsOf({ env })))
  const found = readableAmong([...single], asking).filter((secret) => secret !== IDENTITIES)
  if (found.filter((secret) => secret.includes('/')).length <= MOST_VARIABLES) return found
  const message = `would come beside secrets of more than ${MOST_VARIABLES} resources, which only who may read all of a kind in the group may write`
  throw refusedFields([{ field: 'env', message }])
}

function readableAmong(single: readonly string[], asking: Asking): string[] {
  const all = readableOf([...ACTIONS_OF_SECRETS.keys()], asking)
  const others = single.filter((secret) => !all.includes(collectionOf(secret)))
  return [...all, ...readableOf(others, asking)]
}
