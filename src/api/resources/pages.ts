import type { Answer } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { applyListRequest } from './appliedList.ts'
import type { PaginationMeta } from './dto.ts'
import type { ListShape } from './paging.ts'

/**
 * Writes a page of rows as a PagedListResponse, item by item: only the rows of the page become records.
 *
 * @param toItem returns the record of a row, or its JSON text
 */
export function pagedParts<Row>(
  rows: readonly Row[],
  request: Context['list'],
  shape: ListShape<Row>,
  toItem: (row: Row) => object | string,
): Answer<never> {
  const { rows: page, pagination } = applyListRequest(rows, request, shape)
  const items = page.map((row) => {
    const item = toItem(row)
    return typeof item === 'string' ? item : JSON.stringify(item)
  })
  const { namesOf = (row: Row) => ({ id: shape.idOf(row), name: shape.nameOf(row) }) } = shape
  const entries = () => page.map((row, index) => ({ ...namesOf(row), text: items[index] ?? '' }))
  return { ...pageParts(items, pagination), entries }
}

/** Writes a PagedListResponse from the JSON texts of its items. */
export function pageParts(items: readonly string[], pagination: PaginationMeta): Answer<never> {
  const separated = items.flatMap((item, index) => (index === 0 ? [item] : [',', item]))
  return { status: 200, parts: ['{"items":[', ...separated, `],"pagination":${JSON.stringify(pagination)}}`] }
}
