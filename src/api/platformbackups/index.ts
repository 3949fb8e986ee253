import { randomUUID } from 'node:crypto'
import type { BackupTargets } from '../../adapters/backuptarget/port.ts'
import type { WalMetrics } from '../../adapters/prometheus/port.ts'
import { phaseOf } from '../../contracts/backups.ts'
import {
  BACKUP_TRIGGERS,
  blockingBackup,
  buildBackupFromSchedule,
  isBackupInProgress,
  isFinalBackupPhase,
  platformBackupName,
} from '../../contracts/platformbackups/backups.ts'
import { notFound, PlatformError } from '../../core/errors.ts'
import type { ObjectRef } from '../../core/object.ts'
import { accepted, acceptedEmpty } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import type { SecretReader, SecretWriter } from '../records/secrets.ts'
import { listRoute } from '../resources/collection/columns.ts'
import { dateTime, enumeration, text } from '../resources/paging.ts'
import { archivingRoutes } from './archiving.ts'
import type { BackupCluster } from './cluster.ts'
import { backupDto, PlatformBackupDto, type PlatformBackupRecord } from './record.ts'
import { requireSchedule, scheduleRoutes } from './schedule.ts'
import { targetRoutes } from './target.ts'

declare module '../http/context.ts' {
  interface Services {
    readonly platformBackups: {
      readonly cluster: BackupCluster
      readonly targets: BackupTargets
      readonly logs: WalMetrics
      /** Secrets in freehold-system, for the key of the target. */
      readonly secrets: SecretReader & SecretWriter & { remove(ref: ObjectRef): Promise<void> }
    }
  }
}

const PATH = '/lifecycle/backups'
const errors = 'problem' as const

/** Runs one at a time, so that of two concurrent requests only one gets a backup. */
async function takeBackup(context: Context) {
  const { services, caller } = context
  const { cluster } = services.platformBackups
  const schedule = await requireSchedule(context)
  return services.records.exclusively('backup of the platform', async () => {
    const now = services.clock.now()
    const running = blockingBackup(await cluster.backups(), now)
    if (running !== undefined) throw inProgress(running.metadata.name, phaseOf(running))
    const name = platformBackupName('Manual', now, randomUUID().slice(0, 4))
    const backup = await cluster.take(
      buildBackupFromSchedule(schedule, { name, trigger: 'Manual', startedBy: caller.principalId }),
    )
    return accepted(backupDto(backup, []))
  })
}

const inProgress = (backup: string, phase: string) =>
  new PlatformError('backup-in-progress', `Backup "${backup}" is under way (${phase}).`, { backup, phase })

/** A queued backup sorts as newer than all that have started. */
function startForSorting({ startedAt, phase }: PlatformBackupRecord) {
  return startedAt ?? (isFinalBackupPhase(phase) ? null : UNSTARTED_TIME)
}
const UNSTARTED_TIME = '9999-12-31T23:59:59Z'

/** @throws PlatformError NOT_FOUND, backup-in-progress */
async function remove({ services, parameters }: Context<'name'>) {
  const { cluster } = services.platformBackups
  const found = (await cluster.backups()).find(({ metadata }) => metadata.name === parameters.name)
  if (found === undefined) throw notFound(`Backup "${parameters.name.slice(0, 64)}"`)
  if (isBackupInProgress(found)) throw inProgress(found.metadata.name, phaseOf(found))
  await cluster.remove(found)
  return acceptedEmpty()
}

/** The routes of platform backups (interface section 4.21). */
export const platformBackupRoutes: readonly RouteDraft[] = [
  listRoute(PATH, {
    auth: action('lifecycle/view'),
    summary: 'Backups of the platform, the newest first',
    dto: PlatformBackupDto,
    errors,
    unfollowed: 'the tool that takes the backups',
    columns: {
      name: text('Name', { isSearched: true }),
      phase: enumeration('Phase'),
      trigger: enumeration('Trigger', BACKUP_TRIGGERS),
      startedAt: dateTime('Started', { of: startForSorting }),
    },
    sort: '-startedAt',
    id: 'name',
    rows: async ({ services }) => {
      const { cluster } = services.platformBackups
      const [backups, databases] = await Promise.all([cluster.backups(), cluster.databaseBackups()])
      return backups.map((backup) => backupDto(backup, databases))
    },
  }),
  route('POST', PATH, {
    auth: action('lifecycle/execute'),
    summary: 'Takes a backup of the platform now',
    reply: PlatformBackupDto,
    errors,
    handler: takeBackup,
  }),
  route('DELETE', `${PATH}/{name}`, {
    auth: action('lifecycle/backupsManage'),
    summary: 'Deletes a backup and its data in the bucket',
    answers: [202],
    errors,
    handler: remove,
  }),
  ...archivingRoutes,
  ...targetRoutes,
  ...scheduleRoutes,
]
