import { dump } from 'js-yaml'
import { isRecord } from '../core/isRecord.ts'

export const FORMATS = ['table', 'wide', 'name', 'json', 'yaml'] as const
export type Format = (typeof FORMATS)[number]
/** The record field that holds the NAME of command lines. */
export type NameField = string

/** Preferred columns. Remaining columns are other scalar fields, in the order of the record. */
const PREFERRED_COLUMNS = [
  'name',
  'displayName',
  'id',
  'roleDefinitionName',
  'scope',
  'resourceGroup',
  'status',
  'phase',
  'computePlan',
  'replicas',
  'createdAt',
]
/** Fields that are useless in a list. */
const HIDDEN_COLUMNS = new Set(['namespace', 'boundary', 'boundaryId', 'etag'])
const SCOPE_COLUMN = 'scope'
/** Fields of role assignments. */
const ASSIGNMENT_COLUMNS = ['principalId', 'roleDefinitionName']
/** The reason for the status. */
const REASON_COLUMN = 'statusMessage'
const COLUMNS_MAX = 7
const CELL_MAX = 60

/** Renders one value or a list, with a final line break. */
export function renderRecords(value: unknown, format: Format, nameField: NameField = 'name'): string {
  switch (format) {
    case 'name':
      return (Array.isArray(value) ? value : [value])
        .map((item) => printable(nameOf(item, nameField)))
        .map((name) => (name === '' ? '' : `${name}\n`))
        .join('')
    case 'wide':
      return Array.isArray(value) ? listTable(value, nameField, Number.POSITIVE_INFINITY) : recordTable(value)
    case 'json':
      return `${JSON.stringify(value ?? null, null, 2)}\n`
    case 'yaml':
      return dump(value ?? null, { lineWidth: 120, noRefs: true })
    case 'table':
      return Array.isArray(value) ? listTable(value, nameField) : recordTable(value)
  }
}

function nameOf(item: unknown, nameField: NameField): string {
  if (!isRecord(item)) return String(item)
  return String(item[nameField] ?? item.name ?? item.id ?? '')
}

/** @param maxColumns maximum number of columns; without a limit, cells are not shortened either */
function listTable(items: readonly unknown[], nameField: NameField, maxColumns: number = COLUMNS_MAX): string {
  if (items.length === 0) return ''
  const longest = maxColumns === COLUMNS_MAX ? CELL_MAX : Number.POSITIVE_INFINITY
  if (!items.every(isRecord)) return table(items.map((item) => [cell(item, longest)]))
  const columns = columnsOf(items, nameField, maxColumns)
  return table([
    columns.map(heading),
    ...items.map((item) => columns.map((column) => columnCell(column, item[column], longest))),
  ])
}

/** Renders a record with a line per field, and long values below. Only long lists are shortened. */
function recordTable(value: unknown): string {
  if (!isRecord(value)) return value === undefined || value === null ? '' : `${printable(String(value))}\n`
  const fields = Object.entries(value)
  const cells = fields.map(([name, content]) => [name, isLong(content) ? '' : recordCell(content)])
  const lines = table(cells).split('\n')
  return fields.map(([, content], at) => `${lines[at]}\n${isLong(content) ? below(content) : ''}`).join('')
}

const isLong = (value: unknown) =>
  typeof value === 'object' && !isLongList(value) && JSON.stringify(value).length > CELL_MAX

function below(content: unknown): string {
  const lines = dump(content, { lineWidth: -1, noRefs: true }).trimEnd().split('\n')
  return lines.map((line) => `  ${printable(line)}\n`).join('')
}

const LISTED_MAX = 10

const isLongList = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.length > LISTED_MAX && value.every((item) => typeof item === 'string')

function recordCell(value: unknown): string {
  if (!isLongList(value)) return cell(value, Number.POSITIVE_INFINITY)
  const first = value.slice(0, LISTED_MAX).join(', ')
  return `${printable(first)}, … (${value.length}; -o yaml shows all)`
}

export function columnsOf(
  items: readonly Record<string, unknown>[],
  nameField: NameField = 'name',
  maxColumns: number = COLUMNS_MAX,
): string[] {
  const isPlain = (name: string) => items.every((item) => typeof (item[name] ?? '') !== 'object')
  const isUsed = (name: string) => items.some((item) => (item[name] ?? '') !== '')
  const names = [...new Set(items.flatMap((item) => Object.keys(item)))]
  // Scopes matter only for role assignments.
  const isShown = (name: string) =>
    !HIDDEN_COLUMNS.has(name) && (name !== SCOPE_COLUMN || ASSIGNMENT_COLUMNS.some((each) => names.includes(each)))
  const isSame = (name: string) =>
    name !== 'id' && items.every((item) => item.id !== undefined && item[name] === item.id)
  const isWanted = (name: string) => isShown(name) && name !== REASON_COLUMN && !(name.endsWith('Id') && isSame(name))
  const usable = names.filter((name) => isPlain(name) && isUsed(name) && isWanted(name))
  // Hides the id if commands take the name.
  const isNamed = usable.includes('name') && !usable.includes('displayName') && nameField === 'name'
  const hidden = isNamed ? ['id'] : []
  const first = PREFERRED_COLUMNS.filter((name) => usable.includes(name) && !hidden.includes(name))
  const others = usable.filter((name) => !first.includes(name) && !hidden.includes(name))
  // The reason is long, so it is the last column, and only in wide tables.
  const reason =
    maxColumns === Number.POSITIVE_INFINITY && names.includes(REASON_COLUMN) && isUsed(REASON_COLUMN)
      ? [REASON_COLUMN]
      : []
  return [...[...first, ...others].slice(0, maxColumns), ...reason]
}

/** For example RESOURCE GROUP for `resourceGroup`. */
const heading = (name: string) => printable(name.replaceAll(/([a-z])([A-Z])/g, '$1 $2').toUpperCase())

/** Shortens scopes at their beginning, because they differ at the end. */
function columnCell(column: string, value: unknown, longest: number): string {
  const text = cell(value, Number.POSITIVE_INFINITY)
  if (column !== SCOPE_COLUMN || text.length <= longest) return cell(value, longest)
  return `…${text.slice(1 - longest)}`
}

function cell(value: unknown, longest = CELL_MAX): string {
  if (value === undefined || value === null) return '-'
  const text = printable(typeof value === 'object' ? JSON.stringify(value) : String(value))
  return text.length > longest ? `${text.slice(0, longest - 1)}…` : text
}

/** Replaces control and invisible characters: tenants could otherwise send escape sequences to the terminal. */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, '�')
}

/** Aligns the cells of rows in columns, two spaces apart. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = []
  for (const row of rows) {
    for (const [index, text] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, [...text].length)
  }
  const pad = (text: string, width: number) => text + ' '.repeat(Math.max(0, width - [...text].length))
  return rows
    .map(
      (row) =>
        `${row
          .map((text, index) => pad(text, widths[index] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('')
}
