import { z } from 'zod'
import { backupStartOf, sortBackupsNewestFirst } from '../../contracts/backups.ts'
import type { VeleroSchedule } from '../../contracts/platformbackups/backups.ts'
import { lastSuccessfulBackup } from '../../contracts/platformbackups/conditions.ts'
import { PLATFORM_SCHEDULE } from '../../contracts/platformbackups/names.ts'
import { PlatformError } from '../../core/errors.ts'
import { plainLine } from '../../core/plainLine.ts'
import { type BackupSchedule, PlatformBackupSettings } from '../../crds/platformBackups.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagHeader } from '../http/etag.ts'
import { readModel } from '../http/model.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { DateTime, ignoredFields } from '../resources/dto.ts'
import { nextRunAt } from '../resources/nextRunAt.ts'
import { changeSettings, DEFAULT_BACKUP_SETTINGS, refuseIfMatchWithoutSettings, storedSettings } from './settings.ts'

const errors = 'problem' as const

const BackupScheduleDto = namedRecord('BackupScheduleDto', {
  cron: z.string(),
  ttlHours: z.int(),
  isPaused: z.boolean(),
  nextRunAt: DateTime.nullable().describe('Null while it is paused or missing'),
  lastBackupName: z.string().nullable(),
  lastSuccessAt: DateTime.nullable(),
  validationErrors: z.array(z.string()).describe('What is wrong with it, as Velero says'),
})

const computed = ignoredFields(
  Object.keys(BackupScheduleDto.shape).filter((name) => name !== 'cron' && name !== 'ttlHours'),
)
const { cron, ttlHours } = PlatformBackupSettings.spec.shape.schedule.unwrap().shape
/** For documentation only: the route validates the fields itself, after it has found the schedule. */
const UpdateBackupScheduleRequest = strictRecord('UpdateBackupScheduleRequest', {
  cron: cron.unwrap(),
  ttlHours: ttlHours.unwrap(),
  ...computed,
})
const Read = z.strictObject({ cron: z.string().nullish(), ttlHours: z.int().nullish(), ...computed })

/** @throws PlatformError schedule-missing */
export async function requireSchedule({ services }: Context): Promise<VeleroSchedule> {
  const schedule = await services.platformBackups.cluster.schedule()
  if (schedule !== undefined) return schedule
  const message = `Velero has no schedule "${PLATFORM_SCHEDULE}": it appears once Velero is installed and has a target.`
  throw new PlatformError('schedule-missing', message)
}

async function scheduleDto(context: Context, settings: BackupSchedule, schedule: VeleroSchedule | undefined) {
  const backups = await context.services.platformBackups.cluster.backups()
  const [last] = sortBackupsNewestFirst(backups)
  const lastSuccess = lastSuccessfulBackup(backups)
  const missing = `There is no Velero Schedule "${PLATFORM_SCHEDULE}".`
  const validationErrors = schedule === undefined ? [missing] : (schedule.status?.validationErrors ?? [])
  const isScheduled = schedule !== undefined && !settings.paused
  return {
    cron: settings.cron,
    ttlHours: settings.ttlHours,
    isPaused: settings.paused,
    nextRunAt: isScheduled ? nextRunAt(context.services, settings.cron) : null,
    lastBackupName: last?.metadata.name ?? null,
    lastSuccessAt:
      lastSuccess === undefined ? null : (lastSuccess.status?.completionTimestamp ?? backupStartOf(lastSuccess)),
    validationErrors: validationErrors.map((one) => plainLine(one, 1024)),
  }
}

async function put(context: Context<string, unknown, z.output<typeof Read>>) {
  const schedule = await requireSchedule(context)
  const given = validateSchedule(context.body)
  refuseIfMatchWithoutSettings(context, await storedSettings(context))
  const settings = await changeSettings(
    context,
    ({ spec }) => ({ ...spec, schedule: { ...spec.schedule, ...given } }),
    context.ifMatch,
  )
  return ok(await scheduleDto(context, settings.spec.schedule, schedule), etagHeader(settings))
}

/** @throws PlatformError invalid-schedule */
function validateSchedule(body: z.output<typeof Read>): Pick<BackupSchedule, 'cron' | 'ttlHours'> {
  const fields = z.strictObject({ cron: cron.unwrap(), ttlHours: ttlHours.unwrap() })
  try {
    return readModel(fields, { cron: body.cron ?? undefined, ttlHours: body.ttlHours ?? undefined })
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    throw new PlatformError('invalid-schedule', error.message, error.extras, { cause: error })
  }
}

export const scheduleRoutes: readonly RouteDraft[] = [
  route('GET', '/lifecycle/backups/schedule', {
    auth: action('lifecycle/view'),
    summary: 'When the platform is backed up',
    reply: BackupScheduleDto,
    errors,
    handler: async (context) => {
      const [settings, schedule] = await Promise.all([
        storedSettings(context),
        context.services.platformBackups.cluster.schedule(),
      ])
      return ok(
        await scheduleDto(context, (settings?.spec ?? DEFAULT_BACKUP_SETTINGS).schedule, schedule),
        etagHeader(settings),
      )
    },
  }),
  route('PUT', '/lifecycle/backups/schedule', {
    auth: action('lifecycle/backupsManage'),
    summary: 'Sets when the platform is backed up, and for how long backups are kept',
    body: Read,
    documentedBody: UpdateBackupScheduleRequest,
    example: { cron: '0 1 * * *', ttlHours: 720 },
    reply: BackupScheduleDto,
    errors,
    handler: put,
  }),
]
