import type { ReadBatch } from '../../../editor/batch.ts'
import { refused, unread } from '../../../editor/classification.ts'
import type { Dialect } from '../../../editor/dialect.ts'
import { beside } from '../../http/beside.ts'
import type { Context } from '../../http/context.ts'

/**
 * Analyses a batch on a worker thread. One that takes too long to parse never runs.
 * @throws PlatformError TOO_MANY_REQUESTS, SERVICE_UNAVAILABLE
 */
export function readBatch(
  { services, caller }: Pick<Context, 'services' | 'caller'>,
  dialect: Dialect,
  { sql, parameters }: { sql: string; parameters?: Record<string, unknown> | null | undefined },
): Promise<ReadBatch> {
  const batch = { dialect, sql, parameters: Object.keys(parameters ?? {}) }
  return beside(
    'batches',
    () => services.workers.run('readBatch', batch, caller.principalId),
    () => ({ classification: unread(sql, refused('Unknown', 'It takes too long to parse.')), masked: '…' }),
  )
}
