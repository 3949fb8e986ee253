import { SETTINGS_NAME } from '../../contracts/platformbackups/names.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { PlatformBackupSettings } from '../../crds/platformBackups.ts'
import type { Context } from '../http/context.ts'
import { nothingToMatch } from '../http/etag.ts'
import type { RecordOf } from '../records/records.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'

export type Settings = RecordOf<typeof PlatformBackupSettings>

export const SETTINGS = { namespace: SYSTEM_NAMESPACE, name: SETTINGS_NAME }

/** The defaults, until something is set. */
export const DEFAULTS = PlatformBackupSettings.spec.parse({})

/** Read from the API server: replicas must not decide by stale copies. */
export function storedSettings({ services }: Context): Promise<Settings | undefined> {
  return services.records.get(PlatformBackupSettings, SETTINGS, { fresh: true })
}

/** @throws PlatformError CONFLICT for an If-Match although nothing is stored */
export function refuseMatchOfNothing(context: Context, stored: Settings | undefined): void {
  if (stored === undefined && context.header('if-match') !== undefined) throw nothingToMatch()
}

/**
 * Changes the settings, and creates them if an administrator has deleted them.
 * @throws PlatformError CONFLICT
 */
export async function changeSettings(
  { services, caller }: Context,
  change: (stored: Settings) => Settings['spec'],
  ifMatch?: Context['ifMatch'],
): Promise<Settings> {
  if ((await services.records.get(PlatformBackupSettings, SETTINGS)) === undefined)
    await services.records.create(PlatformBackupSettings, { ...SETTINGS, spec: {}, caller, isSame: () => true })
  const { object } = await services.records.update(PlatformBackupSettings, SETTINGS, {
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
