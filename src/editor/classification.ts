/** What a statement does, from weakest to strongest. A batch has the kind of its strongest statement. */
export const STATEMENT_KINDS = ['Read', 'Write', 'Ddl', 'Transaction', 'Admin', 'Unknown'] as const
export type StatementKind = (typeof STATEMENT_KINDS)[number]

export type Statement = {
  index: number
  kind: StatementKind
  /** As sent to the engine: without comments, with parameters in the engine's syntax. */
  text: string
  /** Parameter names by position; a name is repeated if the engine's parameters are not numbered. */
  parameters: readonly string[]
  tables: readonly string[]
  /** Drops something, or changes every row of a table. */
  isDestructive: boolean
  /**
   * Reveals or compares stored values, so callers without read access must not run it. Includes schema changes other
   * than a drop or plain CREATE TABLE: the engine uses stored values as the owner, and its errors quote them.
   */
  reads: boolean
  /** Why it is refused; undefined if it may run. */
  refusal?: string
}

export type Classification = { statements: readonly Statement[]; kind: StatementKind }

/** The rights in the editor, each including the weaker ones in the engine. They decide the login of a batch. */
export type SqlLevel = 'reader' | 'writer' | 'owner'

/** Returns the level that a kind of statement needs; undefined for kinds that never run. */
export function levelOf(kind: StatementKind): SqlLevel | undefined {
  if (kind === 'Read') return 'reader'
  if (kind === 'Write') return 'writer'
  return kind === 'Ddl' ? 'owner' : undefined
}

export function strongest(kinds: Iterable<StatementKind>): StatementKind {
  let found = 0
  for (const kind of kinds) found = Math.max(found, STATEMENT_KINDS.indexOf(kind))
  return STATEMENT_KINDS[found] ?? 'Unknown'
}

/** Returns whether the caller must confirm: a schema change, a drop, or a write to every row. */
export function needsConfirmation({ statements }: Classification): boolean {
  return statements.some(({ kind, isDestructive }) => kind === 'Ddl' || isDestructive)
}

/** The verdict of a dialect's parser on one statement. */
export type StatementClassification = {
  kind: StatementKind
  tables: string[]
  isDestructive: boolean
  reads: boolean
  refusal?: string
}

export function refusedStatement(
  kind: 'Admin' | 'Transaction' | 'Unknown',
  refusal: string,
  tables: string[] = [],
): StatementClassification {
  return { kind, tables, isDestructive: false, reads: false, refusal }
}

/** Classifies a batch that could not be split into statements. */
export function unsplitBatch(text: string, verdict: StatementClassification): Classification {
  return { statements: [{ index: 0, text, parameters: [], ...verdict }], kind: verdict.kind }
}
