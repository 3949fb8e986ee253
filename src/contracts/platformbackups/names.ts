import { PREFIX } from '../../core/labels.ts'

/** Names by which the facade, the controllers and Velero find the platform's own backups. */

/** Name of the only PlatformBackupSettings. */
export const SETTINGS_NAME = 'default'

/** The Velero Schedule, and the label that names it on its backups. */
export const PLATFORM_SCHEDULE = 'platform-daily'
export const SCHEDULE_LABEL = 'velero.io/schedule-name'

/**
 * Secrets in the platform's namespace, one of which holds the key of the target. A new key is written to the unused one
 * and takes effect with the one write that names it, so an old bucket is never used with a new key.
 */
export const TARGET_SECRETS = ['platform-backup-target-a', 'platform-backup-target-b'] as const
export type TargetSecret = (typeof TARGET_SECRETS)[number]
export const TARGET_SECRET_KEYS = { id: 'access-key-id', secret: 'secret-access-key' } as const

export function otherTargetSecret(name: TargetSecret | undefined): TargetSecret {
  return name === TARGET_SECRETS[0] ? TARGET_SECRETS[1] : TARGET_SECRETS[0]
}

/** Our copy of the key in Velero's namespace, the only one whose Secrets Velero reads; and its entries. */
export const VELERO_SECRET = 'freehold-platform-backup-target'
export const VELERO_SECRET_KEYS = { credentials: 'cloud', authority: 'ca.crt' } as const

/** Annotation on a Velero Backup that was requested: Manual, or Rollout. Scheduled backups have none. */
export const TRIGGER_ANNOTATION = `${PREFIX}backup-trigger`

/** Annotation on a database whose archiving the platform has suspended: `<RFC 3339> <principalId>`. */
export const SUSPENDED_ANNOTATION = `${PREFIX}archiving-suspended`
/** The same on a database that archives again, until a base backup has begun from which it can be restored. */
export const RESUMED_ANNOTATION = `${PREFIX}archiving-resumed`

/** Label on a CloudNativePG Backup that belongs to a backup of the platform: the name of the latter. */
export const PLATFORM_BACKUP_LABEL = `${PREFIX}platform-backup`
