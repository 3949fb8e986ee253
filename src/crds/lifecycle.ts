import { z } from 'zod'
import {
  CHART_VERSION_PATTERN,
  COMPONENT_KINDS,
  COMPONENT_ROLLOUT_STATES,
  COMPONENT_STATES,
  INSTALL_KINDS,
  INSTALL_PHASES,
  INSTALL_STATES,
  INSTALL_STEP_STATES,
} from '../contracts/lifecycle.ts'
import { STALLED_REASONS } from '../core/reasons.ts'
import { defineKind, MAX_LARGE_OBJECT_BYTES, type ObjectOf, READ_VERBS, statusColumns, statusWith } from './define.ts'
import {
  DateTime,
  DisplayName,
  dnsLabel,
  listMapOf,
  listSetOf,
  mapOf,
  matching,
  ObjectName,
  Off,
  PlainText,
  ResourceName,
  ShownLine,
} from './fields.ts'
import { HttpsUrl } from './sso.ts'
import { StartedBy, startedBySelfRule } from './startedBy.ts'

/** A version as tags of charts have it: OCI tags contain no `+`. */
export const Version = matching(64, new RegExp(CHART_VERSION_PATTERN), 'must be a version, such as 1.20.0')

const Constraint = PlainText.min(1).max(128)

/** Releases of Helm have names of at most 53 characters. */
const Label = dnsLabel(53)

/** Path of a value in those of a chart. It becomes part of a key in a Secret, which limits its characters. */
const ValueKey = matching(
  128,
  /^[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z][A-Za-z0-9_-]*)*$/,
  'must be a path of names with dots, such as auth.password',
)

const Chart = z.strictObject({
  name: Label.describe('Name of the chart, and of its release in Helm'),
  url: matching(
    255,
    /^oci:\/\/[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?(\/[a-z0-9]+([._-]+[a-z0-9]+)*)+$/,
    'must be oci://, a host and a repository, without a tag',
  ).describe('Repository of a registry that holds the chart, a tag for each version: `oci://<host>/<repository>`'),
})

const RequiredValue = z.strictObject({
  key: ValueKey.describe('Dotted path in the values of the chart'),
  title: DisplayName,
  type: z.enum(['String', 'Integer', 'Boolean']).optional().describe('Type of the value; String if absent'),
  isSecret: z.boolean().optional().describe('True: never shown in answers; false if absent'),
  description: ShownLine.max(512).optional().describe('Purpose of the value; none if absent'),
  default: PlainText.max(1024).optional().describe('Default value; must be set by an administrator when absent'),
})
export type RequiredValue = z.output<typeof RequiredValue>

const Workload = z.strictObject({
  kind: z.enum(['Deployment', 'StatefulSet', 'DaemonSet']).describe('Kind of the workload'),
  namespace: Label.optional().describe('Namespace that it is in; that of the component when absent'),
  name: ObjectName.describe('Name of the Deployment, StatefulSet or DaemonSet'),
})

const ObservedWorkload = z.object({
  kind: z.string().describe('Kind of the workload'),
  namespace: z.string().describe('Namespace that it is in'),
  name: z.string().describe('Name of the Deployment, StatefulSet or DaemonSet'),
  ready: z.int().describe('Ready replicas of the current revision'),
  wanted: z.int().describe('Desired replicas'),
  version: z.string().optional().describe('Version of the chart or of the program, from its labels or its image'),
  image: z.string().optional().describe('Image of its first container'),
})

/** A component that the platform runs with. */
export const PlatformComponent = defineKind({
  group: 'lifecycle',
  kind: 'PlatformComponent',
  restNaming: { collection: 'components' },
  shortNames: ['pcomp'],
  placement: 'platform',
  bytesMax: MAX_LARGE_OBJECT_BYTES,
  area: 'lifecycle',
  description:
    'A component of the platform: one of its modules, a third-party chart, or its CRDs. Installs and rollouts set its version, which Flux installs.',
  platformForms: { 'lifecycle/view': READ_VERBS },
  spec: z.strictObject({
    title: DisplayName,
    kind: z
      .enum(COMPONENT_KINDS)
      .describe(
        'Module of the platform, ThirdPartyChart, CrdBundle with its CRDs, PlatformStep that installs a release, or LifecycleModule that carries out rollouts; immutable',
      ),
    namespace: Label.default('freehold-system').describe('Namespace that it runs in'),
    chart: Chart.optional().describe('Chart that it is installed from; without one it is only watched'),
    version: Version.optional().describe(
      'Version of the chart for Flux to install; written by installs and rollouts. If absent, Flux does nothing, whatever runs',
    ),
    requestedAt: DateTime.optional().describe('When Flux was last asked to retry the same version'),
    refreshRequestedAt: DateTime.optional().describe('When a read of the release feed was last requested'),
    dependsOn: listMapOf(
      'name',
      z.strictObject({
        name: ResourceName.describe('Component that must be installed first'),
        constraint: Constraint.optional().describe('Accepted versions of it, such as >=1.15.0 <2; all when absent'),
      }),
      20,
    )
      .default([])
      .describe('Components that must be ready before this one is installed'),
    isManualUpgrade: Off.describe('True: no rollout upgrades it, only people'),
    migratesDatabase: Off.describe('True if its upgrades change a database in a way that older versions cannot read'),
    crds: listSetOf(ObjectName, 100).default([]).describe('CustomResourceDefinitions in its chart'),
    // Without a CEL rule, because CEL has no type for arbitrary values.
    values: z
      .record(z.string(), z.unknown())
      .refine((values) => Object.keys(values).length <= 50, 'must have at most 50 names')
      .meta({ maxProperties: 50 })
      .default({})
      .describe('Fixed values of the chart, without secrets'),
    required: listMapOf('key', RequiredValue, 30)
      .default([])
      .describe('Values that an administrator sets; they are kept in the Secret install-configuration'),
    workloads: z
      .array(Workload)
      .max(20)
      .default([])
      .describe('Workloads that determine its health and running version'),
  }),
  status: statusWith({
    state: z.enum(COMPONENT_STATES).describe('NotInstalled, Installing, Ready, Degraded, Failed or Upgrading'),
    installedVersion: z.string().describe('Running version, according to Helm or the workloads; absent if none'),
    isManaged: z.boolean().describe('Whether Flux installed the running version'),
    isOutside: z
      .boolean()
      .describe('Whether it runs outside the cluster, like Freehold itself with `npm run up`; false if absent'),
    rollout: z
      .object({
        version: z.string().describe('Version that was handed to Flux'),
        requestedAt: DateTime.optional().describe('The requestedAt that was handed to Flux'),
        state: z.enum(COMPONENT_ROLLOUT_STATES).describe('Applying; Ready once it is installed and healthy; Failed'),
        message: z.string().max(1024).optional().describe('Why it is not ready, as a sentence'),
        isInstalled: z.boolean().describe('Whether Helm has finished; its workloads may not be ready yet'),
        since: DateTime.describe('When that state began'),
        healthySince: DateTime.optional().describe('Since when all its workloads are ready; absent while one is not'),
      })
      .describe('Progress of Flux with the version of the spec'),
    hasDrift: z.boolean().describe('Whether Flux sees manual changes to objects'),
    digest: z.string().describe('Digest of the chart that is installed'),
    configDigest: z.string().describe('Digest of the values that are installed'),
    wantedConfigDigest: z.string().describe('Digest of the values that Flux last tried to install'),
    workloads: z.array(ObservedWorkload).describe('Existing workloads of the spec'),
    lastChangedAt: DateTime.describe('When the running version last changed'),
    feed: z
      .object({
        readAt: DateTime.optional().describe('When the release feed was last read'),
        attemptedAt: DateTime.optional().describe('When a read was last attempted'),
        requestedAt: DateTime.optional().describe('The refreshRequestedAt that was last handled'),
        known: z.int().optional().describe('Releases that were recorded when it was last read'),
        found: z.int().optional().describe('New releases found by the last read'),
        problem: z.string().max(1024).optional().describe('Why the last attempt failed, as a sentence'),
        isUnreachable: z.boolean().optional().describe('Whether it failed because the registry did not answer'),
      })
      .describe('State of its release feed'),
  }),
  immutable: ['kind'],
  rules: [
    {
      cel: '!has(self.version) || has(self.chart)',
      message: 'a version needs a chart to install it from',
      field: 'version',
      test: ({ version, chart }) => version === undefined || chart !== undefined,
    },
  ],
  admission: [
    {
      on: 'DELETE',
      cel: '!has(oldObject.spec.version)',
      message: 'the component is installed: remove spec.version first; deleting it then uninstalls its chart',
    },
  ],
  columns: [
    { name: 'Kind', path: '.spec.kind' },
    { name: 'Installed', path: '.status.installedVersion' },
    { name: 'Wanted', path: '.spec.version', priority: 1 },
    { name: 'State', path: '.status.state' },
    ...statusColumns.map((column) => ({ ...column, priority: 1 as const })),
  ],
})
export type PlatformComponent = ObjectOf<typeof PlatformComponent>

/** A version of a component in the release feed. */
export const ComponentRelease = defineKind({
  group: 'lifecycle',
  kind: 'ComponentRelease',
  shortNames: ['crel'],
  placement: 'platform',
  area: 'lifecycle',
  description: 'A version of a component, as the release feed describes it.',
  writtenByPlatform: 'it records what the registry of the charts has',
  platformForms: { 'lifecycle/view': READ_VERBS },
  spec: z.strictObject({
    component: ResourceName.describe('Component that it is a version of; immutable'),
    version: Version.describe('Version of the chart; immutable'),
    digest: matching(71, /^sha256:[0-9a-f]{64}$/, 'must be sha256: and 64 hexadecimal digits in lower case').describe(
      'Digest of its manifest when it was first seen: a tag that moves later is refused; immutable',
    ),
    publishedAt: DateTime.optional().describe('When it was published, as the chart says'),
    notesUrl: HttpsUrl.optional().describe('Page with release notes'),
    isSchemaBreaking: Off.describe('Whether objects must be changed by hand before the upgrade'),
    migratesDatabase: Off.describe('Whether it changes a database in a way that older versions cannot read'),
    minimumFromVersion: Version.optional().describe('Oldest installed version that can be upgraded to it'),
    requiredMinor: matching(32, /^[0-9]+\.[0-9]+$/, 'must be a major and a minor version, such as 1.19')
      .optional()
      .describe('Minor version that must have been installed before it'),
    crdBundleVersion: Version.optional().describe('Version of the CRD bundle that it needs'),
    minimumOperatorVersion: Version.optional().describe('Oldest version of the operator that can install it'),
    requiredValues: listSetOf(ValueKey, 30).default([]).describe('Values that an administrator must set for it'),
    pins: mapOf(Version, 30).default({}).describe('Versions of other components that it is built for, by component'),
    isSigned: Off.describe('Whether the registry holds a signature for it'),
  }),
  status: z.object({}),
  immutable: ['component', 'version', 'digest'],
  columns: [
    { name: 'Component', path: '.spec.component' },
    { name: 'Version', path: '.spec.version' },
    { name: 'Published', path: '.spec.publishedAt', type: 'date' },
    { name: 'Breaking', path: '.spec.isSchemaBreaking', type: 'boolean', priority: 1 },
  ],
})
export type ComponentRelease = ObjectOf<typeof ComponentRelease>

/** One installation or repair of a component. */
export const ComponentInstall = defineKind({
  group: 'lifecycle',
  kind: 'ComponentInstall',
  restNaming: { collection: 'installs' },
  shortNames: ['cinst'],
  placement: 'platform',
  name: 'free',
  area: 'lifecycle',
  description: 'One installation or repair of a component. Installs and rollouts run one at a time.',
  platformForms: { 'lifecycle/view': READ_VERBS, 'lifecycle/install': ['create', 'update', 'patch'] },
  spec: z.strictObject({
    component: ResourceName.describe('Component that is installed; immutable'),
    kind: z
      .enum(INSTALL_KINDS)
      .default('Install')
      .describe('Install installs a missing component; Repair installs the same version again; immutable'),
    version: Version.optional().describe(
      'Version that is installed; the newest, or of a Repair the same, when absent; immutable',
    ),
    startedBy: StartedBy,
    requests: z
      .strictObject({
        resumeAt: DateTime.optional().describe(
          'When a resume was last requested; it takes effect while Paused or Failed',
        ),
      })
      .prefault({})
      .describe('Requests of people to the install'),
  }),
  status: statusWith({
    state: z.enum(INSTALL_STATES).describe('Queued, Running, Paused, Succeeded or Failed'),
    step: z.enum(INSTALL_PHASES).describe('Current step: Checking, Dependencies, Crds, Chart, Health or Finished'),
    version: z.string().describe('Version that it installs, chosen when it began'),
    message: z.string().max(1024).describe('Why it waits, stopped or failed, as a sentence'),
    reason: z.enum(STALLED_REASONS).describe('The reason as a constant; absent unless it is Paused or Failed'),
    startedAt: DateTime.describe('When it began'),
    finishedAt: DateTime.describe('When it ended'),
    resumedAt: DateTime.describe('The resumeAt that it last handled'),
    requestedAt: DateTime.describe('When Flux was asked to retry a version that it had failed to install'),
    steps: z
      .array(
        z.object({
          name: z.enum(INSTALL_PHASES).describe('Name of the step'),
          state: z.enum(INSTALL_STEP_STATES).describe('Pending, Running, Succeeded, Failed or Skipped'),
          message: z.string().max(1024).optional().describe('Details of the step'),
          startedAt: DateTime.optional().describe('When it began'),
          finishedAt: DateTime.optional().describe('When it ended'),
        }),
      )
      .max(INSTALL_PHASES.length)
      .describe('Its steps, in order'),
  }),
  immutable: ['component', 'kind', 'version', 'startedBy'],
  admission: [startedBySelfRule],
  columns: [
    { name: 'Component', path: '.spec.component' },
    { name: 'Kind', path: '.spec.kind' },
    { name: 'Version', path: '.status.version' },
    { name: 'State', path: '.status.state' },
    { name: 'Step', path: '.status.step', priority: 1 },
    { name: 'Finished', path: '.status.finishedAt', type: 'date' },
  ],
})
export type ComponentInstall = ObjectOf<typeof ComponentInstall>
