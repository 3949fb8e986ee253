import type { Dialect } from './dialect.ts'

/**
 * Tokens of a batch; their joined texts are the batch. `trap` is text that one reader takes for a comment and another
 * for code (MariaDB executes `/*! *\/`); `broken` is the rest of the batch after an unclosed quote or comment.
 */
export type TokenKind =
  | 'word'
  | 'number'
  | 'string'
  | 'identifier'
  | 'parameter'
  | 'comment'
  | 'space'
  | 'symbol'
  | 'trap'
  | 'broken'
export type Token = { kind: TokenKind; text: string }

type Rule = { kind: TokenKind; pattern: RegExp }

const SPACE: Rule = { kind: 'space', pattern: /\s+/y }
const LINE_COMMENT: Rule = { kind: 'comment', pattern: /--[^\n\r]*/y }
const NUMBER: Rule = { kind: 'number', pattern: /0[xX][0-9a-fA-F]+|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y }
const WORD: Rule = { kind: 'word', pattern: /[A-Za-z_\u0080-\uffff][A-Za-z0-9_$\u0080-\uffff]*/y }
const NAMED: Rule = { kind: 'parameter', pattern: /@[A-Za-z_][A-Za-z0-9_]*/y }
const DOUBLED = (quote: string): RegExp => new RegExp(`${quote}(?:[^${quote}]|${quote}${quote})*${quote}`, 'y')

/** In the order in which they are tried. Nested comments and dollar quotes are scanned by hand. */
const RULES: Record<Dialect, readonly Rule[]> = {
  postgresql: [
    SPACE,
    LINE_COMMENT,
    { kind: 'string', pattern: /[eE]'(?:[^'\\]|\\[\s\S]|'')*'/y },
    { kind: 'string', pattern: /(?:[nNbBxX]|[uU]&)?'(?:[^']|'')*'/y },
    { kind: 'identifier', pattern: /[uU]&"(?:[^"]|"")*"/y },
    { kind: 'identifier', pattern: DOUBLED('"') },
    { kind: 'parameter', pattern: /\$\d+/y },
    NUMBER,
    WORD,
    NAMED,
  ],
  mariadb: [
    SPACE,
    { kind: 'comment', pattern: /--(?=[\s\p{Cc}]|$)[^\n]*|#[^\n]*/uy },
    { kind: 'string', pattern: /(?:[nNbBxX])?'(?:[^'\\]|\\[\s\S]|'')*'/y },
    { kind: 'string', pattern: /"(?:[^"\\]|\\[\s\S]|"")*"/y },
    { kind: 'identifier', pattern: DOUBLED('`') },
    NUMBER,
    WORD,
    NAMED,
    { kind: 'parameter', pattern: /\?/y },
  ],
  mssql: [
    SPACE,
    LINE_COMMENT,
    { kind: 'string', pattern: /[nN]?'(?:[^']|'')*'/y },
    { kind: 'identifier', pattern: DOUBLED('"') },
    { kind: 'identifier', pattern: /\[(?:[^\]]|\]\])*\]/y },
    NUMBER,
    { kind: 'word', pattern: /[A-Za-z_#\u0080-\uffff][A-Za-z0-9_$#@\u0080-\uffff]*|@@[A-Za-z0-9_$#@]+/y },
    { kind: 'parameter', pattern: /@[A-Za-z_][A-Za-z0-9_$#]*/y },
  ],
}

/** Openers of quotes. If no rule matched here, the quote is not closed. */
const OPENERS: Record<Dialect, RegExp> = { postgresql: /['"]/, mariadb: /['"`]/, mssql: /['"[]/ }

/**
 * Splits a batch into tokens like the engine's lexer. Never throws: unreadable text becomes one `broken` token. Returns
 * undefined if there are more than `max` tokens.
 */
export function tokensOf(dialect: Dialect, sql: string): Token[]
export function tokensOf(dialect: Dialect, sql: string, max: number): Token[] | undefined
export function tokensOf(dialect: Dialect, sql: string, max = Number.POSITIVE_INFINITY): Token[] | undefined {
  const tokens: Token[] = []
  let at = 0
  while (at < sql.length) {
    if (tokens.length >= max) return undefined
    const token = tokenAt(dialect, sql, at, tokens.at(-1))
    tokens.push(token)
    at += token.text.length
  }
  return tokens
}

function tokenAt(dialect: Dialect, sql: string, at: number, before: Token | undefined): Token {
  const broken: Token = { kind: 'broken', text: sql.slice(at) }
  // Engines disagree on whether NUL ends a statement; no legitimate batch contains one.
  if (sql[at] === '\0') return broken
  if (sql.startsWith('/*', at)) return blockComment(dialect, sql, at) ?? broken
  if (dialect === 'postgresql' && sql[at] === '$' && before?.kind !== 'word') {
    const tag = /\$(?:[A-Za-z_\u0080-\uffff][A-Za-z0-9_\u0080-\uffff]*)?\$/y
    tag.lastIndex = at
    const quote = tag.exec(sql)?.[0]
    if (quote !== undefined) {
      const end = sql.indexOf(quote, at + quote.length)
      return end < 0 ? broken : { kind: 'string', text: sql.slice(at, end + quote.length) }
    }
  }
  for (const { kind, pattern } of RULES[dialect]) {
    pattern.lastIndex = at
    const text = pattern.exec(sql)?.[0]
    if (text === undefined || text === '') continue
    // `<@` and `@@` are operators of PostgreSQL.
    if (dialect === 'postgresql' && kind === 'parameter' && /[<@]$/.test(before?.text ?? '')) continue
    return { kind, text }
  }
  if (OPENERS[dialect].test(sql[at] ?? '')) return broken
  return { kind: 'symbol', text: sql[at] ?? '' }
}

function blockComment(dialect: Dialect, sql: string, at: number): Token | undefined {
  if (dialect === 'mariadb') {
    const end = sql.indexOf('*/', at + 2)
    if (end < 0) return undefined
    const text = sql.slice(at, end + 2)
    return { kind: /^\/\*M?!/.test(text) ? 'trap' : 'comment', text }
  }
  const delimiter = /\/\*|\*\//g
  delimiter.lastIndex = at + 2
  let depth = 1
  for (let found = delimiter.exec(sql); found !== null; found = delimiter.exec(sql)) {
    depth += found[0] === '/*' ? 1 : -1
    if (depth === 0) return { kind: 'comment', text: sql.slice(at, delimiter.lastIndex) }
  }
  return undefined
}

/**
 * Returns the statements of a batch, split at semicolons outside parentheses, without empty ones. Comments become a
 * space, and in MariaDB `--` is split, so that another parser does not see a comment where the engine sees none.
 */
export function statementsOf(dialect: Dialect, tokens: readonly Token[]): Token[][] {
  const statements: Token[][] = [[]]
  let depth = 0
  for (const token of tokens) {
    const statement = statements.at(-1) as Token[]
    if (token.kind === 'symbol' && token.text === '(') depth += 1
    if (token.kind === 'symbol' && token.text === ')') depth -= 1
    if (token.kind === 'symbol' && token.text === ';' && depth <= 0) {
      statements.push([])
      depth = 0
    } else if (token.kind === 'comment') statement.push({ kind: 'space', text: ' ' })
    else {
      if (dialect === 'mariadb' && token.text === '-' && statement.at(-1)?.text === '-')
        statement.push({ kind: 'space', text: ' ' })
      statement.push(token)
    }
  }
  return statements.map(trimmed).filter((statement) => statement.length > 0)
}

function trimmed(statement: Token[]): Token[] {
  const isContent = ({ kind }: Token) => kind !== 'space'
  const first = statement.findIndex(isContent)
  return first < 0 ? [] : statement.slice(first, statement.findLastIndex(isContent) + 1)
}
