import { SETTINGS_NAME } from '../../contracts/platformbackups/names.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { PlatformBackupSettings } from '../../crds/platformBackups.ts'
import type { Context } from '../http/context.ts'
import type { RecordOf } from '../records/records.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'

export type Settings = RecordOf<typeof PlatformBackupSettings>

export const SETTINGS = { namespace: SYSTEM_NAMESPACE, name: SETTINGS_NAME }

/** What counts where nobody has said anything. */
export const DEFAULTS = PlatformBackupSettings.spec.parse({})

/** From the API server: two replicas must not decide on what each remembers. */
export function storedSettings({ services }: Context): Promise<Settings | undefined> {
  return services.records.get(PlatformBackupSettings, SETTINGS, { fresh: true })
}

/**
 * Changes the settings, which an administrator may have deleted: then they begin anew.
 *
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
