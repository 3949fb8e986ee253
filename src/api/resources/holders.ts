import type { AnyKind } from '../../crds/define.ts'
import { RESOURCE_KINDS } from '../../crds/index.ts'
import { resourceScope } from '../callers/visibility.ts'
import type { Context } from '../http/context.ts'
import type { GroupResource } from './contents.ts'
import { actionOf } from './types.ts'

/** A resource that uses something, as records and refusals name it. */
export type HolderRef = { collection: string; resourceGroup: string; name: string }

/** The most holders that a refusal names. */
const NAMED_MAX = 50

/** Whether the caller may read this very resource: a role may hold one collection and not another. */
export function mayRead(
  context: Pick<Context, 'services' | 'caller'>,
  boundaryId: string,
  { kind, object, resourceGroup }: GroupResource,
): boolean {
  return mayReadAt(context, kind, resourceScope(boundaryId, resourceGroup, kind.segment, object.metadata.name))
}

/** Like `mayRead`, for `<collection>/<name>` in a group. Volumes and parts of resources are shown with their group. */
export function mayReadNamed(
  context: Pick<Context, 'services' | 'caller'>,
  { boundaryId, resourceGroup }: { boundaryId: string; resourceGroup: string },
  holder: string,
): boolean {
  const [collection = '', name = ''] = holder.split('/')
  const kind = RESOURCE_KINDS.find(({ segment }) => segment === collection)
  return kind === undefined || mayReadAt(context, kind, resourceScope(boundaryId, resourceGroup, collection, name))
}

/** Whether the caller may read objects of the kind at the scope. */
export function mayReadAt(
  { services, caller }: Pick<Context, 'services' | 'caller'>,
  kind: AnyKind,
  scope: string,
): boolean {
  return services.access.isAllowed(caller.principalId, readActionOf(kind), scope)
}

const readActionOf = (kind: AnyKind) => actionOf(kind, 'read')

/**
 * Returns the read action if a deny withholds it from the caller at the scope. Views with a right of their own, such as
 * the activity or the network of resources, must not show these resources.
 */
export function deniedReadActionAt(
  { services: { access }, caller: { principalId } }: Pick<Context, 'services' | 'caller'>,
  kind: AnyKind,
  scope: string,
): string | undefined {
  const read = readActionOf(kind)
  return access.explain(principalId, read, scope).reason === 'DeniedByAssignment' ? read : undefined
}

/** Returns the holders that the caller may read: that something is in use must not reveal by what. */
export function shownHolders(
  context: Pick<Context, 'services' | 'caller'>,
  boundaryId: string,
  holders: readonly GroupResource[],
): HolderRef[] {
  return holders
    .filter((holder) => mayRead(context, boundaryId, holder))
    .map(({ kind, object, resourceGroup }) => {
      return { collection: kind.segment, resourceGroup, name: object.metadata.name }
    })
}

/** Returns the details of a refusal: the holders to list, and a sentence about those that are hidden. */
export function namedHolders<Named>(shown: readonly Named[], count: number): { usedBy: Named[]; words: string } {
  const hidden = count - shown.length
  return { usedBy: shown.slice(0, NAMED_MAX), words: hidden > 0 ? ` You may not read ${hidden} of them.` : '' }
}
