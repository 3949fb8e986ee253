import { type Workers, WorkRefused } from '../../../adapters/workers/port.ts'
import { PlatformError } from '../../../core/errors.ts'
import type { ReadBatch } from '../../../editor/batch.ts'
import { refused, unread } from '../../../editor/classification.ts'
import type { Dialect } from '../../../editor/dialect.ts'
import type { Context } from '../../http/context.ts'

declare module '../../http/context.ts' {
  interface Services {
    readonly workers: Workers
  }
}

/**
 * What a batch does, read beside the thread that answers. One that takes too long to read is never run.
 *
 * @throws PlatformError TOO_MANY_REQUESTS, SERVICE_UNAVAILABLE
 */
export async function readBatch(
  { services, caller }: Pick<Context, 'services' | 'caller'>,
  dialect: Dialect,
  { sql, parameters }: { sql: string; parameters?: Record<string, unknown> | null | undefined },
): Promise<ReadBatch> {
  const batch = { dialect, sql, parameters: Object.keys(parameters ?? {}) }
  try {
    return await services.workers.run('readBatch', batch, caller.principalId)
  } catch (error) {
    if (!(error instanceof WorkRefused)) throw error
    const { reason, retryAfterSeconds } = error
    const cause = { cause: error }
    switch (reason) {
      case 'Overdue':
        return { classification: unread(sql, refused('Unknown', 'It takes too long to parse.')), masked: '…' }
      case 'TooMany':
        throw new PlatformError(
          'TOO_MANY_REQUESTS',
          `Too many batches at once, or too large ones within a minute: try again in ${retryAfterSeconds} s.`,
          { retryAfterSeconds },
          cause,
        )
      case 'Busy':
        throw new PlatformError(
          'SERVICE_UNAVAILABLE',
          'Too many batches are waiting to be parsed; try again.',
          { retryAfterSeconds },
          cause,
        )
    }
  }
}
