import { z } from 'zod'
import { CATALOGUE_PROVIDERS, CATALOGUE_STATES, INVALID_FILES_SHOWN_MAX } from '../contracts/blueprints/sources.ts'
import { OUTGOING_URL_PATTERNS } from '../core/outgoingUrl.ts'
import { celMayUseSource, sourceForbiddenMessage } from './codeFields.ts'
import { defineKind, type ObjectOf, READ_VERBS, type Rule, statusColumns, statusWith, WRITE_VERBS } from './define.ts'
import { DateTime, matching, On } from './fields.ts'
import { BranchOrTag } from './gitFields.ts'
import { celUnchanged } from './referenceAdmission.ts'

/** Only https. Whether an address may be called is checked at each call. */
export const RepositoryUrl = z
  .string()
  .min(9)
  .max(2048)
  .regex(OUTGOING_URL_PATTERNS.repository, 'must be an https address without a user, a query or a fragment')

/** Control and bidirectional characters, which names in a Git tree must not contain; nor may a name be `.` or `..`. */
const CONTROL_CHARACTERS = String.raw`\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069`
const [START, PART] = [`[^./${CONTROL_CHARACTERS}]`, `[^/${CONTROL_CHARACTERS}]`]
const NAME = String.raw`(${START}${PART}*|\.${START}${PART}*|\.\.${PART}+)`

/** A folder below the root of the repository. `normalizeFolder` normalizes its spellings. */
export const FolderPath = z
  .string()
  .min(1)
  .max(512)
  .regex(
    new RegExp(String.raw`^(\./|/)?(${NAME}(/${NAME})*/?)?$`),
    'must be a path such as /blueprints, without the names . and .. and without control characters',
  )

const Installation = matching(64, /^[A-Za-z0-9-]+$/, 'must be the id of an installation, or of a deployment source')
const Repository = z
  .string()
  .min(1)
  .max(128)
  .regex(/^[A-Za-z0-9_{}.-]+$/, 'must be the id of a repository')

const spec = z.strictObject({
  provider: z.enum(CATALOGUE_PROVIDERS).default('Git').describe('Type of the repository host; immutable'),
  repositoryUrl: RepositoryUrl.optional().describe('A public repository; immutable'),
  installationId: Installation.optional().describe(
    'Deployment source of the boundary whose credentials are used, by its id or its installation; immutable',
  ),
  repositoryId: Repository.optional().describe('Repository of that source, by the id of the provider; immutable'),
  ref: BranchOrTag.default('main').describe('Branch or tag'),
  path: FolderPath.default('/').describe('Folder of the templates, from the root; includes the folders below it'),
  enabled: On.describe('Whether it is read and its templates can be deployed'),
  requests: z
    .strictObject({ syncAt: DateTime.optional().describe('When an immediate read was last requested') })
    .prefault({})
    .describe('Requests of people to the source'),
})
type Spec = z.output<typeof spec>

const rules: Rule<Spec>[] = [
  {
    cel: 'has(self.repositoryUrl) != (has(self.installationId) && has(self.repositoryId)) && has(self.installationId) == has(self.repositoryId)',
    message: 'either repositoryUrl is required, or installationId with repositoryId',
    field: 'repositoryUrl',
    test: ({ repositoryUrl, installationId, repositoryId }) =>
      (installationId === undefined) === (repositoryId === undefined) &&
      (repositoryUrl === undefined) !== (installationId === undefined),
  },
]

/** A folder of a Git repository that templates of the boundary are read from. */
export const BlueprintSource = defineKind({
  group: 'delivery',
  kind: 'BlueprintSource',
  restNaming: { collection: 'sources' },
  shortNames: ['bps'],
  placement: 'boundary',
  name: 'uuid',
  area: 'blueprints',
  description: 'A folder of a Git repository whose templates the boundary can deploy. Its name is its id.',
  forms: { 'blueprints/read': READ_VERBS, 'blueprints/templates/write': WRITE_VERBS },
  spec,
  status: statusWith({
    state: z.enum(CATALOGUE_STATES).describe('State of the source; Pending when absent'),
    message: z.string().max(1024).describe('Why it fails, in one sentence'),
    repositoryFullName: z.string().describe('Name of the repository at its provider'),
    revision: z.string().describe('Commit that was read last'),
    readAt: z.string().describe('Ref and path that this commit was read at'),
    templateCount: z.int().describe('Number of templates in the source'),
    invalidCount: z.int().describe('Number of files that are not valid templates'),
    invalidTemplates: z
      .array(
        z.object({
          path: z.string().describe('The file, below the folder'),
          errors: z
            .array(
              z.object({
                severity: z.string().describe('Error or Warning'),
                code: z.string().describe('What is wrong, as a constant'),
                path: z.string().describe('Place in the file, as a JSON Pointer'),
                line: z.int().optional().describe('Its line, from 1'),
                column: z.int().optional().describe('Its column, from 1'),
                message: z.string().describe('The same as a sentence'),
              }),
            )
            .max(5)
            .describe('Its first five problems'),
          keeps: z
            .string()
            .optional()
            .describe('Slug of its last valid template, which stays until the file is fixed or deleted'),
        }),
      )
      .max(INVALID_FILES_SHOWN_MAX)
      .describe('Files that are not valid templates, and why'),
    syncedAt: DateTime.describe('The syncAt that was last handled'),
    syncedGeneration: z.int().describe('The metadata.generation that it was last read for'),
    heardDelivery: z.string().describe('The push that it was last read for'),
    lastSyncAt: DateTime.describe('When it was last read completely'),
    triedAt: DateTime.describe('When it was last read, or failed'),
    triedWith: z
      .string()
      .describe('Version of the Secret with the credentials that it was last read with; absent if there was none'),
    failures: z.int().describe('Failures in a row; absent if there are none'),
    nextAttemptAt: DateTime.describe('After a failure, when it is read again unless a read is requested before'),
  }),
  immutable: ['provider', 'repositoryUrl', 'installationId', 'repositoryId'],
  rules,
  admission: [
    {
      on: 'WRITE',
      cel: `variables.isExempt || !has(object.spec.installationId) || ${celUnchanged('installationId', 'repositoryId', 'ref', 'path')} || ${celMayUseSource('request.namespace')}`,
      message: sourceForbiddenMessage('installationId'),
    },
  ],
  columns: [
    { name: 'Repository', path: '.spec.repositoryUrl' },
    { name: 'Ref', path: '.spec.ref' },
    ...statusColumns,
    { name: 'Templates', path: '.status.templateCount', type: 'integer' },
    { name: 'Invalid', path: '.status.invalidCount', type: 'integer' },
    { name: 'Revision', path: '.status.revision', priority: 1 },
    { name: 'Next attempt', path: '.status.nextAttemptAt', priority: 1 },
    { name: 'Message', path: '.status.message', priority: 1 },
  ],
})
export type BlueprintSource = ObjectOf<typeof BlueprintSource>
