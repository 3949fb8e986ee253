import { parseRepository, type RepositoryName } from '../../contracts/registry/names.ts'
import { RESOURCE_KINDS } from '../../crds/index.ts'
import type { Decision } from '../../iam/records.ts'
import { holdsNow } from '../callers/holdsNow.ts'
import { resourceScope } from '../callers/visibility.ts'
import type { Context, Services } from '../http/context.ts'
import { BUILD_ACTION } from '../resources/deployments/reporters.ts'
import { deniedReadActionAt } from '../resources/holders.ts'
import { findIncarnation } from './credentials.ts'

/** Returns the prefix of a collection's actions; undefined for an unknown collection. */
export function actionPrefix(collection: string): string | undefined {
  return kindOf(collection)?.actions
}

const kindOf = (collection: string) => RESOURCE_KINDS.find(({ segment }) => segment === collection)

/**
 * Returns the name of a valid repository: its boundary and group exist, and its collection is known.
 * @param principalId for whom the API server is asked before the answer is "unknown"
 */
export async function knownRepository(
  services: Services,
  principalId: string,
  text: string,
): Promise<RepositoryName | undefined> {
  const name = parseRepository(text)
  if (name === undefined || actionPrefix(name.collection) === undefined) return undefined
  for (const place of [name.boundaryId, `${name.boundaryId}/${name.resourceGroup}`])
    if ((await findIncarnation(services, principalId, place)) === undefined) return undefined
  return name
}

export const scopeOf = ({ boundaryId, resourceGroup, collection, name }: RepositoryName) =>
  resourceScope(boundaryId, resourceGroup, collection, name)

/**
 * Returns what a principal may do with images of a resource. Reading the resource allows pull; writing it, or building
 * for it, allows push and pull. `registry/pull` or `registry/push`, also through a trust, allow the same by themselves.
 * A deny of either action overrides all. Nobody may delete: only retention does, because it knows what is in use.
 */
function rightsTo({ access }: Services, principalId: string, repository: RepositoryName): Set<'pull' | 'push'> {
  const scope = scopeOf(repository)
  const prefix = actionPrefix(repository.collection)
  const decisionsOn = (actions: readonly string[]) =>
    actions.map((action) => access.explain(principalId, action, scope))
  const isDenied = (decisions: readonly Decision[]) => decisions.some(({ reason }) => reason === 'DeniedByAssignment')
  const isGranted = (decisions: readonly Decision[]) => decisions.some(({ allowed }) => allowed)
  const push = decisionsOn(['registry/push', `${prefix}/write`])
  const pull = decisionsOn(['registry/pull', `${prefix}/read`])
  const mayPush = !isDenied(push) && (isGranted(push) || access.isAllowed(principalId, BUILD_ACTION, scope))
  const mayPull = !isDenied(pull) && (isGranted(pull) || mayPush)
  return new Set([...(mayPull ? ['pull' as const] : []), ...(mayPush ? ['push' as const] : [])])
}

/** Returns whether a caller who may build for the boundary may know of a repository: a deny may be at its resource. */
export function mayKnow(context: Pick<Context, 'services' | 'caller'>, repository: RepositoryName): boolean {
  const { services, caller } = context
  const scope = scopeOf(repository)
  const kind = kindOf(repository.collection)
  const isHidden = kind !== undefined && deniedReadActionAt(context, kind, scope) !== undefined
  return !isHidden && services.access.isAllowed(caller.principalId, BUILD_ACTION, scope)
}

/** Like `rightsTo`, but asks the API server before refusing something that is wanted. */
export async function rightsNow(
  services: Services,
  principalId: string,
  repository: RepositoryName,
  wanted: readonly string[],
): Promise<ReadonlySet<string>> {
  const known = (): ReadonlySet<string> => rightsTo(services, principalId, repository)
  const hasRights = () => wanted.every((right) => known().has(right))
  await holdsNow(services.access, principalId, scopeOf(repository), hasRights)
  return known()
}
