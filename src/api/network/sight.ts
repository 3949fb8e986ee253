import { groupScope, resourceScope } from '../callers/visibility.ts'
import type { Context } from '../http/context.ts'
import type { GroupResource } from '../resources/contents.ts'

const READ = 'boundaries/network/read'

/** What of the boundary the caller may see: the routes ask at the boundary, and a deny may lie on a group or a resource of it. */
export function sightOf(
  { services: { access }, caller: { principalId } }: Pick<Context, 'services' | 'caller'>,
  boundaryId: string,
) {
  const isWhole = access.scopesWith(principalId, READ).denied.length === 0
  const isSeenAt = (scope: string) => isWhole || access.isAllowed(principalId, READ, scope)
  return {
    group: ({ name }: { readonly name: string }) => isSeenAt(groupScope(boundaryId, name)),
    resource: ({ kind, object, resourceGroup }: GroupResource) =>
      isSeenAt(resourceScope(boundaryId, resourceGroup, kind.segment, object.metadata.name)),
  }
}
