import { PREFIX } from '../../core/labels.ts'

/** Names that the facade, the controllers and Velero know the platform's own backups by. */

/** The one PlatformBackupSettings. */
export const SETTINGS_NAME = 'default'

/** The Schedule of Velero, and by its label the backups that are taken from it. */
export const PLATFORM_SCHEDULE = 'platform-daily'
export const SCHEDULE_LABEL = 'velero.io/schedule-name'

/**
 * The Secrets in the platform's namespace of which one holds the key of the target. A new key is written under the name that
 * is not in use, and counts with the one write that names it: there is never an old bucket with a new key.
 */
export const TARGET_SECRETS = ['platform-backup-target-a', 'platform-backup-target-b'] as const
export type TargetSecret = (typeof TARGET_SECRETS)[number]
export const TARGET_SECRET_KEYS = { id: 'access-key-id', secret: 'secret-access-key' } as const

export function otherSecret(name: TargetSecret | undefined): TargetSecret {
  return name === TARGET_SECRETS[0] ? TARGET_SECRETS[1] : TARGET_SECRETS[0]
}

/** Our copy of the key beside Velero, which reads Secrets of its own namespace only; and its entries. */
export const VELERO_SECRET = 'freehold-platform-backup-target'
export const VELERO_SECRET_KEYS = { credentials: 'cloud', authority: 'ca.crt' } as const

/** On a Backup of Velero that was asked for: Manual, or Rollout. What has none is by the clock. */
export const TRIGGER_ANNOTATION = `${PREFIX}backup-trigger`

/** On a database whose archive is suspended for the platform: `<RFC 3339> <principalId>`. */
export const SUSPENDED_ANNOTATION = `${PREFIX}archiving-suspended`
/** The same on one that archives again, until the base backup is begun from which it can be restored. */
export const RESUMED_ANNOTATION = `${PREFIX}archiving-resumed`

/** On a Backup of CloudNativePG that belongs to a backup of the platform: the name of that one. */
export const PLATFORM_BACKUP_LABEL = `${PREFIX}platform-backup`
