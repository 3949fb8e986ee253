import type { Answer } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { applyListRequest, type ListShape } from './paging.ts'

/**
 * A page of rows as a PagedListResponse, written item by item: only the rows of the page become records.
 *
 * @param toItem the record of a row, or its JSON text
 */
export function pagedParts<Row>(
  rows: readonly Row[],
  request: Context['list'],
  shape: ListShape<Row>,
  toItem: (row: Row) => object | string,
): Answer<never> {
  const { rows: page, pagination } = applyListRequest(rows, request, shape)
  const parts = ['{"items":[']
  page.forEach((row, index) => {
    const item = toItem(row)
    const text = typeof item === 'string' ? item : JSON.stringify(item)
    parts.push(index === 0 ? text : `,${text}`)
  })
  parts.push(`],"pagination":${JSON.stringify(pagination)}}`)
  return { status: 200, parts }
}
