import { LRUCache } from 'lru-cache'
import type { AnyKind } from '../../crds/define.ts'
import { resourceScope } from '../callers/visibility.ts'
import type { Answer } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import type { Records } from '../records/records.ts'
import { cutPage, sortRows } from './appliedList.ts'
import { createViewBuilder } from './find.ts'
import type { DeclaredResource } from './generic.ts'
import { pagedParts, pageParts } from './pages.ts'
import { type ListRequest, type ListShape, sortField, WHOLE_PAGE } from './paging.ts'
import type { CachedText } from './recordTexts.ts'
import { actionOf, type ResourceView } from './types.ts'

/** A resource group and the namespace of its resources. */
type ListedGroup = { readonly name: string; readonly namespace: string }
/** `kept` is the cached record, which is valid while `surroundings` is the current version of the surroundings. */
type Row = { readonly group: ListedGroup; readonly name: string; surroundings?: string; kept?: CachedText | undefined }
type Order = { readonly revision: string; readonly rows: readonly Row[] }

/** The most rows of all cached orders, about 10 MB; a longer order is computed again for each page. */
const ROWS_MAX = 200_000
const orders = new WeakMap<Records, LRUCache<string, Order>>()

/**
 * Answers a page of the resources of one kind in some groups of a boundary. If the order follows from the resources
 * alone, it is cached until one of them changes, and a page reads only its own rows: paging through a list then takes
 * time in proportion to its length.
 */
export async function listResources<K extends AnyKind>(
  { kind, texts }: Pick<DeclaredResource<K>, 'kind' | 'texts'>,
  where: { context: Context; boundaryId: string; groups: readonly ListedGroup[]; shape: ListShape<ResourceView<K>> },
): Promise<Answer> {
  const { context, boundaryId, groups, shape } = where
  const { list: request, fresh } = context
  const { records } = context.services
  const view = createViewBuilder<K>(context.services, boundaryId)
  const mayRead = visibilityFilter(context, kind, boundaryId)
  if (!fresh && mayRead === undefined && isOrderOfAll(request, shape)) {
    const peekRows = () =>
      groups.flatMap(({ name, namespace }) => records.peekAll(kind, { namespace }).map((object) => view(object, name)))
    const rows = keptOrder(kind, records, groups, request.sort, () => sortRows(peekRows(), request.sort, shape))
    const { start, end, pagination } = cutPage(rows.length, request)
    const surroundings = texts.surroundings(records)
    const items = rows.slice(start, end).flatMap((row) => {
      // For thousands of rows, looking up the object and its text costs more than the text itself.
      if (row.surroundings === surroundings && row.kept?.text !== undefined) return row.kept.text
      const { group, name } = row
      const object = records.peek(kind, { namespace: group.namespace, name })
      if (object === undefined) return []
      const { text, kept } = texts.find(view(object, group.name))
      row.surroundings = surroundings
      row.kept = kept
      return text
    })
    return pageParts(items, pagination)
  }
  const rows: ResourceView<K>[] = []
  for (const { name, namespace } of groups) {
    for (const object of await records.list(kind, { namespace }, { fresh })) {
      if (mayRead?.(name, object.metadata.name) !== false) rows.push(view(object, name))
    }
  }
  return pagedParts(rows, request, shape, (row) => texts.textOf(row))
}

function isOrderOfAll<R>(request: ListRequest, shape: ListShape<R>): boolean {
  const isWhole = request.search === undefined && request.filters.length === 0
  // A followed list needs every record, and has no next page.
  return isWhole && request.pageSize !== WHOLE_PAGE.pageSize && sortField(request.sort, shape)?.isOfObject === true
}

function keptOrder<K extends AnyKind>(
  kind: K,
  records: Records,
  groups: readonly ListedGroup[],
  sort: string,
  sorted: () => readonly ResourceView<K>[],
): readonly Row[] {
  const kept =
    orders.get(records) ?? new LRUCache({ maxSize: ROWS_MAX, sizeCalculation: ({ rows }) => rows.length + 1 })
  orders.set(records, kept)
  const place = groups.map(({ namespace }) => namespace).join()
  const revision = groups.map(({ namespace }) => records.revision(kind, { namespace })).join()
  const key = `${kind.plural} ${sort} ${place}`
  const known = kept.get(key)
  if (known?.revision === revision) return known.rows
  const groupByName = new Map(groups.map((group) => [group.name, group]))
  const rows = sorted().flatMap(({ object, resourceGroup }) => {
    const group = groupByName.get(resourceGroup)
    return group === undefined ? [] : [{ group, name: object.metadata.name }]
  })
  kept.set(key, { revision, rows })
  return rows
}

/**
 * Returns a test for the resources of a boundary that the caller may see; undefined for all. The route's own check
 * covers a whole list; each resource is tested only if a deny lies below that scope.
 */
function visibilityFilter(context: Context, kind: AnyKind, boundaryId: string) {
  const { access } = context.services
  const { principalId } = context.caller
  const read = actionOf(kind, 'read')
  if (access.scopesWith(principalId, read).denied.length === 0) return undefined
  return (group: string, name: string) =>
    access.isAllowed(principalId, read, resourceScope(boundaryId, group, kind.segment, name))
}
