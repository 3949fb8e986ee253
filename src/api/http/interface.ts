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
  readonly answers: readonly number[]
}

const keyOf = ({ method, path }: Pick<InterfaceRow, 'method' | 'path'>) => `${method} ${path}`
const ROWS = new Map((table.routes as readonly InterfaceRow[]).map((row) => [keyOf(row), row]))

/** Returns the row of a route by its expanded path; undefined if the interface has none. */
export function interfaceRow(route: Pick<InterfaceRow, 'method' | 'path'>): InterfaceRow | undefined {
  return ROWS.get(keyOf(route))
}
