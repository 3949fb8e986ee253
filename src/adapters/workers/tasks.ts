import { shortAuditLog } from '../../contracts/auditLog.ts'
import { parseStrictJson, type StrictJsonResult } from '../../core/json.ts'
import { redacted } from '../../core/redaction.ts'
import { type ReadBatch, readBatch } from '../../editor/batch.ts'
import { loadParsers } from '../../editor/classify.ts'
import type { Dialect } from '../../editor/dialect.ts'

/** Pure functions with arguments and results that can be sent to another thread. */
export const TASKS = {
  readBatch: ({ dialect, sql, parameters }: { dialect: Dialect; sql: string; parameters: readonly string[] }) =>
    readBatch(dialect, sql, new Set(parameters)) satisfies Promise<ReadBatch>,
  /** For large bodies. */
  readJson: (bytes: Uint8Array): StrictJsonResult => parseStrictJson(bytes),
  /** For large parts of the audit log. */
  shortAuditLog: (bytes: Uint8Array): unknown => shortAuditLog(bytes),
  /** For large texts. */
  redacted: (text: string): string => redacted(text),
  warm: (_: null) => loadParsers(),
}

export type TaskName = Exclude<keyof typeof TASKS, 'warm'>
export type TaskOf<Name extends keyof typeof TASKS> = (typeof TASKS)[Name]
