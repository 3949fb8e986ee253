import { z } from 'zod'
import { CERTIFICATE_STATES } from '../contracts/certificates.ts'
import {
  FUNCTION_RUNTIME_NAMES,
  FUNCTION_RUNTIMES,
  MAX_CALL_SECONDS,
  namespaceOfFunction,
} from '../contracts/functions.ts'
import { EnvironmentVariableField, ImageReference } from './containerFields.ts'
import { HostName } from './containerinstances.ts'
import { defineKind, MAX_LARGE_OBJECT_BYTES, type ObjectOf, resourceColumns, statusWith } from './define.ts'
import { CancelledDeployment, deployedStatus } from './deployments.ts'
import { DateTime, integerBetween, listMapOf, listSetOf, matching, Off, On, ResourceName, Tags } from './fields.ts'
import { type FunctionTrigger, SourceField, TriggerField, TriggerInSpec } from './functionFields.ts'
import { functionVariableRules, triggerRules } from './functionRules.ts'
import {
  FunctionSecrets,
  functionSecretsAdmission,
  NamespaceSecrets,
  namespaceSecretsAdmission,
  VARIABLES_MAX,
} from './namespaceSecrets.ts'
import { celUnchanged, environmentAdmission, identityAdmission, vaultListAdmission } from './referenceAdmission.ts'
import { withDefaults } from './schemaDefaults.ts'
import { tagKeyRule } from './tags.ts'
import { AcceptedPlan, AllowedCidrs, ClusterId, ReadyReplicas } from './workloadFields.ts'
import { allowedCidrsRule, celList } from './workloadRules.ts'

const Environment = listMapOf('name', EnvironmentVariableField, VARIABLES_MAX).default([])

const versionMap = (which: 'offered' | 'ended') =>
  `{${FUNCTION_RUNTIME_NAMES.map((name) => `'${name}': ${celList(FUNCTION_RUNTIMES[name][which])}`).join(', ')}}[object.spec.runtime]`

/** What functions share: a runtime, a host, and a limit of concurrent requests. */
export const FunctionNamespace = defineKind({
  group: 'compute',
  kind: 'FunctionNamespace',
  shortNames: ['fnns'],
  placement: 'group',
  bytesMax: MAX_LARGE_OBJECT_BYTES,
  area: 'functions',
  runsAnywhere: true,
  actions: 'functions',
  sized: 'Function',
  sizesParts: true,
  hostsOf: ({ isPublic = true, customDomains = [] }) => (isPublic ? customDomains : []),
  description: 'Functions that share a runtime, a public host and a limit for simultaneous requests.',
  spec: z.strictObject({
    clusterId: ClusterId,
    runtime: z.enum(FUNCTION_RUNTIME_NAMES).describe('Runtime of its functions; immutable'),
    runtimeVersion: matching(16, /^[0-9]+(\.[0-9]+)?$/, 'must be a version such as 24 or 3.14')
      .optional()
      .describe('Version of the runtime; the newest that the platform has if absent'),
    computePlan: ResourceName.optional().describe(
      'Name of a ComputePlan of family Function, for functions that name none; the default one if absent',
    ),
    env: Environment.describe('Environment variables of all its functions'),
    functionSecrets: FunctionSecrets.default([]),
    maxConcurrency: integerBetween(1, 1000)
      .default(50)
      .describe('Maximum number of requests that all its functions serve at once'),
    managedIdentity: Off.describe(
      'True gives it an identity of its own, with credentials mounted as files into all its functions',
    ),
    running: On.describe(
      'False refuses all calls of its functions and stops all their copies; true lets them be called again',
    ),
    restartedAt: DateTime.optional().describe('A later time replaces the copies of all its functions once'),
    isPublic: On.describe('True gives it a public host, over HTTPS'),
    customDomains: listSetOf(HostName, 10).default([]).describe('Further public hosts, unique on the platform'),
    allowedCidrs: AllowedCidrs.describe(
      'Networks that may use the public hosts (of ingress-nginx only), in CIDR notation, at most 50 with commas between; all if absent',
    ),
    tags: Tags.prefault({}),
  }),
  status: statusWith({
    computePlan: AcceptedPlan,
    functionCount: z.int().default(0).describe('Number of its functions'),
    readyFunctionCount: z.int().default(0).describe('Number of its functions that can be called'),
    servingDeployments: z.array(z.string()).describe('Deployments that its functions serve'),
    identitySecret: z
      .string()
      .describe('Secret with the credentials of its identity, which its functions mount; absent without one'),
    publicHost: z.string().describe('Its platform host; absent if it is not public'),
    scope: z.string().describe('Its scope, at which the rights of callers are checked'),
    hosts: z.array(z.string()).describe('All hosts that it serves, its own first'),
    publicUrl: z.string().describe('Its public URL; absent without one'),
    certificateStatus: z
      .enum(CERTIFICATE_STATES)
      .describe('Worst state of the certificates of its custom domains; absent without any'),
  }),
  immutable: ['clusterId', 'runtime'],
  rules: [tagKeyRule, allowedCidrsRule, ...functionVariableRules],
  admission: [
    identityAdmission(`variables.isExempt || ${celUnchanged('env', 'managedIdentity')}`, 'its functions'),
    ...environmentAdmission(`variables.isExempt || ${celUnchanged('env')}`),
    ...functionSecretsAdmission,
    {
      on: 'WRITE',
      cel: `variables.isExempt || !has(object.spec.runtimeVersion) || ${celUnchanged('runtimeVersion')} || object.spec.runtimeVersion in ${versionMap('offered')}`,
      message: 'runtimeVersion must be one that the platform still has for this runtime',
    },
  ],
  columns: resourceColumns(
    { name: 'Runtime', path: '.spec.runtime' },
    { name: 'Functions', path: '.status.functionCount', type: 'integer' },
    { name: 'URL', path: '.status.publicUrl' },
  ),
  selectable: ['spec.runtime', 'status.phase'],
})
export type FunctionNamespace = ObjectOf<typeof FunctionNamespace>

/** State of the build of the last source. */
export const BUILD_STATES = ['NoSource', 'Queued', 'Building', 'Succeeded', 'Failed'] as const

/** Labels of pods contain the object's name, both names with a dot between, and a label has 63 characters. */
export const FUNCTION_NAMES_MAX_LENGTH = 62

const spec = z.strictObject({
  namespaceName: ResourceName.describe('FunctionNamespace in the same namespace of Kubernetes; immutable'),
  functionName: ResourceName.describe('Name of the function in it; immutable'),
  handler: z
    .string()
    .min(1)
    .max(255)
    .regex(
      /^[A-Za-z0-9_][A-Za-z0-9_./-]*$/,
      'must be a file of the source, and after a dot what it exports, such as index.handler',
    )
    .describe('Handler: a file of the source, and an export after a dot; the default export if absent'),
  image: ImageReference.optional().describe(
    'Image that serves the function on port 8080 instead of the built one; set by administrators',
  ),
  source: SourceField.optional().describe('The last upload; written by the platform'),
  cancelledDeployment: CancelledDeployment,
  computePlan: ResourceName.optional().describe(
    'Name of a ComputePlan of family Function; that of the namespace if absent',
  ),
  env: Environment.describe('Environment variables; they override those of the namespace with the same name'),
  namespaceSecrets: NamespaceSecrets.default([]),
  timeoutSeconds: integerBetween(1, MAX_CALL_SECONDS)
    .default(30)
    .describe('Seconds that a call may take, including its wait for a copy'),
  concurrency: integerBetween(1, 100).default(10).describe('Requests that one copy serves at once'),
  minReplicas: integerBetween(0, 20).default(0).describe('Copies that run even without calls'),
  maxReplicas: integerBetween(1, 50).default(5).describe('Maximum number of copies'),
  idleSeconds: integerBetween(10, 3600).default(120).describe('Seconds without a call after which copies stop'),
  triggers: listMapOf(
    'name',
    TriggerInSpec as z.ZodType<z.input<typeof TriggerField>, z.input<typeof TriggerField>>,
    10,
  )
    .optional()
    .describe('Triggers; requests to a path of its name if absent'),
  enabled: On.describe('False refuses all calls and stops all copies'),
  tags: Tags.prefault({}),
})
type Spec = z.output<typeof spec>

/** A function: code that runs while it is called, in as many copies as calls need. */
export const ServerlessFunction = defineKind({
  group: 'compute',
  kind: 'ServerlessFunction',
  segment: 'functions',
  restNaming: { by: 'functionName' },
  shortNames: ['sfn'],
  placement: 'group',
  bytesMax: MAX_LARGE_OBJECT_BYTES,
  name: 'free',
  area: 'functions',
  // Its namespace decides.
  runsAnywhere: true,
  actions: 'functions',
  sized: 'Function',
  isPart: true,
  partOf: { collection: FunctionNamespace.segment, nameOf: namespaceOfFunction },
  pathsOf: ({ namespaceName, ...given }) => httpPaths(given).map((path) => ({ within: namespaceName, path })),
  description: 'Code of a function namespace that runs while it is called, named `<namespace>.<function>`.',
  spec,
  status: statusWith({
    computePlan: AcceptedPlan,
    readyReplicas: ReadyReplicas,
    desiredReplicas: z.int().describe('Copies that its calls need now; written by the activator'),
    replicas: z.int().default(0).describe('Desired copies'),
    copies: z
      .array(z.string())
      .describe('Serving copies, which the activator calls: addresses, or cluster id and pod name in another cluster'),
    paths: z.array(z.string()).describe('Paths that it has claimed in its namespace'),
    keys: z
      .array(
        z.object({
          trigger: z.string().describe('Name of the trigger'),
          digest: z.string().describe("Digest of its key with a secret of the platform's own"),
        }),
      )
      .describe('Digests that check the keys of callers of triggers with level Secret'),
    lastRuns: z
      .record(z.string(), DateTime)
      .describe('For each Timer, the last time that it fired for; written by the activator'),
    timers: z
      .record(
        z.string(),
        z.object({
          schedule: z.string().describe('With its time zone'),
          since: DateTime.describe('Times before that do not count as missed'),
        }),
      )
      .describe('For each Timer, its schedule and since when; times before that do not count as missed'),
    hasValues: z.boolean().describe('Whether a Secret holds the values that its variables refer to'),
    keptSource: z
      .object({
        hash: z.string().describe('Hash of the archive'),
        parts: z.int().describe('Number of parts in which it is stored'),
      })
      .describe('The source whose files are kept'),
    image: z.string().describe('Image that its copies run; absent without one'),
    buildStatus: z.enum(BUILD_STATES).describe('State of the build of the last source'),
    builtHash: z.string().describe('Hash of the source that the image was built of'),
    lastDeploymentId: z.string().describe('The last deployment; absent before the first'),
    deployedSource: z.string().describe('The deployment of the last uploaded source, even if it is no longer kept'),
    ...deployedStatus,
  }),
  immutable: ['namespaceName', 'functionName'],
  protectedFields: { image: 'administrators', source: 'administrators' },
  rules: [
    tagKeyRule,
    ...functionVariableRules,
    ...triggerRules,
    {
      cel: `size(self.namespaceName) + size(self.functionName) <= ${FUNCTION_NAMES_MAX_LENGTH}`,
      message: `the names of a function and of its namespace have at most ${FUNCTION_NAMES_MAX_LENGTH} characters together`,
      field: 'functionName',
      test: (next: Spec) => next.namespaceName.length + next.functionName.length <= FUNCTION_NAMES_MAX_LENGTH,
    },
    {
      cel: 'self.minReplicas <= self.maxReplicas',
      message: 'minReplicas must not be more than maxReplicas',
      field: 'minReplicas',
      test: (next: Spec) => next.minReplicas <= next.maxReplicas,
    },
  ],
  admission: [
    {
      on: 'CREATE',
      cel: "object.metadata.name == object.spec.namespaceName + '.' + object.spec.functionName",
      message: 'the name of a ServerlessFunction must be <namespaceName>.<functionName>',
    },
    ...environmentAdmission(`variables.isExempt || ${celUnchanged('env', 'handler', 'image', 'source')}`),
    ...namespaceSecretsAdmission,
    vaultListAdmission(
      `variables.isExempt || ${celUnchanged('triggers')}`,
      'object.spec.?triggers.orValue([])',
      'keySecret',
      'a trigger',
    ),
  ],
  columns: resourceColumns(
    { name: 'Build', path: '.status.buildStatus' },
    { name: 'Copies', path: '.status.readyReplicas', type: 'integer' },
    { name: 'Handler', path: '.spec.handler', priority: 1 },
  ),
  selectable: ['spec.namespaceName', 'status.phase'],
})
export type ServerlessFunction = ObjectOf<typeof ServerlessFunction>

type TriggerOwner = { functionName: string; triggers?: Spec['triggers'] }

/** Returns the triggers with their defaults; without any, requests to a path of the function's name. */
export function triggersOf({ functionName, triggers }: TriggerOwner): FunctionTrigger[] {
  const given = triggers ?? [{ name: 'http', kind: 'Http' as const, path: `/${functionName}` }]
  return given.map((trigger) => withDefaults(TriggerField, trigger))
}

export function httpPaths(spec: TriggerOwner): string[] {
  return triggersOf(spec).flatMap(({ path }) => path ?? [])
}

/** Whether sources of the runtime can be built and served. */
export const hasServer = (runtime: FunctionNamespace['spec']['runtime']) =>
  FUNCTION_RUNTIMES[runtime].server !== undefined
