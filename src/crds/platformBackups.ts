import { z } from 'zod'
import { SETTINGS_NAME, TARGET_SECRETS } from '../contracts/platformbackups/names.ts'
import { STORE_URL } from '../core/outgoingUrl.ts'
import { defineKind, type ObjectOf, partColumns, READ_VERBS, statusWith, WRITE_VERBS } from './define.ts'
import { CertificatesPem, DateTime, DnsLabel, integerBetween, matching, Off, On, PlainText } from './fields.ts'
import { secretAdmission } from './referenceAdmission.ts'
import { CronSchedule } from './schedule.ts'

/** Names that S3 has ever allowed for buckets. */
const bucket = matching(
  63,
  /^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/,
  'must be the name of a bucket, 3 to 63 characters',
)

/** Where backups go. The key is in a Secret. */
export const BackupTarget = z.strictObject({
  provider: z.literal('aws').default('aws').describe('Velero plugin that writes to the target; aws speaks S3'),
  bucket: bucket.describe('The bucket, which must exist'),
  prefix: matching(256, /^[A-Za-z0-9._-]+(\/[A-Za-z0-9._-]+)*$/, 'must be a path without a slash at either end')
    .optional()
    .describe('Folder in the bucket; the whole bucket when absent'),
  region: matching(63, /^[A-Za-z0-9-]+$/, 'must be the name of a region')
    .default('us-east-1')
    .describe('Region of the bucket, which requests are signed for'),
  endpoint: matching(
    2048,
    STORE_URL,
    'must be an http or https address without a user, a query or a fragment',
  ).describe('Address of the store; private addresses may be called, link-local ones never'),
  forcePathStyle: On.describe('Whether addresses have the bucket in the path; if false, before the host'),
  caCertificate: CertificatesPem.max(32_768)
    .optional()
    .describe("Authorities for the store's certificate, in PEM; the public ones when absent"),
  secretName: z
    .enum(TARGET_SECRETS)
    .describe(
      'The Secret in freehold-system with access-key-id and secret-access-key. There are two names: write a new key to the other one, then name that here',
    ),
})
export type BackupTarget = z.output<typeof BackupTarget>

const schedule = z.strictObject({
  cron: CronSchedule.default('0 1 * * *').describe('When a backup is taken, as cron in five fields, UTC'),
  ttlHours: integerBetween(1, 87_600)
    .default(720)
    .describe('Hours for which a backup is kept, from 1 to 87600; applies to later backups'),
  paused: Off.describe('True if no scheduled backups are taken'),
})
export type BackupSchedule = z.output<typeof schedule>

const suspendedArchive = z.strictObject({
  namespace: DnsLabel.describe('Namespace of the Cluster of CloudNativePG'),
  name: DnsLabel.describe('Name of the Cluster of CloudNativePG'),
  suspendedAt: DateTime.optional().describe('When the suspension was requested'),
  suspendedBy: PlainText.max(128).optional().describe('Id of the principal who requested it'),
})
export type SuspendedArchive = z.output<typeof suspendedArchive>

/** How the platform itself is backed up. Backups are objects of Velero. */
export const PlatformBackupSettings = defineKind({
  group: 'lifecycle',
  kind: 'PlatformBackupSettings',
  plural: 'platformbackupsettings',
  restNaming: { collection: 'backups' },
  shortNames: ['pbs'],
  placement: 'platform',
  area: 'platformbackups',
  platformForms: { 'lifecycle/view': READ_VERBS, 'lifecycle/backupsManage': WRITE_VERBS },
  description: `How the platform itself is backed up, by Velero. There is one, named ${SETTINGS_NAME}.`,
  spec: z.strictObject({
    schedule: schedule.prefault({}).describe('When backups are taken, and how long they are kept'),
    target: BackupTarget.optional().describe(
      "Target, which becomes Velero's default BackupStorageLocation; when absent, the one that Velero was installed with",
    ),
    suspendedArchives: z
      .array(suspendedArchive)
      .max(50)
      .default([])
      .describe(
        'Databases whose archive is suspended, so that the log does not fill their disks; removing one resumes it',
      ),
  }),
  status: statusWith({
    location: z.string().describe("Name of Velero's BackupStorageLocation that backups go to"),
    lastBackup: z
      .object({
        name: z.string().describe('Name of the Backup of Velero'),
        phase: z.string().describe('Its phase, as Velero reports it'),
        startedAt: DateTime.describe('When it began'),
        completedAt: DateTime.optional().describe('When it ended'),
      })
      .describe('The newest backup that has ended'),
  }),
  admission: [
    {
      on: 'CREATE',
      cel: `object.metadata.?name.orValue('') == '${SETTINGS_NAME}'`,
      message: `there is one PlatformBackupSettings, named ${SETTINGS_NAME}`,
    },
    {
      on: 'WRITE',
      cel: "variables.isExempt || object.spec.?suspendedArchives.orValue([]).all(one, !has(one.suspendedBy) || request.userInfo.username == 'p:' + one.suspendedBy || (request.operation == 'UPDATE' && one in oldObject.spec.?suspendedArchives.orValue([])))",
      message: 'suspendedBy must be your own id, or absent',
    },
    // REST requires the key itself each time.
    secretAdmission('target'),
  ],
  columns: partColumns(
    { name: 'Schedule', path: '.spec.schedule.cron' },
    { name: 'Bucket', path: '.spec.target.bucket' },
    { name: 'Last Backup', path: '.status.lastBackup.name' },
    { name: 'Ended As', path: '.status.lastBackup.phase' },
  ),
})
export type PlatformBackupSettings = ObjectOf<typeof PlatformBackupSettings>
