import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { DAY_MS } from '../core/clock.ts'
import type { StatementKind } from './classification.ts'
import type { Dialect } from './dialect.ts'
import { type Token, type TokenKind, tokensOf } from './lexer.ts'

export const OUTCOMES = ['Succeeded', 'Failed', 'Refused'] as const

/** One run in the editor: who ran what, when, and the outcome (records: EditorHistoryEntry). */
export type HistoryEntry = {
  id: string
  /** RFC 3339. */
  executedAt: string
  executedBy: string
  principalId: string
  database: string
  /** With all literals masked. */
  sql: string
  /** As callers see it who may read rows: with its literals. Absent in entries of earlier versions. */
  shown?: string
  kind: StatementKind
  outcome: (typeof OUTCOMES)[number]
  durationMs: number
  rowCount: number | null
  rowsAffected: number | null
  error: string | null
}

const ENTRIES_MAX = 1000
const DAYS_MAX = 30
const STATEMENT_MAX_BYTES = 4096

/** A statement as the history shows it. */
export type HistoryTexts = {
  /** Every string and number is a question mark. */
  masked: string
  /**
   * For callers who may read rows: literals longer than 256 characters are cut, and all are masked if one may be a
   * password.
   */
  shown: string
}

/** Returns both texts of a statement, each truncated to 4 KiB. */
export function historyTexts(dialect: Dialect, sql: string, kind: StatementKind): HistoryTexts {
  const tokens = tokensOf(dialect, sql)
  const isSecret =
    kind === 'Admin' || kind === 'Unknown' || tokens.some(({ kind, text }) => NAMES.has(kind) && SECRET_NAME.test(text))
  const masked = rewritten(tokens, () => '?')
  return { masked, shown: isSecret ? masked : rewritten(tokens, cutLiteral) }
}

const NAMES: ReadonlySet<TokenKind> = new Set(['word', 'identifier', 'parameter'])
const SECRET_NAME = /pass|pwd|secret|token|credential|identified|(?:api|access|private)_?key/i
const LITERAL_MAX_CHARACTERS = 256

function cutLiteral(text: string): string {
  const quote = /['"]/.exec(text)
  const start = quote === null ? 0 : quote.index + 1
  const end = start + LITERAL_MAX_CHARACTERS
  return text.length - start * 2 <= LITERAL_MAX_CHARACTERS ? text : `${text.slice(0, end)}…${quote?.[0] ?? ''}`
}

/** Comments and unreadable text may hold anything, and are left out. */
function rewritten(tokens: readonly Token[], literal: (text: string) => string): string {
  const written = tokens
    .map(({ kind, text }) => {
      if (kind === 'string' || kind === 'number') return literal(text)
      if (kind === 'comment' || kind === 'trap') return ' '
      return kind === 'broken' ? '…' : text
    })
    .join('')
  const bytes = Buffer.from(written, 'utf8')
  if (bytes.length <= STATEMENT_MAX_BYTES) return written
  return `${bytes
    .subarray(0, STATEMENT_MAX_BYTES - 4)
    .toString('utf8')
    .replace(/\ufffd+$/, '')}…`
}

/** Returns the entries that are not too old. */
export function unexpiredEntries(history: readonly HistoryEntry[], now: number): HistoryEntry[] {
  const oldest = new Date(now - DAYS_MAX * DAY_MS).toISOString()
  return history.filter(({ executedAt }) => executedAt >= oldest)
}

/** Adds an entry at the front and drops what is too old or too much. */
export function withEntry(history: readonly HistoryEntry[], entry: HistoryEntry): HistoryEntry[] {
  return [entry, ...unexpiredEntries(history, Date.parse(entry.executedAt))].slice(0, ENTRIES_MAX)
}

/** Compresses the history for storage. If it is too large, the oldest entries lose their literals, then are dropped. */
export async function packHistory(history: readonly HistoryEntry[], maxBytes: number): Promise<Uint8Array> {
  let [count, shownCount] = [history.length, history.length]
  for (;;) {
    const kept = history
      .slice(0, count)
      .map(({ shown, ...entry }, index) => (index < shownCount ? { ...entry, shown } : entry))
    const packed = await promisify(gzip)(JSON.stringify(kept))
    if (packed.length <= maxBytes || count === 0) return packed
    if (shownCount > 0) shownCount = Math.floor(shownCount * 0.8)
    else count = Math.floor(count * 0.8)
  }
}

/** Reverses `packHistory`. Unreadable content counts as empty, so that it does not block the editor. */
export async function unpackHistory(bytes: Uint8Array): Promise<HistoryEntry[]> {
  try {
    const found = JSON.parse((await promisify(gunzip)(bytes)).toString('utf8')) as unknown
    return Array.isArray(found) ? (found as HistoryEntry[]) : []
  } catch {
    return []
  }
}
