import { randomUUID } from 'node:crypto'
import type { z } from 'zod'
import { type BatchOutcome, isSqlFault } from '../../../adapters/sql/port.ts'
import { PlatformError, refusedFields } from '../../../core/errors.ts'
import type { ReadBatch } from '../../../editor/batch.ts'
import {
  type Classification,
  levelOf,
  needsConfirmation,
  refusedStatement,
  type SqlLevel,
  unsplitBatch,
} from '../../../editor/classification.ts'
import type { Dialect } from '../../../editor/dialect.ts'
import type { HistoryEntry } from '../../../editor/history.ts'
import { type Answer, ok } from '../../http/answer.ts'
import type { Context } from '../../http/context.ts'
import { runOnWorker } from '../../http/runOnWorker.ts'
import type { EditorQueryRequest, EditorQueryResult } from './dto.ts'
import {
  addHistoryEntry,
  type EditorDatabase,
  type EditorEngine,
  hasSqlLevel,
  translateSqlError,
} from './editorDatabase.ts'

type Request = z.output<typeof EditorQueryRequest>
type Batch = ReadBatch & {
  context: Context
  database: EditorDatabase
  request: Request
  began: number
}

/** Classifies a batch, decides whether the caller may run it and, if requested, runs it on the engine. */
export async function queryEditor(
  context: Context,
  database: EditorDatabase,
  request: Request,
): Promise<Answer<EditorQueryResult>> {
  const began = context.services.clock.monotonic()
  const editorEngine = request.execute ? await database.open() : undefined
  const read = await readBatchOnWorker(context, database.dialect, request)
  const { classification } = read
  const batch: Batch = { context, database, request, ...read, began }
  const level = levelOf(classification.kind)
  const missing = missingLevel(batch)
  const action = database.actionOf(missing ?? level ?? 'owner')
  const refusalMessage = refusalReason(classification, level)
  const isAuthorized = missing === undefined && refusalMessage === undefined
  const shown = { classification: classificationDto(classification), requiredAction: action, authorized: isAuthorized }
  if (editorEngine === undefined) return ok({ ...shown, ...emptyOutcome(batch, refusalMessage) })
  await refuse(batch, refusalMessage, isAuthorized, action)
  const outcome = await runBatch(batch, editorEngine, grantedLevel(batch, level ?? 'owner'))
  const historyId = await record(batch, outcome.failure === undefined ? 'Succeeded' : 'Failed', outcome)
  const { failure, messages } = outcome
  return ok({
    ...shown,
    executed: true,
    results: outcome.results.map((result) => ({ ...result, rowCount: result.rows.length })),
    messages,
    durationMs: durationOf(batch),
    historyId,
    error: failure === undefined ? null : { ...failure, message: failure.message.slice(0, 1024) },
  })
}

/** Returns the highest level that the batch needs and the caller does not have. */
function missingLevel({ context, database, classification }: Batch): SqlLevel | undefined {
  return neededLevels(classification).find((each) => !hasSqlLevel(context, database, each))
}

function emptyOutcome(batch: Batch, refusalMessage: string | undefined) {
  const messages = refusalMessage === undefined ? [] : [refusalMessage]
  return { executed: false, results: [], messages, durationMs: durationOf(batch), historyId: null, error: null }
}

/** Returns why the batch cannot run for anybody, whatever their permissions; undefined if it can. */
function refusalReason({ statements }: Classification, level: SqlLevel | undefined): string | undefined {
  const refused = statements.find(({ refusal }) => refusal !== undefined)
  if (level !== undefined && refused === undefined) return undefined
  const reason = refused?.refusal ?? 'Statements of this kind are not allowed.'
  return `Statement ${(refused?.index ?? 0) + 1} was not run: ${reason}`
}

function durationOf({ context, began }: Batch): number {
  return Math.round(context.services.clock.monotonic() - began)
}

function classificationDto({ statements, kind }: Classification) {
  return {
    kind,
    statements: statements.map(({ index, kind: one, text, tables, isDestructive }) => ({
      index,
      kind: one,
      text,
      tables: [...tables],
      isDestructive,
    })),
  }
}

function forbidden(action: string): PlatformError {
  return new PlatformError('FORBIDDEN', `This batch needs the permission ${action}.`, { action })
}

/** Refuses what never runs, what the caller may not run, and what is not confirmed, in this order. */
async function refuse(
  batch: Batch,
  refusalMessage: string | undefined,
  isAuthorized: boolean,
  action: string,
): Promise<void> {
  const { classification, request } = batch
  if (refusalMessage !== undefined) {
    await record(batch, 'Refused', undefined, 'STATEMENT_REFUSED')
    throw new PlatformError('STATEMENT_REFUSED', refusalMessage, { classification: classificationDto(classification) })
  }
  if (!isAuthorized) {
    await record(batch, 'Refused', undefined, 'FORBIDDEN')
    throw forbidden(action)
  }
  if (needsConfirmation(classification) && !request.confirmed) {
    throw new PlatformError('CONFIRMATION_REQUIRED', 'The batch changes the schema or every row: set confirmed.', {
      classification: classificationDto(classification),
    })
  }
}

/** Returns the caller's highest level, at least the needed one; a batch that only reads gets read access only. */
function grantedLevel(batch: Batch, minimum: SqlLevel): SqlLevel {
  if (minimum === 'reader') return 'reader'
  return minimum === 'owner' || hasSqlLevel(batch.context, batch.database, 'owner') ? 'owner' : 'writer'
}

/**
 * Returns the levels that the statements need, strongest first. Each statement counts, with what it reads besides what
 * it changes: a caller who may write but not read must learn nothing from what a write returns or compares.
 */
function neededLevels({ statements }: Classification): SqlLevel[] {
  const levels = new Set(
    statements.flatMap(({ kind, reads }): SqlLevel[] => [
      levelOf(kind) ?? 'owner',
      ...(reads ? ['reader' as const] : []),
    ]),
  )
  return (['owner', 'writer', 'reader'] as const).filter((level) => levels.has(level))
}

async function runBatch(batch: Batch, editorEngine: EditorEngine, level: SqlLevel): Promise<BatchOutcome> {
  const { context, request, classification } = batch
  const target = editorEngine.target(level)
  const database = request.database ?? target.database
  // A batch may run for minutes and change rows all that time.
  const signal = context.whileHolding(() => missingLevel(batch) === undefined)
  try {
    return await editorEngine.engine.run(
      { ...target, database },
      {
        statements: classification.statements,
        parameters: request.parameters ?? {},
        isReadOnly: classification.kind === 'Read',
        maxRows: request.maxRows,
        timeoutMilliseconds: request.timeoutSeconds * 1000,
      },
      { signal, onBytes: (bytes) => context.owe(bytes) },
    )
  } catch (error) {
    const isOfCaller = database !== target.database && isSqlFault(error, 'DatabaseNotFound')
    const hasLostPermission = signal.aborted && !context.signal.aborted
    const translated = () => (isOfCaller ? unknownDatabase(database, target.user) : translateSqlError(error))
    const refusal = hasLostPermission ? forbidden(batch.database.actionOf(missingLevel(batch) ?? level)) : translated()
    await record(batch, 'Failed', undefined, refusal instanceof PlatformError ? refusal.code : 'INTERNAL_ERROR')
    throw refusal
  }
}

/** The caller named this database in the body, so it is a client error, unlike a missing database of the path. */
function unknownDatabase(name: string, login: string): PlatformError {
  const message = `must name a database that the login "${login}" may open; "${name}" is not one`
  return refusedFields([{ field: 'database', message }])
}

/** Records who ran what. If that fails, the batch has run anyway, and the response has no id. */
async function record(
  { context, database, request, classification, masked, shown, began }: Batch,
  outcome: HistoryEntry['outcome'],
  result: BatchOutcome | undefined,
  error?: string,
): Promise<string | null> {
  const { caller, services, log } = context
  const rows = result?.results.reduce((sum, { rows: found }) => sum + found.length, 0)
  const affected = result?.results.flatMap(({ rowsAffected }) => (rowsAffected === null ? [] : [rowsAffected]))
  const entry: HistoryEntry = {
    id: randomUUID(),
    // Milliseconds, which order the runs of one second.
    executedAt: new Date(services.clock.now()).toISOString(),
    executedBy: caller.displayName ?? caller.email ?? caller.principalId,
    principalId: caller.principalId,
    database: request.database ?? database.database,
    sql: masked,
    shown,
    kind: classification.kind,
    outcome,
    durationMs: Math.round(services.clock.monotonic() - began),
    rowCount: rows ?? null,
    rowsAffected:
      affected === undefined || affected.length === 0 ? null : affected.reduce((sum, count) => sum + count, 0),
    error: error ?? result?.failure?.code ?? null,
  }
  try {
    await addHistoryEntry(database, entry)
    return entry.id
  } catch (thrown) {
    log.warn({ err: thrown }, 'The history of the editor could not be written.')
    return null
  }
}

/**
 * Analyses a batch on a worker thread. One that takes too long to parse never runs.
 * @throws PlatformError TOO_MANY_REQUESTS, SERVICE_UNAVAILABLE
 */
function readBatchOnWorker(
  { services, caller }: Pick<Context, 'services' | 'caller'>,
  dialect: Dialect,
  { sql, parameters }: { sql: string; parameters?: Record<string, unknown> | null | undefined },
): Promise<ReadBatch> {
  const batch = { dialect, sql, parameters: Object.keys(parameters ?? {}) }
  return runOnWorker(
    'batches',
    () => services.workers.run('readBatch', batch, caller.principalId),
    () => ({
      classification: unsplitBatch(sql, refusedStatement('Unknown', 'It takes too long to parse.')),
      masked: '…',
      shown: '…',
    }),
  )
}
