import type { AnyKind } from '../../crds/define.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { groupScope, resourceScope } from '../callers/visibility.ts'
import type { Context } from '../http/context.ts'
import type { GroupResource } from '../resources/contents.ts'
import { deniedReadActionAt } from '../resources/holders.ts'

const READ = 'boundaries/network/read'

/**
 * Returns what the caller may see in the boundary: routes check the boundary only, and a deny on the network view or on
 * reading may be at a group or resource in it.
 */
export function networkVisibilityOf(context: Pick<Context, 'services' | 'caller'>, boundaryId: string) {
  const { services, caller } = context
  const { access } = services
  const { principalId } = caller
  const isWhole = access.scopesWith(principalId, READ).denied.length === 0
  const isSeenAt = (kind: AnyKind, scope: string) =>
    (isWhole || access.isAllowed(principalId, READ, scope)) && deniedReadActionAt(context, kind, scope) === undefined
  return {
    group: ({ name }: { readonly name: string }) => isSeenAt(ResourceGroup, groupScope(boundaryId, name)),
    resource: ({ kind, object, resourceGroup }: GroupResource) =>
      isSeenAt(kind, resourceScope(boundaryId, resourceGroup, kind.segment, object.metadata.name)),
  }
}
