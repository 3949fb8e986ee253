import table from './interface.json' with { type: 'json' }

/** The declaration of one route in the interface. */
export type InterfaceRow = {
  readonly area: string
  readonly method: string
  readonly path: string
  readonly auth: string
  readonly action?: string
  readonly dataAction?: boolean
  readonly scope?: string
  readonly operation?: string
  readonly query?: readonly { readonly name: string; readonly type: string; readonly required: boolean }[]
  /** The name of the record. */
  readonly body?: string
  readonly answers: readonly number[]
}

export const INTERFACE_ROWS: readonly InterfaceRow[] = table.routes

const keyOf = ({ method, path }: Pick<InterfaceRow, 'method' | 'path'>) => `${method} ${path}`
const ROWS = new Map(INTERFACE_ROWS.map((row) => [keyOf(row), row]))

/** The row of a route, its path written out; undefined if the interface has none. */
export function interfaceRow(route: Pick<InterfaceRow, 'method' | 'path'>): InterfaceRow | undefined {
  return ROWS.get(keyOf(route))
}
