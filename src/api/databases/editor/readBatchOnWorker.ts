import type { ReadBatch } from '../../../editor/batch.ts'
import { refusedStatement, unsplitBatch } from '../../../editor/classification.ts'
import type { Dialect } from '../../../editor/dialect.ts'
import type { Context } from '../../http/context.ts'
import { runOnWorker } from '../../http/runOnWorker.ts'

/**
 * Analyses a batch on a worker thread. One that takes too long to parse never runs.
 * @throws PlatformError TOO_MANY_REQUESTS, SERVICE_UNAVAILABLE
 */
export function readBatchOnWorker(
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
