import { z } from 'zod'
import { VaultReferenceField } from './containerFields.ts'
import { matching, PlainText, ResourceName, setOf, Uuid, whole } from './fields.ts'
import { ListedCronSchedule } from './schedule.ts'
import { sparse } from './sparse.ts'

export const HTTP_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const
export const AUTH_LEVELS = ['Platform', 'Secret', 'Anonymous'] as const

export const FunctionPath = matching(
  128,
  /^\/$|^(\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$/,
  'must be / or begin with a slash and hold plain names between slashes, such as /orders/new',
)

export const TriggerField = z.strictObject({
  name: ResourceName.describe('Name of the trigger in the function'),
  kind: z.enum(['Http', 'Timer']).describe('Http is called by requests to a path, Timer at times'),
  path: FunctionPath.optional().describe(
    'Of an Http trigger: it serves this path and all below it, unless another function of the namespace serves a longer one',
  ),
  methods: setOf(z.string().regex(new RegExp(`^(${HTTP_METHODS.join('|')})$`), 'must be an HTTP method'), 7)
    .default(['GET', 'POST'])
    .describe('Methods that an Http trigger takes; GET and POST if absent'),
  authLevel: z
    .enum(AUTH_LEVELS)
    .default('Platform')
    .describe(
      'Who may call: Platform is a token of the platform whose holder may read the namespace, Secret is the header x-function-key, Anonymous is everybody',
    ),
  keySecret: VaultReferenceField.optional().describe('Of the level Secret: the vault secret that callers must show'),
  schedule: ListedCronSchedule.optional().describe('Of a Timer: when it fires, cron in five fields'),
  timeZone: matching(
    64,
    /^[A-Za-z0-9_+-]+(\/[A-Za-z0-9_+-]+)*$/,
    'must be the name of a time zone, such as Europe/Berlin',
  )
    .default('UTC')
    .describe('Time zone that the schedule is read in'),
})
export type FunctionTrigger = z.output<typeof TriggerField>

export const TriggerInSpec = sparse(TriggerField)

/** What was uploaded. The files themselves are stored beside the object. */
export const SourceField = z.strictObject({
  hash: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in 64 hexadecimal digits')
    .describe('SHA-256 of the archive'),
  sizeBytes: whole(1, 33_554_432).describe('Bytes of the archive'),
  fileCount: whole(1, 2000).describe('Files in it'),
  parts: whole(1, 64).describe('In how many parts it is kept'),
  deploymentId: Uuid.describe('Deployment that builds it'),
  uploadedAt: z.iso.datetime({ offset: true }).describe('When it came'),
  uploadedBy: PlainText.max(64).describe('Principal that sent it'),
})
