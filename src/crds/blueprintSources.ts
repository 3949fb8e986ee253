import { z } from 'zod'
import {
  CATALOGUE_PROVIDERS,
  CATALOGUE_STATES,
  INVALID_SHOWN,
  PROBLEMS_SHOWN,
} from '../contracts/blueprints/catalogue.ts'
import { PROBLEM_CODES } from '../contracts/blueprints/template.ts'
import { READ, WRITE } from './blueprints.ts'
import { defineKind, type ObjectOf, type Rule, resourceStatus, statusColumns } from './define.ts'
import { BranchName } from './deployments.ts'
import { DateTime, PlainText } from './fields.ts'
import { unchanged } from './referenceAdmission.ts'

/** https alone: the same as the facade asks for. What may be called is judged when it is called. */
const RepositoryUrl = z
  .string()
  .min(9)
  .max(2048)
  .regex(/^https:\/\/[^\s@?#]+$/, 'must be an https address without a user, a query or a fragment')

const Id = z
  .string()
  .min(1)
  .max(128)
  .regex(/^[!-~]+$/, 'must be ASCII characters without spaces')

/** A folder, from the top of the repository. */
export const FolderPath = z
  .string()
  .max(512)
  .regex(
    /^\/?([A-Za-z0-9_@+.-][A-Za-z0-9_@+. -]*(\/[A-Za-z0-9_@+.-][A-Za-z0-9_@+. -]*)*\/?)?$/,
    'must be names of folders with slashes between them',
  )

const spec = z.strictObject({
  provider: z
    .enum(CATALOGUE_PROVIDERS)
    .optional()
    .describe('Whose repository it is; what its address tells when absent; immutable'),
  repositoryUrl: RepositoryUrl.optional().describe('A repository that everybody may read, over https; immutable'),
  installationId: Id.optional().describe(
    'Instead of the address: the installation of a DeploymentSource of the boundary, or its own id where its provider has none; immutable',
  ),
  repositoryId: Id.optional().describe("The provider's id of a repository of that installation; immutable"),
  repositoryFullName: PlainText.max(255).optional().describe('Its name, to show it; immutable'),
  ref: BranchName.default('main').describe('Branch, tag or commit that is read'),
  path: FolderPath.default('/').describe('Folder whose files are read, with the folders in it; / is the top'),
  enabled: z
    .boolean()
    .default(true)
    .describe('Whether it is read; the templates of one that is not stay, and are not deployed'),
  requests: z
    .strictObject({
      syncAt: DateTime.optional().describe('Set to the time to have it read now; the status repeats what was heard'),
    })
    .prefault({})
    .describe('What people ask of it'),
})
type Spec = z.output<typeof spec>

const oneRepository: Rule<Spec> = {
  cel: 'has(self.installationId) == has(self.repositoryId) && has(self.installationId) != has(self.repositoryUrl)',
  message: 'either repositoryUrl is needed, or installationId with repositoryId',
  code: 'BAD_REQUEST',
  field: 'repositoryUrl',
  test: ({ repositoryUrl, installationId, repositoryId }) =>
    (installationId === undefined) === (repositoryId === undefined) &&
    (installationId === undefined) !== (repositoryUrl === undefined),
}

/** What a repository holds is shown to whoever reads blueprints, as a token of the deployment source would. */
const READS = ['installationId', 'repositoryId', 'ref', 'path'] as const

const problem = z.object({
  severity: z.enum(['Error', 'Warning']).describe('Warnings keep no template back'),
  code: z.enum(PROBLEM_CODES).describe('What is wrong, as a constant'),
  path: z.string().max(512).describe('Where, as a JSON Pointer (RFC 6901)'),
  line: z.int().optional().describe('Line of the file'),
  column: z.int().optional().describe('Column of that line'),
  message: z.string().max(512).describe('What is wrong, as a sentence'),
})

/** A Git repository whose templates stand in the catalogue of a boundary. */
export const BlueprintSource = defineKind({
  group: 'delivery',
  kind: 'BlueprintSource',
  plural: 'blueprintsources',
  shortNames: ['bps'],
  placement: 'boundary',
  name: 'uuid',
  area: 'blueprints',
  aggregate: false,
  description: 'A Git repository whose templates stand in the catalogue of the boundary. Its name is a uuid.',
  forms: { 'blueprints/read': READ, 'blueprints/templates/write': WRITE },
  spec,
  status: resourceStatus.extend({
    state: z.enum(CATALOGUE_STATES).optional().describe('What became of the last reading; absent before the first'),
    message: z.string().optional().describe('Why it could not be read; absent if it could'),
    revision: z.string().optional().describe('Commit that the templates are of'),
    templateCount: z.int().optional().describe('Templates that it has'),
    invalidTemplates: z
      .array(
        z.object({
          path: z.string().max(1024).describe('The file, from the top of the repository'),
          errors: z.array(problem).max(PROBLEMS_SHOWN).describe(`What is wrong with it, the first ${PROBLEMS_SHOWN}`),
        }),
      )
      .max(INVALID_SHOWN)
      .optional()
      .describe(`Files that are no valid templates, the first ${INVALID_SHOWN}`),
    invalidCount: z.int().optional().describe('How many files are no valid templates'),
    lastSyncAt: DateTime.optional().describe('When it was last read with success'),
    attemptedAt: DateTime.optional().describe('When it was last tried to read it'),
    failures: z.int().optional().describe('Readings that have failed since the last success'),
    syncedAt: z.string().optional().describe('The syncAt that was last heard'),
    syncedGeneration: z.int().optional().describe('The metadata.generation that was last read by'),
    pushedDelivery: z.string().optional().describe('The delivery of a push that was last heard'),
    provider: z.enum(CATALOGUE_PROVIDERS).optional().describe('Provider of its installation'),
    repositoryUrl: z.string().optional().describe('Where the repository of its installation is'),
  }),
  immutable: ['provider', 'repositoryUrl', 'installationId', 'repositoryId', 'repositoryFullName'],
  rules: [oneRepository],
  admission: [
    {
      on: 'WRITE',
      cel: `variables.isExempt || !has(object.spec.installationId) || ${unchanged(...READS)} || authorizer.group('delivery.freehold.dev').resource('deploymentsources').namespace(request.namespace).check('use').allowed()`,
      message:
        'installationId names a deployment source whose credentials you may not use: that takes kernel/deployments/token at the boundary',
    },
  ],
  columns: [
    ...statusColumns,
    { name: 'State', path: '.status.state' },
    { name: 'Templates', path: '.status.templateCount', type: 'integer' },
    { name: 'Invalid', path: '.status.invalidCount', type: 'integer' },
    { name: 'Synced', path: '.status.lastSyncAt', type: 'date' },
    { name: 'Repository', path: '.spec.repositoryUrl', priority: 1 },
    { name: 'Ref', path: '.spec.ref', priority: 1 },
    { name: 'Message', path: '.status.message', priority: 1 },
  ],
})
export type BlueprintSource = ObjectOf<typeof BlueprintSource>
