import {
  type Classification,
  type Judgement,
  refused,
  type Statement,
  type StatementKind,
  strongest,
  unread,
} from './classification.ts'
import { DIALECTS, type Dialect } from './dialect.ts'
import { statementsOf, type Token, tokensOf } from './lexer.ts'

/** Statements of a batch; more is a script, which is not what an editor is for. */
const STATEMENTS_MAX = 200
/** Words and signs of a batch: parsers take time and memory with their number, and a batch of an editor is far below. */
const TOKENS_MAX = 20_000
/** Deeper nesting is an attack on a parser. */
const DEPTH_MAX = 100

/**
 * Says of each statement of a batch what it does, by the engine's grammar. What cannot be read, or could be read in two
 * ways, is `Unknown` and never run. Says nothing of whether anybody may.
 *
 * @param parameters names that `@name` in the batch may mean; other uses stay as they are
 */
export async function classify(
  dialect: Dialect,
  sql: string,
  parameters: ReadonlySet<string> = new Set(),
): Promise<Classification> {
  const tokens = tokensOf(dialect, sql, TOKENS_MAX)
  if (tokens === undefined) return unread(sql, refused('Unknown', `A batch has at most ${TOKENS_MAX} words and signs.`))
  const obstacle = obstacleIn(tokens)
  if (obstacle !== undefined) return unread(sql, refused('Unknown', obstacle))
  const pieces = statementsOf(dialect, tokens)
  if (pieces.length === 0) return unread(sql, refused('Unknown', 'It contains no statement.'))
  if (pieces.length > STATEMENTS_MAX)
    return unread(sql, refused('Unknown', `A batch has at most ${STATEMENTS_MAX} statements.`))
  const judge = await judgeOf(dialect)
  const statements: Statement[] = pieces.map((piece, index) => {
    const bound = bind(dialect, piece, parameters)
    return { index, ...bound, ...alone(dialect, judge(bound.text, piece), pieces.length) }
  })
  return { statements, kind: strongest(statements.map(({ kind }): StatementKind => kind)) }
}

/** MariaDB ends the transaction at each change of schema: what stood before it could not be undone any more. */
function alone(dialect: Dialect, judgement: Judgement, count: number): Judgement {
  if (dialect !== 'mariadb' || judgement.kind !== 'Ddl' || count === 1) return judgement
  return {
    ...judgement,
    refusal: 'A change of schema ends the transaction in MariaDB, so it must be alone in its batch.',
  }
}

function obstacleIn(tokens: readonly Token[]): string | undefined {
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

type Judge = (text: string, piece: readonly Token[]) => Judgement
const judges = new Map<Dialect, Promise<Judge>>()

/** Parsers are large: each is loaded once, when the first batch of its dialect comes. */
function judgeOf(dialect: Dialect): Promise<Judge> {
  const known = judges.get(dialect)
  if (known !== undefined) return known
  const loading = loadJudge(dialect)
  judges.set(dialect, loading)
  loading.catch(() => judges.delete(dialect))
  return loading
}

async function loadJudge(dialect: Dialect): Promise<Judge> {
  if (dialect === 'postgresql') return (await import('./postgresql.ts')).loadJudge()
  return (await import('./parsed.ts')).loadJudge(dialect)
}

/** Before the first batch comes. A parser's first statement takes as long as its loading. */
export async function loadParsers(): Promise<void> {
  for (const dialect of DIALECTS) await classify(dialect, 'select 1')
}

/** Puts the engine's own form of a parameter where `@name` stands. SQL Server has that form already. */
function bind(
  dialect: Dialect,
  piece: readonly Token[],
  names: ReadonlySet<string>,
): { text: string; parameters: string[] } {
  const parameters: string[] = []
  const words = piece.map((token) => {
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
