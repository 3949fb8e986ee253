import {
  type Classification,
  refusedStatement,
  type Statement,
  type StatementClassification,
  type StatementKind,
  strongest,
  unsplitBatch,
} from './classification.ts'
import { DIALECTS, type Dialect } from './dialect.ts'
import { statementsOf, type Token, tokensOf } from './lexer.ts'

/** The most statements in a batch. Longer scripts do not belong in an editor. */
const STATEMENTS_MAX = 200
/** The most tokens in a batch, far above real ones, to bound the time and memory of the parsers. */
const TOKENS_MAX = 20_000
/** Deeper nesting is an attack on the parser. */
const DEPTH_MAX = 100

/**
 * Determines what each statement of a batch does, by the grammar of the engine. An unreadable or ambiguous statement is
 * `Unknown` and never runs. Does not check permissions.
 * @param parameters names that `@name` in the batch may refer to; other uses stay as they are
 */
export async function classify(
  dialect: Dialect,
  sql: string,
  parameters: ReadonlySet<string> = new Set(),
): Promise<Classification> {
  const tokens = tokensOf(dialect, sql, TOKENS_MAX)
  if (tokens === undefined)
    return unsplitBatch(sql, refusedStatement('Unknown', `A batch has at most ${TOKENS_MAX} words and signs.`))
  const obstacle = findObstacle(tokens)
  if (obstacle !== undefined) return unsplitBatch(sql, refusedStatement('Unknown', obstacle))
  const tokenLists = statementsOf(dialect, tokens)
  if (tokenLists.length === 0) return unsplitBatch(sql, refusedStatement('Unknown', 'It contains no statement.'))
  if (tokenLists.length > STATEMENTS_MAX)
    return unsplitBatch(sql, refusedStatement('Unknown', `A batch has at most ${STATEMENTS_MAX} statements.`))
  const judge = await judgeOf(dialect)
  const statements: Statement[] = tokenLists.map((statement, index) => {
    const bindings = bindParameters(dialect, statement, parameters)
    return { index, ...bindings, ...requireAlone(dialect, judge(bindings.text, statement), tokenLists.length) }
  })
  return { statements, kind: strongest(statements.map(({ kind }): StatementKind => kind)) }
}

/** MariaDB commits implicitly at each schema change, so the statements before it could not be rolled back. */
function requireAlone(dialect: Dialect, verdict: StatementClassification, count: number): StatementClassification {
  if (dialect !== 'mariadb' || verdict.kind !== 'Ddl' || count === 1) return verdict
  return {
    ...verdict,
    refusal: 'A change of schema ends the transaction in MariaDB, so it must be alone in its batch.',
  }
}

function findObstacle(tokens: readonly Token[]): string | undefined {
  let depth = 0
  for (const { kind, text } of tokens) {
    if (kind === 'broken') return 'A quote or comment is not closed.'
    if (kind === 'trap') return 'Comments that the engine executes are not allowed.'
    if (kind === 'symbol' && text === '(') depth += 1
    if (kind === 'symbol' && text === ')') depth -= 1
    if (depth > DEPTH_MAX) return `It is nested more than ${DEPTH_MAX} deep.`
  }
  return undefined
}

type Judge = (text: string, statement: readonly Token[]) => StatementClassification
const judges = new Map<Dialect, Promise<Judge>>()

/** Parsers are large, so each is loaded only when the first batch of its dialect arrives. */
function judgeOf(dialect: Dialect): Promise<Judge> {
  const known = judges.get(dialect)
  if (known !== undefined) return known
  const loading = loadJudge(dialect)
  judges.set(dialect, loading)
  loading.catch(() => judges.delete(dialect))
  return loading
}

async function loadJudge(dialect: Dialect): Promise<Judge> {
  if (dialect === 'postgresql') return (await import('./postgresql.ts')).loadPostgresClassifier()
  return (await import('./parserClassifier.ts')).loadClassifier(dialect)
}

/** Loads and warms up the parsers, because the first statement takes as long as loading does. */
export async function loadParsers(): Promise<void> {
  for (const dialect of DIALECTS) await classify(dialect, 'select 1')
}

/** Replaces `@name` by the engine's parameter syntax. SQL Server uses `@name` itself. */
function bindParameters(
  dialect: Dialect,
  statement: readonly Token[],
  names: ReadonlySet<string>,
): { text: string; parameters: string[] } {
  const parameters: string[] = []
  const words = statement.map((token) => {
    const name = token.text.slice(1)
    if (token.kind !== 'parameter' || !token.text.startsWith('@') || !names.has(name)) return token.text
    const known = parameters.indexOf(name)
    if (dialect === 'mariadb' || known < 0) parameters.push(name)
    if (dialect === 'mariadb') return '?'
    if (dialect === 'mssql') return token.text
    return `$${known < 0 ? parameters.length : known + 1}`
  })
  return { text: words.join(''), parameters }
}
