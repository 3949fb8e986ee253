import { SETTINGS_NAME } from '../../contracts/platformbackups/names.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { PlatformBackupSettings } from '../../crds/platformBackups.ts'
import type { Context } from '../http/context.ts'
import { nothingToMatch } from '../http/etag.ts'
import type { RecordOf } from '../records/records.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'

export type BackupSettings = RecordOf<typeof PlatformBackupSettings>

export const SETTINGS_REF = { namespace: SYSTEM_NAMESPACE, name: SETTINGS_NAME }

/** The defaults, until something is set. */
export const DEFAULT_BACKUP_SETTINGS = PlatformBackupSettings.spec.parse({})

/** Read from the API server: replicas must not decide by stale copies. */
export function storedSettings({ services }: Context): Promise<BackupSettings | undefined> {
  return services.records.get(PlatformBackupSettings, SETTINGS_REF, { fresh: true })
}

/** @throws PlatformError CONFLICT for an If-Match although nothing is stored */
export function refuseIfMatchWithoutSettings(context: Context, stored: BackupSettings | undefined): void {
  if (stored === undefined && context.header('if-match') !== undefined) throw nothingToMatch()
}

/**
 * Changes the settings, and creates them if an administrator has deleted them.
 * @throws PlatformError CONFLICT
 */
export async function changeSettings(
  { services, caller }: Context,
  change: (stored: BackupSettings) => BackupSettings['spec'],
  ifMatch?: Context['ifMatch'],
): Promise<BackupSettings> {
  if ((await services.records.get(PlatformBackupSettings, SETTINGS_REF)) === undefined)
    await services.records.create(PlatformBackupSettings, { ...SETTINGS_REF, spec: {}, caller, isSame: () => true })
  const { object } = await services.records.update(PlatformBackupSettings, SETTINGS_REF, {
    caller,
    ifMatch,
    fresh: true,
    change: (stored) => {
      refuseWhileDeleting(stored)
      return change(stored)
    },
  })
  return object
}
