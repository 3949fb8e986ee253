/** The table's description of one operation. */
export type Operation = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With parameters in braces. */
  readonly path: string
  /** Names of its query parameters. */
  readonly query?: readonly string[]
  readonly paged?: true
  /** Reads or changes data or secrets, rather than desired state. */
  readonly isData?: true
  /** Requires a body, because it has fields without a default. */
  readonly needsBody?: true
  /** The body is binary or a form. */
  readonly isRaw?: true
  /** The media type of responses that are not JSON: logs, files, archives. */
  readonly media?: string
  /** The possible statuses of a single record. */
  readonly statuses?: readonly string[]
}

/** Noun and verb: `vectorClusters.create`. */
type Named = { readonly name: string }

/** Returns a row of the table, with the types of body and reply, which exist at compile time only. */
export const of =
  <Body = unknown, Reply = unknown>() =>
  <const Row extends Operation & Named>(row: Row): Row & { readonly types?: { body: Body; reply: Reply } } =>
    row
