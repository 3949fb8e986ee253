import { z } from 'zod'
import { MAX_CONTENT_BYTES } from '../contracts/blueprints/document.ts'
import { EXECUTION_STAGES, EXECUTION_STATES, EXECUTION_STEP_STATES } from '../contracts/blueprints/executions.ts'
import { slugRefusal } from '../contracts/blueprints/template.ts'
import {
  defineKind,
  MAX_LARGE_OBJECT_BYTES,
  messageColumn,
  type ObjectOf,
  READ_VERBS,
  type Rule,
  statusColumns,
  statusWith,
  WRITE_VERBS,
} from './define.ts'
import { DateTime, mapOf, PlainText, Prose, ResourceName, Uuid } from './fields.ts'

const templateSpec = z.strictObject({
  slug: ResourceName.describe('Name of the blueprint in URLs, the same as in the content; immutable'),
  content: Prose.min(1)
    .max(MAX_CONTENT_BYTES)
    .describe('The template as YAML or JSON, at most 256 KiB: docs/areas/blueprints.md describes the format'),
  sourcePath: PlainText.max(512).optional().describe('File in the source, below its folder; written by the platform'),
  sourceId: Uuid.optional().describe('BlueprintSource that it was read from; written by the platform; immutable'),
})

const slugRule: Rule<z.output<typeof templateSpec>> = {
  cel: "!(self.slug in ['config', 'catalog', 'deploys', 'sources', 'templates']) && !self.slug.matches('^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$')",
  message: 'slug must not be a uuid, nor one of config, catalog, deploys, sources and templates',
  field: 'slug',
  test: ({ slug }) => slugRefusal(slug) === undefined,
}

/** The schema counts characters, of up to four bytes each. Not a rule of the field: its refusal would repeat the text. */
const contentRule: Rule<z.output<typeof templateSpec>> = {
  cel: `size(bytes(self.content)) <= ${MAX_CONTENT_BYTES}`,
  message: `content must have at most ${MAX_CONTENT_BYTES} bytes`,
  field: 'content',
  test: ({ content }) => Buffer.byteLength(content) <= MAX_CONTENT_BYTES,
}

/** A deployable template. Those of a boundary stand in its namespace, those of the platform in freehold-system. */
export const BlueprintTemplate = defineKind({
  group: 'delivery',
  kind: 'BlueprintTemplate',
  restNaming: { collection: 'blueprints', by: 'slug' },
  shortNames: ['bpt'],
  placement: 'boundaryOrPlatform',
  bytesMax: MAX_LARGE_OBJECT_BYTES,
  name: 'free',
  area: 'blueprints',
  description: 'A template of resources that are created together. Its name is its slug.',
  forms: { 'blueprints/read': READ_VERBS, 'blueprints/templates/write': WRITE_VERBS },
  spec: templateSpec,
  status: statusWith({
    name: z.string().describe('Name of the blueprint for people; absent if it is not valid'),
    version: z.string().describe('Its version; absent if it is not valid'),
    problems: z.int().describe('Number of problems in the content'),
    digest: z.string().describe('SHA-256 of the content that was read last'),
    updatedAt: DateTime.describe('When the content was last found to have changed'),
  }),
  immutable: ['slug', 'sourceId'],
  rules: [slugRule, contentRule],
  admission: [
    {
      on: 'WRITE',
      cel: 'variables.isExempt || !has(object.spec) || (!has(object.spec.sourceId) && !has(object.spec.sourcePath) && object.metadata.name == object.spec.slug)',
      message: 'a template must be named like its slug, and only the platform writes what comes from a source',
    },
    {
      on: 'DELETE',
      cel: 'variables.isExempt || !has(oldObject.spec.sourceId)',
      message: 'what comes from a source is deleted with its file in the repository, or with the source',
    },
  ],
  columns: [
    { name: 'Slug', path: '.spec.slug' },
    { name: 'Version', path: '.status.version' },
    ...statusColumns,
    { name: 'Problems', path: '.status.problems', type: 'integer', priority: 1 },
    messageColumn,
  ],
})
export type BlueprintTemplate = ObjectOf<typeof BlueprintTemplate>

const ComponentName = PlainText.min(1).max(52)
const Collection = PlainText.max(64)

const Step = z.strictObject({
  component: ComponentName.describe('Name of the component in the template'),
  collection: Collection.describe('Collection of the resource'),
  resourceName: PlainText.max(253).describe('Name of the resource in REST'),
  objectName: PlainText.max(253).describe('Name of the object'),
  dependsOn: z.array(ComponentName).max(30).optional().describe('Components that must be ready first'),
  isSkipped: z.boolean().optional().describe('Whether the condition of the component was not met; false when absent'),
  retain: z.boolean().optional().describe('Whether it is kept when a later version drops it; false when absent'),
  body: z.string().max(131_072).describe('The body that REST received for it, as JSON'),
  manifest: z.string().max(131_072).optional().describe('The spec of a new resource, as JSON'),
  patch: z
    .string()
    .max(131_072)
    .optional()
    .describe(
      'The changes to the spec of an existing resource, as a JSON merge patch: all fields that the template sets, changed or not',
    ),
  value: z.string().max(65_536).optional().describe('For a secret of a vault, the expression for its value'),
})

const executionSpec = z.strictObject({
  slug: ResourceName.describe('The blueprint; immutable'),
  blueprintName: PlainText.max(128).describe('Its name for people; immutable'),
  version: PlainText.max(128).describe('Its version; immutable'),
  name: ResourceName.describe('Name of the deployment, which owns what it creates; immutable'),
  resourceGroup: ResourceName.describe('Group that everything is created in; immutable'),
  clusterId: Uuid.describe('Cluster for resources that may run on any; immutable'),
  startedBy: PlainText.max(128).describe('Id of the principal who requested it; immutable'),
  retryOf: Uuid.optional().describe('The execution that failed before; immutable'),
  takenOver: z
    .array(ComponentName)
    .max(30)
    .optional()
    .describe('Components that were ready in the failed execution; immutable'),
  lateMark: z
    .string()
    .regex(/^[a-z0-9]{1,32}$/, 'must be up to 32 lower-case letters and digits')
    .optional()
    .describe('Prefix of placeholders for values that are known later; none when absent; immutable'),
  parameters: mapOf(z.string().max(4096), 50).describe('Values, secret ones masked; immutable'),
  secretParameters: z
    .array(PlainText.max(64))
    .max(50)
    .optional()
    .describe('Parameters whose values are in the Secret beside it; immutable'),
  steps: z.array(Step).min(1).max(30).describe('The resources to create, each after those it depends on; immutable'),
  outputs: z
    .array(
      z.strictObject({
        name: PlainText.max(64).describe('Name of the output'),
        secret: z.boolean().optional().describe('Whether only a reference is shown; false when absent'),
        value: z.string().max(8192).optional().describe('Expression for the value'),
        component: ComponentName.optional().describe('Component whose output it is'),
        output: PlainText.max(64).optional().describe('Name of that output'),
      }),
    )
    .max(50)
    .optional()
    .describe('The outputs to show at the end; immutable'),
})

/** One deployment of a blueprint. Only the platform writes it; callers request one through REST. */
export const BlueprintExecution = defineKind({
  group: 'delivery',
  kind: 'BlueprintExecution',
  restNaming: { collection: 'deploys' },
  shortNames: ['bpx'],
  placement: 'boundary',
  name: 'uuid',
  area: 'blueprints',
  description: 'One deployment of a blueprint. Its name is the id of the execution.',
  forms: { 'blueprints/read': READ_VERBS },
  writtenByPlatform: 'deploy through REST, which checks the rights of the caller',
  spec: executionSpec,
  status: statusWith({
    state: z.enum(EXECUTION_STATES).describe('State of the execution; Queued when absent'),
    stage: z.enum(EXECUTION_STAGES).describe('The current step'),
    message: z.string().describe('Why it failed, or what it waits for, in one sentence'),
    startedAt: DateTime.describe('When it began'),
    finishedAt: DateTime.describe('When it ended'),
    steps: z
      .array(
        z.object({
          component: z.string().describe('Name of the component'),
          status: z.enum(EXECUTION_STEP_STATES).describe('State of the step'),
          message: z.string().optional().describe('What it waits for, or why it failed'),
          uid: z.string().optional().describe('metadata.uid of the object that was created or changed'),
          startedAt: DateTime.optional().describe('When the step began'),
          finishedAt: DateTime.optional().describe('When the step was ready or had failed'),
        }),
      )
      .max(30)
      .describe('State of each step'),
    outputs: z
      .array(
        z.object({
          name: z.string().describe('Name of the output'),
          value: z.string().optional().describe('Its value; absent if it is not known'),
        }),
      )
      .max(50)
      .describe('Outputs that are not secret'),
  }),
  immutable: Object.keys(executionSpec.shape) as (keyof z.output<typeof executionSpec>)[],
  columns: [
    { name: 'Blueprint', path: '.spec.slug' },
    { name: 'Deployment', path: '.spec.name' },
    { name: 'Group', path: '.spec.resourceGroup' },
    { name: 'State', path: '.status.state' },
    { name: 'Stage', path: '.status.stage', priority: 1 },
    { name: 'Message', path: '.status.message', priority: 1 },
  ],
})
export type BlueprintExecution = ObjectOf<typeof BlueprintExecution>
export type ExecutionStep = BlueprintExecution['spec']['steps'][number]
