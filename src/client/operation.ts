/** What the table says of one operation. */
export type Operation = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With parameters in braces. */
  readonly path: string
  /** Names of the parameters of its query. */
  readonly query?: readonly string[]
  readonly paged?: true
  /** Shows or changes data and secrets, not only what is wanted. */
  readonly isData?: true
  /** Refused without one: something in the body has no default. */
  readonly needsBody?: true
  /** Its body is bytes or a form. */
  readonly isRaw?: true
  /** Of its answers, where they are not JSON: logs, files, archives. */
  readonly media?: string
  /** Those that the record of one thing may have. */
  readonly statuses?: readonly string[]
}

/** What people call it by, and what is done with it: `vectorClusters.create`. */
type Named = { readonly name: string }

/** A row of the table, with what only the compiler knows of it. */
export const of =
  <Body = unknown, Reply = unknown>() =>
  <const Row extends Operation & Named>(row: Row): Row & { readonly types?: { body: Body; reply: Reply } } =>
    row
