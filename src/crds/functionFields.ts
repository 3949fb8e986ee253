import { z } from 'zod'
import { VaultReferenceField } from './containerFields.ts'
import { DateTime, integerBetween, listSetOf, matching, PlainText, ResourceName, Uuid } from './fields.ts'
import { ListedCronSchedule } from './schedule.ts'
import { stripDefaults } from './schemaDefaults.ts'

export const HTTP_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const
export const AUTH_LEVELS = ['Platform', 'Secret', 'Anonymous'] as const

export const FunctionPath = matching(
  128,
  /^\/$|^(\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$/,
  'must be / or begin with a slash and hold plain names between slashes, such as /orders/new',
)

export const TriggerField = z.strictObject({
  name: ResourceName.describe('Name of the trigger in the function'),
  kind: z.enum(['Http', 'Timer']).describe('Http is called by requests to a path, Timer on a schedule'),
  path: FunctionPath.optional().describe(
    'For an Http trigger: it serves this path and everything below, unless another function of the namespace serves a longer one',
  ),
  methods: listSetOf(z.string().regex(new RegExp(`^(${HTTP_METHODS.join('|')})$`), 'must be an HTTP method'), 7)
    .default(['GET', 'POST'])
    .describe('Methods that an Http trigger accepts; GET and POST if absent'),
  authLevel: z
    .enum(AUTH_LEVELS)
    .default('Platform')
    .describe(
      'Who may call: Platform needs a token of the platform whose holder may read the namespace, Secret the header x-function-key, Anonymous nothing',
    ),
  keySecret: VaultReferenceField.optional().describe('For the level Secret: vault secret that callers must send'),
  schedule: ListedCronSchedule.optional().describe('For a Timer: when it fires, cron in five fields'),
  timeZone: matching(
    64,
    /^[A-Za-z0-9_+-]+(\/[A-Za-z0-9_+-]+)*$/,
    'must be the name of a time zone, such as Europe/Berlin',
  )
    .default('UTC')
    .describe('Time zone of the schedule'),
})
export type FunctionTrigger = z.output<typeof TriggerField>

export const TriggerInSpec = stripDefaults(TriggerField)

/** What was uploaded. The files themselves are stored beside the object. */
export const SourceField = z.strictObject({
  hash: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in 64 hexadecimal digits')
    .describe('SHA-256 of the archive'),
  sizeBytes: integerBetween(1, 33_554_432).describe('Bytes of the archive'),
  fileCount: integerBetween(1, 2000).describe('Number of files in the archive'),
  parts: integerBetween(1, 64).describe('Number of parts in which it is stored'),
  deploymentId: Uuid.describe('Deployment that builds it'),
  uploadedAt: DateTime.describe('When it was uploaded'),
  uploadedBy: PlainText.max(64).describe('Id of the principal who uploaded it'),
})
