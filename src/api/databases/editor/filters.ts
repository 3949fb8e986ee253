import { FILTER_OPERATORS, type FilterOperator, type RowFilter } from '../../../adapters/sql/port.ts'
import type { Column, Table } from '../../../editor/catalogue.ts'
import { bindKeyText } from '../../../editor/values.ts'
import { splitList } from '../../resources/paging.ts'
import { badParameter } from '../../resources/queryFaults.ts'

/** Parses `column:operator:value`, as in lists (records: lists). */
export function filterOf(table: Table, text: string): RowFilter {
  const { column, operator, value } = partsOf(table, text)
  if (operator === 'missing' || !FILTER_OPERATORS.includes(operator as FilterOperator))
    throw badParameter('filter', `The filter has no operator "${operator.slice(0, 32)}".`)
  if (operator === 'exists') {
    if (value !== 'true' && value !== 'false')
      throw badParameter('filter', `The value for ${column.name} must be true or false.`)
    return { column, operator: value === 'false' ? 'missing' : 'exists', values: [] }
  }
  const isText = operator === 'contains' || operator === 'startsWith'
  const texts = operator === 'in' ? splitList(value) : [value]
  try {
    const values = texts.map((each) => (isText ? each : bindKeyText(column, each)))
    return { column, operator: operator as FilterOperator, values }
  } catch {
    throw badParameter('filter', `The value of the filter does not fit the type of "${column.name}".`)
  }
}

/** Splits at the first two colons, unless the filter only matches a column whose name contains colons. */
function partsOf(table: Table, text: string): { column: Column; operator: string; value: string } {
  const [first = ''] = text.split(':', 1)
  const isColumn = (name: string) => table.columns.some((each) => each.name === name)
  const name = isColumn(first)
    ? first
    : table.columns.map((each) => each.name).find((each) => text.startsWith(`${each}:`))
  const column = columnOf(table, name ?? first, 'filter')
  const [operator = '', ...rest] = text.slice(column.name.length + 1).split(':')
  return { column, operator, value: rest.join(':') }
}

export function sortOf(table: Table, text: string) {
  const isDescending = text.startsWith('-')
  return { column: columnOf(table, isDescending ? text.slice(1) : text, 'sort'), isDescending }
}

function columnOf(table: Table, name: string, parameter: string): Column {
  const column = table.columns.find((each) => each.name === name)
  if (column === undefined) throw badParameter(parameter, `"${table.name}" has no column "${name.slice(0, 128)}".`)
  return column
}
