import type { AnyKind } from '../../crds/define.ts'
import { RESOURCE_KINDS } from '../../crds/index.ts'
import { resourceScope } from '../callers/visibility.ts'
import type { Context } from '../http/context.ts'
import type { GroupResource } from './contents.ts'
import { actionOf } from './types.ts'

/** What uses something, as records and refusals name it. */
export type Holder = { collection: string; resourceGroup: string; name: string }

/** Holders that a refusal names. */
const MOST_NAMED = 50

/** Whether the caller may read this very resource: a role may hold one collection and not another. */
export function mayRead(
  context: Pick<Context, 'services' | 'caller'>,
  boundaryId: string,
  { kind, object, resourceGroup }: GroupResource,
): boolean {
  return mayReadAt(context, kind, resourceScope(boundaryId, resourceGroup, kind.segment, object.metadata.name))
}

/** The same of `<collection>/<name>` in a group. Volumes and parts of resources are shown with their group. */
export function mayReadNamed(
  context: Pick<Context, 'services' | 'caller'>,
  { boundaryId, resourceGroup }: { boundaryId: string; resourceGroup: string },
  holder: string,
): boolean {
  const [collection = '', name = ''] = holder.split('/')
  const kind = RESOURCE_KINDS.find(({ segment }) => segment === collection)
  return kind === undefined || mayReadAt(context, kind, resourceScope(boundaryId, resourceGroup, collection, name))
}

/** Whether the caller may read what is of the kind and at the scope. */
export function mayReadAt(
  { services, caller }: Pick<Context, 'services' | 'caller'>,
  kind: AnyKind,
  scope: string,
): boolean {
  return services.access.isAllowed(caller.principalId, readOf(kind), scope)
}

const readOf = (kind: AnyKind) => actionOf(kind.actions ?? kind.segment, 'read')

/**
 * The action of reading, if a deny keeps the caller from it there: what shows resources by a right of its own, such as their
 * activity or their network, shows nothing of these.
 */
export function readDeniedAt(
  { services: { access }, caller: { principalId } }: Pick<Context, 'services' | 'caller'>,
  kind: AnyKind,
  scope: string,
): string | undefined {
  const read = readOf(kind)
  return access.explain(principalId, read, scope).reason === 'DeniedByAssignment' ? read : undefined
}

/** Those that the caller may read: that a thing is used does not tell by what. */
export function shownHolders(
  context: Pick<Context, 'services' | 'caller'>,
  boundaryId: string,
  holders: readonly GroupResource[],
): Holder[] {
  return holders
    .filter((holder) => mayRead(context, boundaryId, holder))
    .map(({ kind, object, resourceGroup }) => {
      return { collection: kind.segment, resourceGroup, name: object.metadata.name }
    })
}

/** What a refusal says beside its sentence: who is shown, and that there are others. */
export function namedHolders<Named>(shown: readonly Named[], count: number): { usedBy: Named[]; words: string } {
  const hidden = count - shown.length
  return { usedBy: shown.slice(0, MOST_NAMED), words: hidden > 0 ? ` You may not read ${hidden} of them.` : '' }
}
