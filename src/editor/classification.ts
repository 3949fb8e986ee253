/** What a statement does, weakest first: a batch is as strong as its strongest statement. */
export const STATEMENT_KINDS = ['Read', 'Write', 'Ddl', 'Transaction', 'Admin', 'Unknown'] as const
export type StatementKind = (typeof STATEMENT_KINDS)[number]

export type Statement = {
  index: number
  kind: StatementKind
  /** As it is sent to the engine: without comments, parameters in the engine's own form. */
  text: string
  /** Names of the parameters in the order of their places; a name may come twice where places are not numbered. */
  parameters: readonly string[]
  tables: readonly string[]
  /** Drops something, or changes every row of a table. */
  isDestructive: boolean
  /**
   * Shows or compares what is stored, whatever else it does: who may not read rows must not by it. So does each change of
   * schema but a removal and a plain new table: as the owner, the engine converts, checks and computes with stored values, and its error quotes them.
   */
  reads: boolean
  /** Why it will not be run; undefined if it may. */
  refusal?: string
}

export type Classification = { statements: readonly Statement[]; kind: StatementKind }

/** The rights of the editor, each including the weaker ones at the engine: which login a batch is run under. */
export type SqlLevel = 'reader' | 'writer' | 'owner'

/** What a kind of statement needs; undefined for kinds that are never run. */
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

/** Whether somebody must say that they mean it: a change of schema, a drop, a write to every row. */
export function needsConfirmation({ statements }: Classification): boolean {
  return statements.some(({ kind, isDestructive }) => kind === 'Ddl' || isDestructive)
}

/** What one dialect's parser says about one statement. */
export type Judgement = {
  kind: StatementKind
  tables: string[]
  isDestructive: boolean
  reads: boolean
  refusal?: string
}

export function refused(kind: 'Admin' | 'Transaction' | 'Unknown', refusal: string, tables: string[] = []): Judgement {
  return { kind, tables, isDestructive: false, reads: false, refusal }
}

/** Of a batch whose statements could not be told apart. */
export function unread(text: string, judgement: Judgement): Classification {
  return { statements: [{ index: 0, text, parameters: [], ...judgement }], kind: judgement.kind }
}
