import { z } from 'zod'
import { timestamp } from '../../core/clock.ts'
import { readyOf } from '../../core/counted.ts'
import type { Context } from '../http/context.ts'
import { namedRecord } from '../http/named.ts'
import { type HealthCheckDto, healthReportFields } from '../resources/dto.ts'
import { editorDatabase } from './editor.ts'
import type { RelationalObject } from './record.ts'

export const RelationalHealthDto = namedRecord('RelationalHealthReport', {
  ...healthReportFields,
  replicationLagBytes: z.int().nullable(),
  databaseSizeBytes: z.int().nullable(),
})

type State = HealthCheckDto['status']
type Said = { name: string; status: State; message: string | null }

/**
 * What the engine last said of itself; it is told over a watch, so only the size is asked for. How far replicas are
 * behind is told to monitors only, and the editor's login must not be one: it would see the statements of others.
 */
export async function relationalHealth(
  object: RelationalObject,
  context: Context,
): Promise<z.output<typeof RelationalHealthDto>> {
  const checkedAt = timestamp(context.services.clock.now())
  const checks = object.spec.running ? runningChecks(object) : stoppedChecks()
  const known = checks.filter(({ status }) => status !== 'Unknown')
  const worst = (['Unhealthy', 'Degraded'] as const).find((state) => known.some(({ status }) => status === state))
  const status: State = worst ?? (known.length === 0 ? 'Unknown' : 'Healthy')
  const speaker = checks.find((check) => check.status === status && check.message !== null)
  return {
    status,
    checkedAt,
    message: status === 'Healthy' ? null : (speaker?.message ?? null),
    checks: checks.map((check) => ({ ...check, durationMs: null, observedAt: checkedAt })),
    replicationLagBytes: null,
    databaseSizeBytes: await databaseSize(object, context),
  }
}

const SIZE_MILLISECONDS = 4_000
const SIZE = 'SELECT pg_catalog.pg_database_size(pg_catalog.current_database())'

/** Null if nobody answers: the rest of the report stands without it. */
async function databaseSize(object: RelationalObject, context: Context): Promise<number | null> {
  if (!object.spec.running || (object.status?.readyReplicas ?? 0) === 0) return null
  try {
    const place = await editorDatabase(object, context).open()
    const { results } = await place.engine.run(
      place.target('reader'),
      {
        statements: [{ index: 0, text: SIZE, parameters: [] }],
        parameters: {},
        isReadOnly: true,
        maxRows: 1,
        timeoutMilliseconds: SIZE_MILLISECONDS,
      },
      { signal: AbortSignal.any([context.signal, AbortSignal.timeout(SIZE_MILLISECONDS)]) },
    )
    const size = Number(results[0]?.rows[0]?.[0] ?? Number.NaN)
    return Number.isSafeInteger(size) ? size : null
  } catch {
    return null
  }
}

const CHECKS = ['Primary', 'Replicas', 'Archiving', 'Backup', 'Disk'] as const

function stoppedChecks(): Said[] {
  const message = 'It is stopped, so its health is unknown.'
  return CHECKS.map((name) => ({ name, status: 'Unknown', message }))
}

function runningChecks({ spec, status }: RelationalObject): Said[] {
  const ready = status?.readyReplicas ?? 0
  const wanted = spec.replicas ?? 1
  const primary: Said =
    ready > 0 && status?.currentPrimary !== undefined
      ? { name: 'Primary', status: 'Healthy', message: null }
      : { name: 'Primary', status: 'Unhealthy', message: 'No primary is ready.' }
  const replicas: Said = {
    name: 'Replicas',
    status: ready >= wanted ? 'Healthy' : 'Degraded',
    message: ready >= wanted ? null : `${readyOf(ready, wanted, 'instance')}.`,
  }
  return [
    primary,
    replicas,
    archivingCheck(status),
    backupCheck(status),
    { name: 'Disk', status: 'Unknown', message: 'The engine does not report how full its volumes are.' },
  ]
}

function archivingCheck(status: RelationalObject['status']): Said {
  const name = 'Archiving'
  switch (status?.archiving) {
    case 'Healthy':
      return { name, status: 'Healthy', message: null }
    case 'Failing':
      return { name, status: 'Degraded', message: status.archivingMessage ?? 'The log cannot be archived.' }
    case 'Suspended':
      return { name, status: 'Degraded', message: 'The archive of the log is suspended.' }
    default:
      return { name, status: 'Unknown', message: 'Nothing is backed up.' }
  }
}

function backupCheck(status: RelationalObject['status']): Said {
  const name = 'Backup'
  if (status?.backupMessage !== undefined) return { name, status: 'Degraded', message: status.backupMessage }
  if (status?.lastBackupAt !== undefined) return { name, status: 'Healthy', message: null }
  return { name, status: 'Unknown', message: 'There is no backup yet.' }
}
