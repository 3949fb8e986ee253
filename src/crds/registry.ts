import { z } from 'zod'
import { DIGEST_PATTERN, REPOSITORY_PATTERN } from '../contracts/registry/names.ts'
import {
  defineKind,
  MAX_LARGE_OBJECT_BYTES,
  type ObjectOf,
  READ_VERBS,
  statusColumns,
  statusWith,
  WRITE_VERBS,
} from './define.ts'
import { DateTime, integerBetween, listSetOf, mapOf, matching, Off } from './fields.ts'
import { StartedBy, startedBySelfRule } from './startedBy.ts'

/** Maximum manifests in the record of a repository. Further ones are not shown, and never removed. */
export const DIGESTS_MAX = 1000

/** With more, all tags are read. */
export const CHANGED_TAGS_MAX = 100

export const Digest = matching(
  71,
  new RegExp(DIGEST_PATTERN),
  'must be sha256: and 64 hexadecimal digits in lower case',
)

const REPOSITORY_FORM = '<boundaryId>/<resourceGroup>/<collection>/<name>'
export const Repository = matching(200, new RegExp(REPOSITORY_PATTERN), `must be ${REPOSITORY_FORM}`)

/** An object must be in the namespace of the boundary that its repository begins with. */
const inOwnBoundary = (noun: string) => ({
  on: 'WRITE' as const,
  cel: "variables.isExempt || !has(object.spec) || request.namespace == 'boundary-' + object.spec.repository.split('/')[0]",
  message: `${noun} stands in the namespace of the boundary that its repository begins with`,
})

/** Keeps retention from removing images of a repository. */
export const RegistryPin = defineKind({
  group: 'registry',
  kind: 'RegistryPin',
  restNaming: { collection: 'pins', by: 'repository' },
  shortNames: ['rpin'],
  placement: 'boundary',
  area: 'registry',
  aggregate: true,
  description: 'Keeps images of a repository until a time, whatever the rules of retention say.',
  forms: { 'kernel/deployments/read': READ_VERBS, 'kernel/deployments/token': WRITE_VERBS },
  spec: z.strictObject({
    repository: Repository.describe(`Whose images are kept: \`${REPOSITORY_FORM}\`; immutable`),
    digests: listSetOf(Digest, 500)
      .default([])
      .describe('Manifests to keep. Without any, and without keepLast and keepForDays, everything is kept'),
    keepLast: integerBetween(1, 1000).optional().describe('Minimum number of newest tagged manifests to keep'),
    keepForDays: integerBetween(1, 3650)
      .optional()
      .describe('Minimum days after push or pull to keep tagged manifests'),
    expiresAt: DateTime.describe('When the pin stops keeping anything; the object stays until somebody deletes it'),
  }),
  status: z.object({}),
  immutable: ['repository'],
  admission: [inOwnBoundary('a pin')],
  columns: [
    { name: 'Repository', path: '.spec.repository' },
    { name: 'Expires', path: '.spec.expiresAt' },
    { name: 'Keep Last', path: '.spec.keepLast', type: 'integer', priority: 1 },
    { name: 'Keep Days', path: '.spec.keepForDays', type: 'integer', priority: 1 },
  ],
})
export type RegistryPin = ObjectOf<typeof RegistryPin>

const PushTimes = z.strictObject({
  pushedAt: DateTime.describe('When it was pushed, or first seen'),
  lastPulledAt: DateTime.optional().describe('When it was last pulled; exact to an hour'),
})

const ShownManifest = z.object({
  digest: z.string().max(71).describe('sha256 of the manifest'),
  tags: z.array(z.string().max(128)).max(1000).describe('Tags that point to it'),
  mediaType: z.string().max(128).describe('Media type of the manifest'),
  sizeBytes: z.int().describe('Bytes of the manifest and of everything that it references'),
  pushedAt: DateTime.describe('When it was pushed, or first seen'),
  lastPulledAt: DateTime.optional().describe('When it was last pulled; exact to an hour'),
  references: z.array(z.string().max(71)).max(500).describe('Manifests that it needs'),
  subject: z.string().max(71).optional().describe('The manifest that it describes'),
})
/** What the manifest itself decides. */
const HeldManifest = ShownManifest.omit({ pushedAt: true })

/** Maximum characters of all shown manifests: an etcd object has room for three times as much. */
const MAX_SHOWN_CHARACTERS = 400_000

/** Returns the manifests that a repository's record has room for. Whoever pushes decides their content. */
export function shownManifests<Held extends Pick<z.infer<typeof ShownManifest>, 'digest'>>(
  held: readonly Held[],
): Held[] {
  let left = MAX_SHOWN_CHARACTERS
  return held.slice(0, DIGESTS_MAX).filter((one) => {
    const { length } = JSON.stringify(one)
    const isShown = length <= left && HeldManifest.safeParse(one).success
    if (isShown) left -= length
    return isShown
  })
}

/** What is known of a repository of the registry. */
export const RegistryRepository = defineKind({
  group: 'registry',
  kind: 'RegistryRepository',
  restNaming: { collection: 'repositories', by: 'repository' },
  shortNames: ['rrepo'],
  placement: 'boundary',
  bytesMax: MAX_LARGE_OBJECT_BYTES,
  area: 'registry',
  aggregate: true,
  description: 'A repository of the registry, as the registry reports it; only the platform writes it.',
  forms: { 'kernel/deployments/read': READ_VERBS },
  spec: z.strictObject({
    repository: Repository.describe(`\`${REPOSITORY_FORM}\`; immutable`),
    announcedAt: DateTime.describe('When it was last pushed to or deleted from, after which its content is read again'),
    changedTags: listSetOf(matching(128, /^\w[\w.-]{0,127}$/, 'must be a tag of an image'), CHANGED_TAGS_MAX)
      .optional()
      .describe('Tags that were pushed since it was read; when absent, all tags are read'),
    digests: mapOf(PushTimes, DIGESTS_MAX).default({}).describe('Times that the registry does not keep, by digest'),
  }),
  status: statusWith({
    readAt: DateTime.describe('The announcedAt that digests were read for'),
    lastPushAt: DateTime.describe('When it was last pushed to'),
    lastPullAt: DateTime.describe('When it was last pulled from; exact to an hour'),
    tagCount: z.int().describe('Number of tags'),
    digests: z.array(ShownManifest).max(DIGESTS_MAX).describe('Manifests of the repository'),
  }),
  immutable: ['repository'],
  admission: [inOwnBoundary('a repository')],
  columns: [
    { name: 'Repository', path: '.spec.repository' },
    { name: 'Tags', path: '.status.tagCount', type: 'integer' },
    { name: 'Pushed', path: '.status.lastPushAt', type: 'date' },
    { name: 'Pulled', path: '.status.lastPullAt', type: 'date' },
    ...statusColumns.map((column) => ({ ...column, priority: 1 as const })),
  ],
})
export type RegistryRepository = ObjectOf<typeof RegistryRepository>

/** States of a run, in order: a run never goes back. */
export const RUN_STATES = ['Queued', 'Running', 'CollectingGarbage', 'Succeeded', 'PartiallyFailed', 'Failed'] as const
export const isRunOver = (state: string | undefined) =>
  state === 'Succeeded' || state === 'PartiallyFailed' || state === 'Failed'
/** Whether a run is removing images; meanwhile nobody gets a push token. */
export const isRunActing = (state: string | undefined) => state === 'Running' || state === 'CollectingGarbage'

/** One removal of what retention does not keep. */
export const RetentionRun = defineKind({
  group: 'registry',
  kind: 'RetentionRun',
  restNaming: { collection: 'runs' },
  shortNames: ['rrun'],
  placement: 'platform',
  name: 'free',
  area: 'registry',
  description: 'One pass over the registry that removes what retention does not keep. Runs take turns.',
  platformForms: { 'registry/audit/read': READ_VERBS, 'registry/retention/manage': ['create'] },
  spec: z.strictObject({
    dryRun: Off.describe('Whether it only counts what would be removed; immutable'),
    trigger: z
      .enum(['Manual', 'Scheduled'])
      .default('Manual')
      .describe('Manual, or Scheduled, which the platform creates once a day; immutable'),
    notBefore: DateTime.optional().describe('When it may begin; at once when absent; immutable'),
    startedBy: StartedBy,
  }),
  status: statusWith({
    state: z.enum(RUN_STATES).describe('Queued, Running, CollectingGarbage, then Succeeded, PartiallyFailed or Failed'),
    startedAt: DateTime.describe('When it began'),
    finishedAt: DateTime.describe('When it ended'),
    removedManifests: z.int().describe('Number of manifests that were removed, or would be in a dry run'),
    failedManifests: z.int().describe('Number of manifests that the registry did not remove'),
    freedBytes: z.int().describe('Bytes of the removed manifests and their layers; shared layers count each time'),
    error: z.string().max(1024).describe('Why it failed, as a sentence'),
    removing: z
      .array(
        z.object({
          repository: z.string().max(200).describe(`Repository of the manifest: \`${REPOSITORY_FORM}\``),
          digest: z.string().max(71).describe('The manifest'),
          sizeBytes: z.int().describe('Bytes of the manifest and of everything that it references'),
        }),
      )
      .max(500)
      .describe('What is being removed now; an interrupted run resumes there'),
    stuck: z.array(z.string().max(71)).max(500).describe('Manifests that the registry did not remove'),
  }),
  immutable: ['dryRun', 'trigger', 'notBefore', 'startedBy'],
  admission: [startedBySelfRule],
  columns: [
    { name: 'State', path: '.status.state' },
    { name: 'Trigger', path: '.spec.trigger' },
    { name: 'Dry Run', path: '.spec.dryRun', type: 'boolean' },
    { name: 'Removed', path: '.status.removedManifests', type: 'integer' },
    { name: 'Freed', path: '.status.freedBytes', type: 'integer' },
    { name: 'Finished', path: '.status.finishedAt', type: 'date' },
  ],
})
export type RetentionRun = ObjectOf<typeof RetentionRun>
