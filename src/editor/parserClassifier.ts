import { createRequire } from 'node:module'
import { inverted } from '../core/inverted.ts'
import { refusedStatement, type StatementClassification, type StatementKind } from './classification.ts'
import type { Token } from './lexer.ts'
import { mayReadStoredData } from './plainFunctions.ts'

/** `node-sql-parser` has a separate CommonJS build for each dialect. */
type Parser = { astify(sql: string, options: object): unknown; tableList(sql: string, options: object): string[] }
type Node = Record<string, unknown>

const PARSERS = {
  mariadb: { file: 'node-sql-parser/build/mariadb.js', name: 'mariadb', engine: 'MariaDB' },
  mssql: { file: 'node-sql-parser/build/transactsql.js', name: 'transactsql', engine: 'SQL Server' },
} as const
type ParsedDialect = keyof typeof PARSERS

/** First words of statements that never run. Needed because the parsers do not know all of these statements. */
const ADMINISTRATION: Readonly<Record<ParsedDialect, RegExp>> = {
  mariadb:
    /^(shutdown|kill|flush|purge|reset|install|uninstall|backup|change master|(start|stop) (all )?(slave|replica)\w*|show (grants|create user)|(create|alter|drop|rename) (or replace )?(user|role|server))\b/,
  mssql:
    /^(backup|restore|shutdown|dbcc|kill|reconfigure|deny|bulk insert|checkpoint|(create|alter|drop) (login|credential|endpoint|server)|exec(ute)? (\w+ )*(xp_|sp_(configure|\w*(login|srvrole|server)))\w*)\b/,
}
const TRANSACTION_CONTROL: Readonly<Record<ParsedDialect, RegExp>> = {
  mariadb: /^(start transaction|begin|commit|rollback|savepoint|release savepoint|xa)\b/,
  mssql: /^(begin (distributed )?tran(saction)?|commit|rollback|save tran(saction)?)\b/,
}
const ADMINISTRATION_REASON = 'It administers the server.'
const TRANSACTION_REASON = 'A batch is one transaction of its own, which it cannot end or divide.'

const KINDS = inverted<StatementKind>({
  Read: 'select union show desc describe explain',
  Write: 'insert replace update delete',
  Ddl: 'create alter drop rename truncate',
  Transaction: 'transaction',
  Admin: 'set use lock unlock grant revoke load_data',
  Unknown: 'declare',
})

/** First words by kind. If the parser sees another kind of statement than these suggest, the statement is refused. */
const FIRST_WORDS: Readonly<Record<'Read' | 'Write' | 'Ddl', RegExp>> = {
  Read: /^(select|with|show|desc|describe|explain|\()$/i,
  Write: /^(insert|replace|update|delete|with)$/i,
  Ddl: /^(create|alter|drop|rename|truncate|select|with)$/i,
}

/** What may be created, altered and dropped: objects without a code body, which the parsers understand completely. */
const PLAIN_OBJECTS = /^(table|index|view|sequence|unique|unique index|fulltext index|temporary table)$/i

/** Functions and sources that access the server's files or other servers. */
const SERVER_WORDS =
  /^(load_file|sys_exec|sys_eval|sys_get|sys_set|benchmark|openrowset|openquery|opendatasource|openxml|xp_\w+|sp_\w+|fn_my_permissions|fn_xe_file_\w+|fn_get_audit_file|fn_trace_\w+|dm_os_(file|enumerate)_?\w+|outfile|dumpfile)$/i

/**
 * T-SQL needs no semicolon between statements, so these could start another statement. They are all reserved words, so
 * none is a legitimate bare name.
 */
const FORBIDDEN_WORDS =
  /^(exec|execute|merge|drop|create|alter|truncate|grant|revoke|deny|backup|restore|shutdown|waitfor|dbcc|use|kill|bulk|reconfigure|commit|rollback|save|begin|declare|goto|while|if|print|raiserror|throw|writetext|updatetext|readtext|go|checkpoint|revert|setuser|return|receive|dump|load|open|close|deallocate|break|continue|lineno|securityaudit)$/i
/** In a statement that only reads, the verbs of writes are refused as well. */
const WRITING_WORDS = /^(insert|update|delete|set)$/i

/** MariaDB objects that are remote, in files of the caller's choice, in system schemas, or defined as another user. */
const REMOTE_SOURCES =
  /\bengine\s*=?\s*[`'"]?(federated|federatedx|spider|connect|s3)\b|\b(data|index)\s+directory\b|\bdefiner\s*=|\b(?:to|table|view|from)\s+`?(mysql|sys|performance_schema|information_schema)`?\s*\./i

export function loadClassifier(
  dialect: ParsedDialect,
): (text: string, tokens: readonly Token[]) => StatementClassification {
  const { file, name, engine } = PARSERS[dialect]
  const library = createRequire(import.meta.url)(file) as { Parser: new () => Parser }
  const parser = new library.Parser()
  return (text, tokens) => {
    const words = wordsOf(tokens)
    if (ADMINISTRATION[dialect].test(words)) return refusedStatement('Admin', ADMINISTRATION_REASON)
    if (TRANSACTION_CONTROL[dialect].test(words)) return refusedStatement('Transaction', TRANSACTION_REASON)
    try {
      const tree = parser.astify(text, { database: name })
      const [only, ...more] = Array.isArray(tree) ? (tree as unknown[]) : [tree]
      if (only === undefined || more.length > 0)
        return refusedStatement('Unknown', 'It cannot be read as one statement.')
      return judge(dialect, only as Node, tokens, tablesOf(parser, text, name))
    } catch {
      return refusedStatement('Unknown', `It cannot be read as SQL of ${engine}.`)
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

function judge(
  dialect: ParsedDialect,
  tree: Node,
  tokens: readonly Token[],
  tables: string[],
): StatementClassification {
  const kind = typeof tree?.type === 'string' ? KINDS[tree.type.toLowerCase()] : undefined
  const server = wordsAndCalls(tokens).find(({ text }) => SERVER_WORDS.test(text))
  if (server !== undefined) return refusedStatement('Admin', `${server.text} is for administrators.`, tables)
  if (kind === undefined || kind === 'Unknown')
    return refusedStatement('Unknown', 'Statements of this kind are not supported.', tables)
  if (kind === 'Admin') return refusedStatement('Admin', ADMINISTRATION_REASON, tables)
  if (kind === 'Transaction') return refusedStatement('Transaction', TRANSACTION_REASON, tables)
  if (dialect === 'mariadb' && kind === 'Ddl' && REMOTE_SOURCES.test(textOf(tokens)))
    return refusedStatement('Admin', ADMINISTRATION_REASON, tables)
  const into = intoTargetOf(tree)
  const effectiveKind =
    kind === 'Read' && into === 'table'
      ? 'Ddl'
      : kind === 'Read' && (locksRows(tree) || blocksOthers(dialect, tokens))
        ? 'Write'
        : kind
  if (into === 'elsewhere') return refusedStatement('Unknown', 'A query cannot write its result anywhere.', tables)
  if (isAmbiguous(dialect, kind as 'Read', tokens)) return refusedStatement('Unknown', 'It is ambiguous.', tables)
  if (kind === 'Ddl' && !PLAIN_OBJECTS.test(subjectOf(tree)))
    return refusedStatement(
      'Unknown',
      'Only tables, indexes, views and sequences can be created, altered and dropped.',
      tables,
    )
  const isDestructive = destroysData(tree, kind, tokens)
  return { kind: effectiveKind, tables, isDestructive, reads: readsData(tree, effectiveKind, tokens, tables) }
}

/** Returns what a schema change is about. For tables, the parsers do not name it in some of these statements. */
function subjectOf({ type, keyword, table }: Node): string {
  const isTable = type === 'truncate' || type === 'rename' || (type === 'alter' && Array.isArray(table))
  return String(keyword ?? (isTable ? 'table' : ''))
}

/** Returns the text without comments and strings, whose content is arbitrary. */
function textOf(tokens: readonly Token[]): string {
  return tokens.map(({ kind, text }) => (kind === 'comment' ? ' ' : kind === 'string' ? "''" : text)).join('')
}

/** Whether the words suggest another kind of statement than the parser found. */
function isAmbiguous(dialect: ParsedDialect, kind: 'Read' | 'Write' | 'Ddl', tokens: readonly Token[]): boolean {
  if (!FIRST_WORDS[kind].test(tokens[0]?.text ?? '')) return true
  if (dialect !== 'mssql' || kind === 'Ddl') return false
  const isNever = (text: string) => FORBIDDEN_WORDS.test(text) || (kind === 'Read' && WRITING_WORDS.test(text))
  return tokens.some(({ kind: word, text }) => word === 'word' && isNever(text))
}

function intoTargetOf(tree: Node): 'table' | 'elsewhere' | undefined {
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

/** Words that make a write depend on stored values, and that the parsers may drop. */
const READING_WORDS = /^(select|table|with|where|returning|output|using|join|order|limit|top|duplicate)$/i

/** Through these, a new table can reveal other data: expressions (which may call anything), queries, keys. */
const REVEALING_WORDS = /^(default|check|generated|references|partition|like|select|as|with)$/i

function makesPlainTable(tree: Node, tokens: readonly Token[]): boolean {
  const isRevealing = tokens.some(({ kind, text }) => kind === 'word' && REVEALING_WORDS.test(text))
  return tree.type === 'create' && subjectOf(tree) === 'table' && !isRevealing
}

/** Whether a statement reveals or compares stored values. */
function readsData(tree: Node, kind: StatementKind, tokens: readonly Token[], tables: readonly string[]): boolean {
  if (kind === 'Read') return true
  if (kind === 'Ddl') return !/^(drop|truncate)$/i.test(tokens[0]?.text ?? '') && !makesPlainTable(tree, tokens)
  // With several tables, which rows change depends on the content of another table.
  let found = tables.length > 1 || tokens.some(({ kind: word, text }) => word === 'word' && READING_WORDS.test(text))
  walk(tree, ({ type, column, name }) => {
    if (type === 'function' && isForeign(name as Node)) found = true
    // SQL Server's parser reports parameters as columns.
    if (type === 'column_ref' && !(typeof column === 'string' && column.startsWith('@'))) found = true
  })
  return found
}

function isForeign({ name, schema }: Node): boolean {
  const [word, ...more] = Array.isArray(name) ? (name as { value?: unknown }[]) : []
  return (
    more.length > 0 || mayReadStoredData(String(word?.value), schema === undefined || schema === null ? undefined : '')
  )
}

function locksRows(tree: Node): boolean {
  let found = false
  walk(tree, (node) => {
    if (node.locking_read !== undefined && node.locking_read !== null) found = true
  })
  return found
}

/** SQL Server hints whose locks are held longer than the read of a row. */
const LOCK_HINTS = /^(xlock|updlock|tablock|tablockx|holdlock|serializable|repeatableread)$/i
/** MariaDB functions that block other sessions or change what they see. */
const BLOCKING_FUNCTIONS =
  /^(get_lock|release_lock|release_all_locks|sleep|nextval|setval|master_pos_wait|master_gtid_wait)$/i

function blocksOthers(dialect: ParsedDialect, tokens: readonly Token[]): boolean {
  return wordsAndCalls(tokens).some(({ text, next }) => {
    if (/^next$/i.test(text) && /^value$/i.test(next)) return true
    return dialect === 'mssql' ? LOCK_HINTS.test(text) : next === '(' && BLOCKING_FUNCTIONS.test(text)
  })
}

/**
 * Returns the bare words and the quoted names that are called, because quotes do not change which function is called.
 * `next` is the following token, ignoring spaces and comments.
 */
function wordsAndCalls(tokens: readonly Token[]): { text: string; next: string }[] {
  const significant = tokens.filter(({ kind }) => kind !== 'space' && kind !== 'comment')
  return significant.flatMap(({ kind, text }, index) => {
    const next = significant[index + 1]?.text ?? ''
    if (kind === 'word') return [{ text, next }]
    return kind === 'identifier' && next === '(' ? [{ text: text.replace(/^[`"[]|[`"\]]$/g, ''), next }] : []
  })
}

/** Returns the first words of a statement, in lower case. */
function wordsOf(tokens: readonly Token[]): string {
  const words = tokens.filter(({ kind }) => kind === 'word').slice(0, 4)
  return words.map(({ text }) => text.toLowerCase()).join(' ')
}

function destroysData(tree: Node, kind: StatementKind, tokens: readonly Token[]): boolean {
  if (kind === 'Ddl') return tokens.some(({ kind: word, text }) => word === 'word' && /^(drop|truncate)$/i.test(text))
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
