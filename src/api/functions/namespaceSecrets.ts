import { ACTIONS_OF_SECRETS, collectionOf, IDENTITIES, secretsGivenTo } from '../../contracts/namespaceSecrets.ts'
import { refusedFields } from '../../core/errors.ts'
import { groupNamespace } from '../../core/names.ts'
import { FunctionNamespace, type ServerlessFunction } from '../../crds/functions.ts'
import { VARIABLES_MAX } from '../../crds/namespaceSecrets.ts'
import type { Context, Services } from '../http/context.ts'

type NamespaceContext = {
  readonly services: Services
  readonly context: Pick<Context, 'caller'>
  readonly boundaryId: string
  readonly resourceGroup: string
  readonly namespaceName: string
}

/** Returns which of these secrets, each a single resource or a whole collection, the caller may read. */
export function listReadableSecrets(
  secrets: readonly string[],
  { services, context, boundaryId, resourceGroup }: NamespaceContext,
): string[] {
  const group = `/boundaries/${boundaryId}/resourcegroups/${resourceGroup}`
  const { principalId } = context.caller
  return secrets.filter((secret) => {
    const action = ACTIONS_OF_SECRETS.get(collectionOf(secret))
    if (action === undefined) return false
    const { access } = services
    if (secret.includes('/')) return access.isAllowed(principalId, action, `${group}/resources/${secret}`)
    if (!access.isAllowed(principalId, action, group)) return false
    // With a deny at one resource, the caller may not read the whole collection.
    return !access.scopesWith(principalId, action).denied.some((scope) => scope.startsWith(`${group}/`))
  })
}

/** Returns what new code of the caller may be given: collections readable as a whole, and the namespace's secrets. */
export function secretsForNewCode(target: NamespaceContext): string[] {
  const { services, boundaryId, resourceGroup, namespaceName } = target
  const ref = { namespace: groupNamespace(boundaryId, resourceGroup), name: namespaceName }
  return readableSecrets(secretsGivenTo(services.records.peek(FunctionNamespace, ref)?.spec ?? {}), target)
}

/**
 * Returns the secrets that new variables of a namespace may be combined with: collections that the caller may read
 * entirely, and secrets of its functions.
 * @throws PlatformError BAD_REQUEST
 */
export function secretsForNewVariables(
  functions: readonly ServerlessFunction['spec'][],
  target: NamespaceContext,
): string[] {
  const referenced = new Set(functions.flatMap(({ env }) => secretsGivenTo({ env })))
  const found = readableSecrets([...referenced], target).filter((secret) => secret !== IDENTITIES)
  if (found.filter((secret) => secret.includes('/')).length <= VARIABLES_MAX) return found
  const message = `would come beside secrets of more than ${VARIABLES_MAX} resources, which only who may read all of a kind in the group may write`
  throw refusedFields([{ field: 'env', message }])
}

function readableSecrets(referenced: readonly string[], target: NamespaceContext): string[] {
  const readableCollections = listReadableSecrets([...ACTIONS_OF_SECRETS.keys()], target)
  const others = referenced.filter((secret) => !readableCollections.includes(collectionOf(secret)))
  return [...readableCollections, ...listReadableSecrets(others, target)]
}
