import { z } from 'zod'
import { timestamp } from '../../core/clock.ts'
import { describeReadyCount } from '../../core/pluralize.ts'
import type { Context } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { healthReportFields } from '../resources/dto.ts'
import { type Check, check, healthReport } from '../resources/healthReport.ts'
import { editorDatabase } from './editor.ts'
import type { RelationalObject } from './record.ts'

export const RelationalHealthDto = namedRecord('RelationalHealthReport', {
  ...healthReportFields,
  replicationLagBytes: z.int().nullable(),
  databaseSizeBytes: z.int().nullable(),
})

/**
 * Returns the health from the status; only the size is queried. Replication lag is visible to monitoring roles only,
 * and the editor's login must not have one, because it could then see other sessions' statements.
 */
export async function relationalHealth(
  object: RelationalObject,
  context: Context,
): Promise<z.output<typeof RelationalHealthDto>> {
  const checks = object.spec.running ? runningChecks(object) : stoppedChecks()
  return {
    ...healthReport(timestamp(context.services.clock.now()), checks),
    replicationLagBytes: null,
    databaseSizeBytes: await databaseSize(object, context),
  }
}

const SIZE_TIMEOUT_MS = 4_000
const SIZE_QUERY = 'SELECT pg_catalog.pg_database_size(pg_catalog.current_database())'

/** Returns null if the database does not answer, so that the rest of the report is still shown. */
async function databaseSize(object: RelationalObject, context: Context): Promise<number | null> {
  if (!object.spec.running || (object.status?.readyReplicas ?? 0) === 0) return null
  try {
    const editorEngine = await editorDatabase(object, context).open()
    const { results } = await editorEngine.engine.run(
      editorEngine.target('reader'),
      {
        statements: [{ index: 0, text: SIZE_QUERY, parameters: [] }],
        parameters: {},
        isReadOnly: true,
        maxRows: 1,
        timeoutMilliseconds: SIZE_TIMEOUT_MS,
      },
      { signal: AbortSignal.any([context.signal, AbortSignal.timeout(SIZE_TIMEOUT_MS)]) },
    )
    const size = Number(results[0]?.rows[0]?.[0] ?? Number.NaN)
    return Number.isSafeInteger(size) ? size : null
  } catch {
    return null
  }
}

const CHECKS = ['Primary', 'Replicas', 'Archiving', 'Backup', 'Disk'] as const

const stoppedChecks = () => CHECKS.map((name) => check(name, 'Unknown', 'It is stopped, so its health is unknown.'))

function runningChecks({ spec, status }: RelationalObject): Check[] {
  const ready = status?.readyReplicas ?? 0
  const wanted = spec.replicas ?? 1
  const hasPrimary = ready > 0 && status?.currentPrimary !== undefined
  return [
    hasPrimary ? check('Primary', 'Healthy') : check('Primary', 'Unhealthy', 'No primary is ready.'),
    ready >= wanted
      ? check('Replicas', 'Healthy')
      : check('Replicas', 'Degraded', `${describeReadyCount(ready, wanted, 'instance')}.`),
    archivingCheck(status),
    backupCheck(status),
    check('Disk', 'Unknown', 'The engine does not report how full its volumes are.'),
  ]
}

function archivingCheck(status: RelationalObject['status']): Check {
  const name = 'Archiving'
  switch (status?.archiving) {
    case 'Healthy':
      return check(name, 'Healthy')
    case 'Failing':
      return check(name, 'Degraded', status.archivingMessage ?? 'The log cannot be archived.')
    case 'Suspended':
      return check(name, 'Degraded', 'The archive of the log is suspended.')
    default:
      return check(name, 'Unknown', 'Nothing is backed up.')
  }
}

function backupCheck(status: RelationalObject['status']): Check {
  const name = 'Backup'
  if (status?.backupMessage !== undefined) return check(name, 'Degraded', status.backupMessage)
  if (status?.lastBackupAt !== undefined) return check(name, 'Healthy')
  return check(name, 'Unknown', 'There is no backup yet.')
}
