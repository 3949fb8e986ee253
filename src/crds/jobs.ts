import { z } from 'zod'
import {
  isJobFinished,
  JOB_STATES,
  parseVaultReference,
  VAULT_REFERENCE_PATTERN,
  VAULT_REFERENCE_PREFIX,
} from '../contracts/jobs.ts'
import { defineKind, MAX_LARGE_OBJECT_BYTES, messageColumn, type ObjectOf, type Rule, statusWith } from './define.ts'
import {
  Arguments,
  countCharacters,
  MAX_ALL_VALUES_CHARACTERS,
  MAX_VALUE_CHARACTERS,
  PROCESS_CHARACTER,
  SECRET_REFERENCES_MAX,
} from './environment.ts'
import { DateTime, integerBetween, mapOf, matching, Off, ResourceName, Tags } from './fields.ts'
import { mapKeysRule } from './mapRules.ts'
import { vaultTextAdmission } from './referenceAdmission.ts'
import { tagKeyRule } from './tags.ts'
import { ClusterId } from './workloadFields.ts'
import { celList } from './workloadRules.ts'

/** Returns a pattern for texts that do not begin with the prefix: RE2, as in the API server, has no look-ahead. */
function notBeginningWith(prefix: string, character: string): string {
  const [first = ''] = prefix
  const others = `|${character.slice(0, -1)}${first}]${character}*`
  if (prefix.length < 2) return others
  return `${others}|${first}(${notBeginningWith(prefix.slice(1), character)})`
}

const EnvironmentValue = matching(
  MAX_VALUE_CHARACTERS,
  new RegExp(
    `^(${notBeginningWith(VAULT_REFERENCE_PREFIX, PROCESS_CHARACTER)}|${VAULT_REFERENCE_PATTERN.slice(1, -1)})$`,
  ),
  'must not hold the character NUL, and refers to a vault secret as @vault(<vault>/<secret>)',
)

const spec = z.strictObject({
  clusterId: ClusterId,
  image: z
    .string()
    .min(1)
    .max(512)
    // A colon only before a slash: the port of a registry, not a tag.
    .regex(
      /^([a-z0-9]+([._-]+[a-z0-9]+)*(:[0-9]{1,5})?\/)?[a-z0-9]+([._/-]+[a-z0-9]+)*(@sha256:[0-9a-f]{64})?$/,
      'must be the name of an image without a tag, such as docker.io/library/python',
    )
    .describe('Image without its tag, such as docker.io/library/python; a digest may follow after @; immutable'),
  tag: matching(128, /^[A-Za-z0-9_][A-Za-z0-9._-]*$/, 'must be the tag of an image, such as 3.13')
    .default('latest')
    .describe('Tag of the image, latest if absent; ignored if the image names a digest; immutable'),
  computePlan: ResourceName.optional().describe(
    'Name of a ComputePlan of family Job; the default one if absent; immutable',
  ),
  command: Arguments.describe("Replaces the image's entry point; empty keeps it; immutable"),
  args: Arguments.describe("Replaces the image's arguments; empty keeps them; immutable"),
  env: mapOf(EnvironmentValue, 200)
    .prefault({})
    .describe(
      'Environment variables; `@vault(<vault>/<secret>)` stands for the current value of that secret at the start; immutable',
    ),
  retries: integerBetween(0, 10).default(0).describe('Number of retries of a failed run, 0 to 10; immutable'),
  noRetryExitCodes: z
    .array(integerBetween(1, 255))
    .max(32)
    .default([])
    .describe('Exit codes that fail the job at once, whatever retries are left; immutable'),
  activeDeadlineSeconds: integerBetween(1, 604_800)
    .default(3600)
    .describe(
      'Seconds that the job may take with all retries, 3600 if absent; then it is stopped as TimedOut; immutable',
    ),
  ttlSecondsAfterFinished: integerBetween(0, 2_592_000)
    .default(86_400)
    .describe(
      'Seconds that the pod stays after the end, 86400 if absent; the job with result and log stays 7 days longer; immutable',
    ),
  runAsUser: integerBetween(1, 2_147_483_647)
    .default(65_532)
    .describe('User id that the container runs as, 65532 if absent, never root; immutable'),
  cancelled: Off.describe(
    'True stops the job, which then fails, or keeps it from starting; cannot be set back to false',
  ),
  tags: Tags.prefault({}),
})
type Spec = z.output<typeof spec>

const isEnvironmentName = (name: string) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name)

const rules: Rule<Spec>[] = [
  tagKeyRule,
  {
    cel: '!oldSelf.cancelled || self.cancelled',
    message: 'a cancelled job does not go on: start another one',
    code: 'INVALID_STATE',
    field: 'cancelled',
    test: (next, previous) => !previous.cancelled || next.cancelled,
  },
  mapKeysRule('env', {
    cel: "k.matches('^[A-Za-z_][A-Za-z0-9_]*$') && size(k) <= 128",
    message: 'names in env must have at most 128 letters, digits and underscores, and must not begin with a digit',
    test: (name) => isEnvironmentName(name) && name.length <= 128,
  }),
  {
    cel: `self.env.map(name, size(self.env[name])).sum() <= ${MAX_ALL_VALUES_CHARACTERS}`,
    message: `values in env must have at most ${MAX_ALL_VALUES_CHARACTERS} characters together`,
    field: 'env',
    test: ({ env }) => countCharacters(Object.values(env)) <= MAX_ALL_VALUES_CHARACTERS,
  },
  {
    cel: `self.env.filter(name, self.env[name].startsWith('${VAULT_REFERENCE_PREFIX}')).size() <= ${SECRET_REFERENCES_MAX}`,
    message: `env may refer to at most ${SECRET_REFERENCES_MAX} vault secrets`,
    field: 'env',
    test: ({ env }) =>
      Object.values(env).filter((value) => parseVaultReference(value) !== undefined).length <= SECRET_REFERENCES_MAX,
  },
]

/** A container that runs to its end once. After creation it can only be cancelled, and its state only goes forward. */
export const PlatformJob = defineKind({
  group: 'compute',
  kind: 'PlatformJob',
  segment: 'jobs',
  shortNames: ['pjob'],
  placement: 'group',
  bytesMax: MAX_LARGE_OBJECT_BYTES,
  area: 'jobs',
  actions: 'jobs',
  sized: 'Job',
  runsAnywhere: true,
  description: 'A container that runs to its end once.',
  spec,
  status: statusWith({
    state: z.enum(JOB_STATES).describe('Pending, Running, then Succeeded, Failed or TimedOut; never back'),
    jobUid: z.string().describe('uid of the batch/v1 Job once it exists: it is never created twice'),
    pod: z.string().describe('Name of the pod of the last run'),
    startedAt: DateTime.describe('When its first container started'),
    completedAt: DateTime.describe('When it ended, successfully or not'),
    exitCode: z.int().describe('Exit code of the last run; absent if no container ended'),
    attempts: z.int().describe('Number of runs that were started'),
    logParts: z.int().describe('Parts of the kept log; 0 if there was no log; absent until the job has ended'),
    podRemovedAt: DateTime.describe('When its pods were removed'),
  }),
  immutable: (Object.keys(spec.shape) as (keyof Spec & string)[]).filter((field) => field !== 'cancelled'),
  rules,
  admission: [
    // Refused, because it would have no effect.
    {
      on: 'WRITE',
      cel: `request.operation == 'CREATE' || !object.spec.?cancelled.orValue(false) || oldObject.spec.?cancelled.orValue(false) || !(oldObject.?status.?state.orValue('') in ${celList(JOB_STATES.filter(isJobFinished))})`,
      message: 'the job has ended: there is nothing to cancel',
    },
    vaultTextAdmission(
      'object.spec.?env.orValue({})',
      `object.spec.env[name].startsWith('${VAULT_REFERENCE_PREFIX}')`,
      "object.spec.env[name].split('(')[1].split('/')[0]",
    ),
  ],
  columns: [
    { name: 'State', path: '.status.state' },
    { name: 'Exit Code', path: '.status.exitCode', type: 'integer' },
    { name: 'Image', path: '.spec.image' },
    { name: 'Started', path: '.status.startedAt', type: 'date' },
    { name: 'Ended', path: '.status.completedAt', type: 'date' },
    { name: 'Phase', path: '.status.phase' },
    messageColumn,
  ],
  selectable: ['spec.computePlan', 'status.state'],
})
export type PlatformJob = ObjectOf<typeof PlatformJob>
