import { z } from 'zod'
import { appAdmission, appRules } from './appRules.ts'
import { RuntimeVersion } from './appruntimes.ts'
import { Command, codeFields, deploymentRequests } from './codeFields.ts'
import {
  BackupPolicyInSpec,
  EnvironmentVariableField,
  ImageReference,
  VaultReferenceField,
  VolumeField,
} from './containerFields.ts'
import { containerStatus, HostName } from './containerinstances.ts'
import { defineKind, MAX_LARGE_OBJECT_BYTES, type ObjectOf, resourceColumns, statusWith } from './define.ts'
import { deployedStatus } from './deployments.ts'
import {
  DateTime,
  integerBetween,
  listMapOf,
  listSetOf,
  MountPath,
  matching,
  Off,
  On,
  ResourceName,
  Tags,
} from './fields.ts'
import { AllowedCidrs, ClusterId, OnDelete, RestartedAt, Running } from './workloadFields.ts'

/** Name of the only component of an app. */
export const APP_COMPONENT = 'app'

export const AppVolumeField = VolumeField.extend({
  mountPath: MountPath.describe('Mount path in the container'),
})

const replicas = integerBetween(0, 20)

const spec = z.strictObject({
  clusterId: ClusterId,
  sourceKind: z
    .enum(['Repository', 'Image', 'Upload'])
    .describe('Repository is built from Git, Upload from an archive, Image is run as it is; immutable'),
  ...codeFields,
  dockerfilePath: matching(
    255,
    /^[A-Za-z0-9_@+.-]+(\/[A-Za-z0-9_@+-][A-Za-z0-9._@+-]*)*$/,
    'must be a relative path of plain names',
  )
    .optional()
    .describe('Dockerfile to build from, below rootPath; if absent, the runtime determines the build'),
  image: ImageReference.optional().describe('Image to run, for sourceKind Image'),
  runtime: ResourceName.optional().describe('Name of an AppRuntime; detected if absent'),
  runtimeVersion: RuntimeVersion.optional().describe('One of its versions; its default if absent'),
  startCommand: Command.optional().describe("Start command, run by a shell; the image's own command if absent"),
  computePlan: ResourceName.optional().describe('Name of a ComputePlan of family App; the default one if absent'),
  replicas: replicas.default(1).describe('How many copies run, unless minReplicas and maxReplicas are set'),
  minReplicas: replicas
    .min(1)
    .optional()
    .describe('Minimum number of copies; with maxReplicas, the number follows the load'),
  maxReplicas: replicas
    .min(1)
    .optional()
    .describe('Maximum number of copies; with minReplicas, the number follows the load'),
  targetCpuPercent: integerBetween(10, 95)
    .default(70)
    .describe('CPU usage, in percent of the request, above which copies are added'),
  port: integerBetween(1, 65_535).default(8080).describe('Port that the app listens on; passed to it as PORT'),
  healthPath: matching(1024, /^(\/[!-~]*)?$/, 'must begin with a slash and hold no spaces')
    .default('/')
    .describe('Path whose answer shows that a copy is ready; if empty, a connection is enough'),
  env: listMapOf('name', EnvironmentVariableField, 200).default([]).describe('Environment variables of the process'),
  volumes: listMapOf('name', AppVolumeField, 5).default([]).describe('Volumes of the app'),
  releaseCommand: Command.optional().describe(
    'Command that a shell runs once before a new version gets traffic; if it fails, the old version keeps serving',
  ),
  running: Running,
  registryCredential: VaultReferenceField.optional().describe(
    'Vault secret with a dockerconfigjson, for a private image',
  ),
  managedIdentity: Off.describe('True gives the app an identity of its own, with credentials mounted as files'),
  isPublic: On.describe('True gives it a public host, over HTTPS'),
  customDomains: listSetOf(HostName, 10).default([]).describe('Further public hosts, unique on the platform'),
  allowedCidrs: AllowedCidrs.describe(
    'Networks that may use the public hosts (of ingress-nginx only), in CIDR notation, at most 50 with commas between; all if absent',
  ),
  httpsOnly: On.describe('Whether requests without TLS are redirected to HTTPS (by ingress-nginx)'),
  sessionAffinity: Off.describe(
    'Whether requests of one client go to one copy: by a cookie (with ingress-nginx), otherwise by client address',
  ),
  requestTimeoutSeconds: integerBetween(1, 3600)
    .default(60)
    .describe('Seconds within which the app must answer a request'),
  backupPolicy: BackupPolicyInSpec.optional().describe('How its volumes are backed up; not at all if absent'),
  ...deploymentRequests,
  restartedAt: RestartedAt,
  onDelete: OnDelete.describe('Delete removes the volumes with it; Retain keeps them for an app of the same name'),
  tags: Tags.prefault({}),
})

const revision = z.object({
  number: z.int().describe('Number of the revision, from 1'),
  createdAt: DateTime.describe('When it was created'),
  createdBy: z.string().optional().describe('Who requested it; absent if not through REST'),
  reason: z.string().describe('Created, Updated, RolledBack or Redeployed'),
  image: z.string().optional().describe('Image of the revision'),
  commit: z.string().optional().describe('Commit of the revision; absent if unknown'),
  deploymentId: z.string().optional().describe('Id of the DeploymentRecord that brought its image'),
})

/** An app: one process in as many copies as it needs, of an image or of code that the platform builds. */
export const PlatformApp = defineKind({
  group: 'compute',
  kind: 'PlatformApp',
  segment: 'apps',
  shortNames: ['papp'],
  placement: 'group',
  bytesMax: MAX_LARGE_OBJECT_BYTES,
  area: 'apps',
  runsAnywhere: true,
  actions: 'apps',
  sized: 'App',
  // Called before the API server has applied defaults.
  hostsOf: ({ isPublic = true, customDomains = [] }) => (isPublic ? customDomains : []),
  description: 'A process in as many copies as it needs, of an image or of code that the platform builds.',
  spec,
  status: statusWith({
    ...containerStatus,
    ...deployedStatus,
    servingRevision: z.int().describe('Number of the revision that is served; absent before the first one'),
    releasedRevision: z.int().describe('Revision whose release command was run; it runs once per revision'),
    probation: z
      .object({
        revision: z.int().describe('Revision since which the copies are unchanged'),
        seconds: z.int().describe('How long each copy must run before it gets requests'),
      })
      .describe('Conditions that new copies must meet; absent before the first ones'),
    served: z
      .array(z.string())
      .max(20)
      .describe('Hashes of configurations that have served, which need no new probation'),
    revisions: z.array(revision).max(20).describe('The newest revisions'),
    deployRequestedAt: DateTime.describe(
      'The spec.deploy.requestedAt that was acted on last; absent before the first one',
    ),
    deployedCode: z.string().describe('Hash of the location and build settings of the code, as last deployed'),
  }),
  immutable: ['clusterId', 'sourceKind'],
  rules: appRules,
  admission: appAdmission,
  columns: resourceColumns(
    { name: 'Source', path: '.spec.sourceKind' },
    { name: 'Ready Replicas', path: '.status.readyReplicas', type: 'integer' },
    { name: 'Revision', path: '.status.revision', type: 'integer' },
    { name: 'Serving', path: '.status.servingRevision', type: 'integer' },
    { name: 'URL', path: '.status.publicUrl' },
    { name: 'Image', path: '.status.servingImage', priority: 1 },
  ),
  selectable: ['spec.computePlan', 'status.phase'],
})
export type PlatformApp = ObjectOf<typeof PlatformApp>
