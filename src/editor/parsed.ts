import { createRequire } from 'node:module'
import { inverted } from '../core/inverted.ts'
import { type Judgement, refused, type StatementKind } from './classification.ts'
import type { Token } from './lexer.ts'
import { mayRead } from './plainFunctions.ts'

/** `node-sql-parser` is built once for each dialect, in CommonJS. */
type Parser = { astify(sql: string, options: object): unknown; tableList(sql: string, options: object): string[] }
type Node = Record<string, unknown>

const BUILDS = {
  mariadb: { file: 'node-sql-parser/build/mariadb.js', name: 'mariadb', engine: 'MariaDB' },
  mssql: { file: 'node-sql-parser/build/transactsql.js', name: 'transactsql', engine: 'SQL Server' },
} as const
type Parsed = keyof typeof BUILDS

/** Statements that are never run, by their first words: the parsers do not read all of them. */
const ADMINISTERS: Readonly<Record<Parsed, RegExp>> = {
  mariadb:
    /^(shutdown|kill|flush|purge|reset|install|uninstall|backup|change master|(start|stop) (all )?(slave|replica)\w*|show (grants|create user)|(create|alter|drop|rename) (or replace )?(user|role|server))\b/,
  mssql:
    /^(backup|restore|shutdown|dbcc|kill|reconfigure|deny|bulk insert|checkpoint|(create|alter|drop) (login|credential|endpoint|server)|exec(ute)? (\w+ )*(xp_|sp_(configure|\w*(login|srvrole|server)))\w*)\b/,
}
const TRANSACTS: Readonly<Record<Parsed, RegExp>> = {
  mariadb: /^(start transaction|begin|commit|rollback|savepoint|release savepoint|xa)\b/,
  mssql: /^(begin (distributed )?tran(saction)?|commit|rollback|save tran(saction)?)\b/,
}
const ADMINISTERING = 'It administers the server.'
const TRANSACTING = 'A batch is one transaction of its own, which it cannot end or divide.'

const KINDS = inverted<StatementKind>({
  Read: 'select union show desc describe explain',
  Write: 'insert replace update delete',
  Ddl: 'create alter drop rename truncate',
  Transaction: 'transaction',
  Admin: 'set use lock unlock grant revoke load_data',
  Unknown: 'declare',
})

/** What a statement of a kind begins with. A parser that sees another kind than the reader is not believed. */
const FIRST_WORDS: Readonly<Record<'Read' | 'Write' | 'Ddl', RegExp>> = {
  Read: /^(select|with|show|desc|describe|explain|\()$/i,
  Write: /^(insert|replace|update|delete|with)$/i,
  Ddl: /^(create|alter|drop|rename|truncate|select|with)$/i,
}

/** What may be made, altered and dropped: things without a body of code, which the parser reads to the end. */
const MADE = /^(table|index|view|sequence|unique|unique index|fulltext index|temporary table)$/i

/** Functions and sources that reach the server's files or other servers. */
const SERVER_WORDS =
  /^(load_file|sys_exec|sys_eval|sys_get|sys_set|benchmark|openrowset|openquery|opendatasource|openxml|xp_\w+|sp_\w+|fn_my_permissions|fn_xe_file_\w+|fn_get_audit_file|fn_trace_\w+|dm_os_(file|enumerate)_?\w+|outfile|dumpfile)$/i

/**
 * T-SQL needs no semicolon between statements. All of these are reserved words there, so none can be a bare name in a
 * statement, whatever it does.
 */
const NEVER_BARE =
  /^(exec|execute|merge|drop|create|alter|truncate|grant|revoke|deny|backup|restore|shutdown|waitfor|dbcc|use|kill|bulk|reconfigure|commit|rollback|save|begin|declare|goto|while|if|print|raiserror|throw|writetext|updatetext|readtext|go|checkpoint|revert|setuser|return|receive|dump|load|open|close|deallocate|break|continue|lineno|securityaudit)$/i
/** In a statement that only reads, none of the verbs of those that write either. */
const WRITING_WORDS = /^(insert|update|delete|set)$/i

/** Tables of MariaDB that are elsewhere, in files of one's choice, or made in the name of somebody else. */
const ELSEWHERE =
  /\bengine\s*=?\s*[`'"]?(federated|federatedx|spider|connect|s3)\b|\b(data|index)\s+directory\b|\bdefiner\s*=|\b(?:to|table|view|from)\s+`?(mysql|sys|performance_schema|information_schema)`?\s*\./i

export function loadJudge(dialect: Parsed): (text: string, piece: readonly Token[]) => Judgement {
  const { file, name, engine } = BUILDS[dialect]
  const library = createRequire(import.meta.url)(file) as { Parser: new () => Parser }
  const parser = new library.Parser()
  return (text, piece) => {
    const words = wordsOf(piece)
    if (ADMINISTERS[dialect].test(words)) return refused('Admin', ADMINISTERING)
    if (TRANSACTS[dialect].test(words)) return refused('Transaction', TRANSACTING)
    try {
      const tree = parser.astify(text, { database: name })
      const [only, ...more] = Array.isArray(tree) ? (tree as unknown[]) : [tree]
      if (only === undefined || more.length > 0) return refused('Unknown', 'It cannot be read as one statement.')
      return judge(dialect, only as Node, piece, tablesOf(parser, text, name))
    } catch {
      return refused('Unknown', `It cannot be read as SQL of ${engine}.`)
    }
  }
}

function tablesOf(parser: Parser, text: string, database: string): string[] {
  const found = parser.tableList(text, { database }).flatMap((entry) => {
    const [, schema, table] = entry.split('::')
    if (table === undefined || table === 'null') return []
    return [schema === undefined || schema === 'null' ? table : `${schema}.${table}`]
  })
  return [...new Set(found)].sort()
}

function judge(dialect: Parsed, tree: Node, piece: readonly Token[], tables: string[]): Judgement {
  const kind = typeof tree?.type === 'string' ? KINDS[tree.type.toLowerCase()] : undefined
  const server = wordsAndCalls(piece).find(({ text }) => SERVER_WORDS.test(text))
  if (server !== undefined) return refused('Admin', `${server.text} is for administrators.`, tables)
  if (kind === undefined || kind === 'Unknown')
    return refused('Unknown', 'Statements of this kind are not supported.', tables)
  if (kind === 'Admin') return refused('Admin', ADMINISTERING, tables)
  if (kind === 'Transaction') return refused('Transaction', TRANSACTING, tables)
  if (dialect === 'mariadb' && kind === 'Ddl' && ELSEWHERE.test(textOf(piece)))
    return refused('Admin', ADMINISTERING, tables)
  const into = intoOf(tree)
  const weighed =
    kind === 'Read' && into === 'table'
      ? 'Ddl'
      : kind === 'Read' && (locks(tree) || holds(dialect, piece))
        ? 'Write'
        : kind
  if (into === 'elsewhere') return refused('Unknown', 'A query cannot write its result anywhere.', tables)
  if (isTwofold(dialect, kind as 'Read', piece)) return refused('Unknown', 'It is ambiguous.', tables)
  if (kind === 'Ddl' && !MADE.test(subjectOf(tree)))
    return refused('Unknown', 'Only tables, indexes, views and sequences can be created, altered and dropped.', tables)
  const isDestructive = destroys(tree, kind, piece)
  return { kind: weighed, tables, isDestructive, reads: reads(tree, weighed, piece, tables) }
}

/** What a change of schema is about. Of these statements the parsers name none where it is a table. */
function subjectOf({ type, keyword, table }: Node): string {
  const isTable = type === 'truncate' || type === 'rename' || (type === 'alter' && Array.isArray(table))
  return String(keyword ?? (isTable ? 'table' : ''))
}

/** Without comments and texts, which may say anything. */
function textOf(piece: readonly Token[]): string {
  return piece.map(({ kind, text }) => (kind === 'comment' ? ' ' : kind === 'string' ? "''" : text)).join('')
}

/** Whether a reader of words sees another kind of statement than the parser does. */
function isTwofold(dialect: Parsed, kind: 'Read' | 'Write' | 'Ddl', piece: readonly Token[]): boolean {
  if (!FIRST_WORDS[kind].test(piece[0]?.text ?? '')) return true
  if (dialect !== 'mssql' || kind === 'Ddl') return false
  const isNever = (text: string) => NEVER_BARE.test(text) || (kind === 'Read' && WRITING_WORDS.test(text))
  return piece.some(({ kind: word, text }) => word === 'word' && isNever(text))
}

function intoOf(tree: Node): 'table' | 'elsewhere' | undefined {
  let found: 'table' | 'elsewhere' | undefined
  walk(tree, (node) => {
    const into = node.into as Node | undefined | null
    if (node.type !== 'select' || typeof into !== 'object' || into === null) return
    if (into.expr === undefined && into.keyword === undefined) return
    const isTable = into.keyword === undefined && !String(into.expr).startsWith('@')
    found = found === 'elsewhere' || !isTable ? 'elsewhere' : 'table'
  })
  return found
}

/** Words of a write that looks at stored values, as far as the parser may drop them. */
const READING_WORDS = /^(select|table|with|where|returning|output|using|join|order|limit|top|duplicate)$/i

/** What lets a new table show what others hold: expressions, which may call anything, rows of a query, keys of another table. */
const BRINGING_WORDS = /^(default|check|generated|references|partition|like|select|as|with)$/i

function makesPlainTable(tree: Node, piece: readonly Token[]): boolean {
  const brings = piece.some(({ kind, text }) => kind === 'word' && BRINGING_WORDS.test(text))
  return tree.type === 'create' && subjectOf(tree) === 'table' && !brings
}

/** Whether a statement shows or compares what is stored. */
function reads(tree: Node, kind: StatementKind, piece: readonly Token[], tables: readonly string[]): boolean {
  if (kind === 'Read') return true
  if (kind === 'Ddl') return !/^(drop|truncate)$/i.test(piece[0]?.text ?? '') && !makesPlainTable(tree, piece)
  // Which rows of one table change follows from what is in the other.
  let found = tables.length > 1 || piece.some(({ kind: word, text }) => word === 'word' && READING_WORDS.test(text))
  walk(tree, ({ type, column, name }) => {
    if (type === 'function' && isForeign(name as Node)) found = true
    // SQL Server's parser takes a parameter for a column.
    if (type === 'column_ref' && !(typeof column === 'string' && column.startsWith('@'))) found = true
  })
  return found
}

function isForeign({ name, schema }: Node): boolean {
  const [word, ...more] = Array.isArray(name) ? (name as { value?: unknown }[]) : []
  return more.length > 0 || mayRead(String(word?.value), schema === undefined || schema === null ? undefined : '')
}

function locks(tree: Node): boolean {
  let found = false
  walk(tree, (node) => {
    if (node.locking_read !== undefined && node.locking_read !== null) found = true
  })
  return found
}

/** Hints of SQL Server whose locks outlast the reading of a row. */
const HOLDING_HINTS = /^(xlock|updlock|tablock|tablockx|holdlock|serializable|repeatableread)$/i
/** Functions of MariaDB that hold others up, or change what others see. */
const HOLDING_FUNCTIONS =
  /^(get_lock|release_lock|release_all_locks|sleep|nextval|setval|master_pos_wait|master_gtid_wait)$/i

function holds(dialect: Parsed, piece: readonly Token[]): boolean {
  return wordsAndCalls(piece).some(({ text, next }) => {
    if (/^next$/i.test(text) && /^value$/i.test(next)) return true
    return dialect === 'mssql' ? HOLDING_HINTS.test(text) : next === '(' && HOLDING_FUNCTIONS.test(text)
  })
}

/**
 * The bare words, and the quoted names that are called: quotes do not make another function of one. `next` is what comes
 * behind, but for spaces and comments.
 */
function wordsAndCalls(piece: readonly Token[]): { text: string; next: string }[] {
  const shown = piece.filter(({ kind }) => kind !== 'space' && kind !== 'comment')
  return shown.flatMap(({ kind, text }, index) => {
    const next = shown[index + 1]?.text ?? ''
    if (kind === 'word') return [{ text, next }]
    return kind === 'identifier' && next === '(' ? [{ text: text.replace(/^[`"[]|[`"\]]$/g, ''), next }] : []
  })
}

/** The first words of a statement, in lower case. */
function wordsOf(piece: readonly Token[]): string {
  const words = piece.filter(({ kind }) => kind === 'word').slice(0, 4)
  return words.map(({ text }) => text.toLowerCase()).join(' ')
}

function destroys(tree: Node, kind: StatementKind, piece: readonly Token[]): boolean {
  if (kind === 'Ddl') return piece.some(({ kind: word, text }) => word === 'word' && /^(drop|truncate)$/i.test(text))
  return (tree.type === 'update' || tree.type === 'delete') && (tree.where === undefined || tree.where === null)
}

function walk(root: unknown, visit: (node: Node) => void): void {
  const waiting: unknown[] = [root]
  while (waiting.length > 0) {
    const node = waiting.pop()
    if (typeof node !== 'object' || node === null) continue
    visit(node as Node)
    waiting.push(...Object.values(node))
  }
}
