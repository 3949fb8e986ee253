import { z } from 'zod'
import { CERTIFICATE_STATES } from '../contracts/certificates.ts'
import { SECRET_ACCESS_FIELDS } from '../contracts/containerinstances.ts'
import {
  BackupPolicyField,
  BackupPolicyInSpec,
  type BackupPolicySpec,
  ComponentField,
  ComponentName,
  type ComponentSpec,
  VaultReferenceField,
  VolumeField,
  type VolumeSpec,
} from './containerFields.ts'
import {
  backupRules,
  completeContainers,
  containerRules,
  identityRule,
  publicComponentRule,
  publicRule,
} from './containerRules.ts'
import { defineKind, MAX_LARGE_OBJECT_BYTES, type ObjectOf, type Rule, resourceColumns, statusWith } from './define.ts'
import {
  DateTime,
  integerBetween,
  listMapOf,
  listSetOf,
  mapOf,
  matching,
  Off,
  PlainText,
  ResourceName,
  Tags,
} from './fields.ts'
import { mapKeysRule } from './mapRules.ts'
import { referenceAdmission } from './referenceAdmission.ts'
import { stripDefaults, withDefaults } from './schemaDefaults.ts'
import { tagKeyRule } from './tags.ts'
import {
  AcceptedPlan,
  AllowedCidrs,
  ClusterId,
  LastRestartedAt,
  LastVolumeBackup,
  OnDelete,
  ReadyReplicas,
  RestartedAt,
  Running,
} from './workloadFields.ts'
import { allowedCidrsRule } from './workloadRules.ts'

/** The last label begins with a letter, so that no IP address matches. */
export const HostName = matching(
  253,
  /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/,
  'must be a host name in lower case, such as shop.example.com',
)

const spec = z.strictObject({
  clusterId: ClusterId,
  computePlan: ResourceName.optional().describe(
    'Name of a ComputePlan of family ContainerInstance, for components that name none; the default one if absent',
  ),
  components: listMapOf('name', stripDefaults(ComponentField), 10)
    .min(1)
    .describe('Components: each is one container in a number of copies'),
  volumes: listMapOf('name', stripDefaults(VolumeField), 10).default([]).describe('Volumes, which components mount'),
  running: Running,
  registryCredential: VaultReferenceField.optional().describe(
    'Vault secret with a dockerconfigjson, for private images',
  ),
  managedIdentity: Off.describe(
    'True gives it an identity of its own, with credentials mounted as files into every component',
  ),
  isPublic: Off.describe('True gives it a public host, over HTTPS'),
  publicComponent: ComponentName.optional().describe(
    'Component that the public host leads to; the first one with a port if absent',
  ),
  publicPort: integerBetween(1, 65_535)
    .optional()
    .describe('Port that the public host leads to; the first one of the component if absent'),
  customDomains: listSetOf(HostName, 10).default([]).describe('Further public hosts, unique on the platform'),
  allowedCidrs: AllowedCidrs.describe(
    'Networks that may use the public hosts (of ingress-nginx only), in CIDR notation, at most 50 with commas between; all if absent',
  ),
  backupPolicy: BackupPolicyInSpec.optional().describe('How its volumes are backed up; not at all if absent'),
  parameters: mapOf(PlainText.max(4096), 100)
    .prefault({})
    .describe(
      'Texts for command, args and values of env, where a name in braces after a dollar sign is replaced by its text',
    ),
  restartedAt: RestartedAt,
  redeployedAt: mapOf(DateTime, 20)
    .prefault({})
    .describe('For each component, a later time replaces all its copies once, and pulls its image again'),
  onDelete: OnDelete.describe(
    'Delete removes the volumes with it; Retain keeps them for a ContainerInstance of the same name',
  ),
  tags: Tags.prefault({}),
})
type Spec = z.output<typeof spec>

/** The spec with defaults for the absent fields of its components, volumes and hooks. */
export type SpecOfContainerInstance = Omit<Spec, 'components' | 'volumes' | 'backupPolicy'> & {
  components: ComponentSpec[]
  volumes: VolumeSpec[]
  backupPolicy?: BackupPolicySpec | undefined
}

export function completeSpec(given: Spec): SpecOfContainerInstance {
  const { backupPolicy, ...rest } = completeContainers(given)
  return { ...rest, ...(backupPolicy !== undefined && { backupPolicy: withDefaults(BackupPolicyField, backupPolicy) }) }
}

const rules: Rule<Spec>[] = [
  tagKeyRule,
  ...containerRules,
  identityRule,
  publicRule,
  publicComponentRule,
  ...backupRules,
  allowedCidrsRule,
  mapKeysRule('parameters', {
    cel: "k.matches('^[A-Za-z0-9_.-]{1,128}$')",
    message: 'names of parameters must have 1 to 128 letters, digits or _.-',
    test: (name) => /^[A-Za-z0-9_.-]{1,128}$/.test(name),
  }),
]

const admission = referenceAdmission({
  content: SECRET_ACCESS_FIELDS,
  variables: {
    each: (test) => `object.spec.components.all(c, c.?env.orValue([]).all(e, ${test}))`,
    count: (field) => `object.spec.components.map(c, size(c.?env.orValue([]).filter(e, has(e.${field})))).sum()`,
  },
})

/** Observed state of kinds that run components. */
export const containerStatus = {
  computePlan: AcceptedPlan,
  readyReplicas: ReadyReplicas,
  replicas: z.int().default(0).describe('Desired copies of all components, whether or not they run'),
  restartCount: z.int().default(0).describe('Restarts of the containers in the current copies'),
  revision: z.int().describe('Number of the newest revision; absent before the first one'),
  revisionHash: z.string().describe('Hash of the content of the newest revision, to detect changes'),
  partRevisions: z.record(z.string(), z.int()).describe('For each component, the revision since which it is unchanged'),
  publicUrl: z.string().describe('Its public URL; absent without one'),
  certificateStatus: z
    .enum(CERTIFICATE_STATES)
    .describe('Worst state of the certificates of its custom domains; absent without any'),
  certificates: z
    .array(
      z.object({
        host: z.string().describe('Custom domain'),
        status: z.enum(CERTIFICATE_STATES).describe('State of its certificate'),
        issuer: z.string().describe('ClusterIssuer that issues it'),
        notBefore: DateTime.optional().describe('Start of its validity; absent until it is issued'),
        notAfter: DateTime.optional().describe('End of its validity; absent until it is issued'),
        renewsAt: DateTime.optional().describe('When it is renewed; absent until it is issued'),
        lastError: z.string().optional().describe('Why the last attempt failed, in one word; absent if none did'),
      }),
    )
    .describe('Certificates of custom domains; absent without any'),
  publicHost: z.string().describe('Its platform host; absent if it is not public'),
  lastBackup: LastVolumeBackup,
  restartedAt: LastRestartedAt,
  components: z
    .array(
      z.object({
        name: z.string().describe('Name of the component'),
        readyReplicas: z.int().describe('Copies of the component that serve'),
        imageDigest: z.string().optional().describe('Digest of the image that its copies run; absent until one does'),
      }),
    )
    .describe('Observed state of each component'),
}

/** Containers that run until they are stopped: one or more components, with volumes and a public host. */
export const ContainerInstance = defineKind({
  group: 'compute',
  kind: 'ContainerInstance',
  shortNames: ['cti'],
  placement: 'group',
  bytesMax: MAX_LARGE_OBJECT_BYTES,
  area: 'containerinstances',
  runsAnywhere: true,
  actions: 'containerinstance',
  sized: 'ContainerInstance',
  hostsOf: ({ isPublic, customDomains = [] }) => (isPublic ? customDomains : []),
  description: 'One or more containers that run until they are stopped, with volumes and a public host.',
  spec,
  status: statusWith(containerStatus),
  immutable: ['clusterId'],
  rules,
  admission,
  columns: resourceColumns(
    { name: 'Plan', path: '.spec.computePlan' },
    { name: 'Ready Replicas', path: '.status.readyReplicas', type: 'integer' },
    { name: 'Revision', path: '.status.revision', type: 'integer' },
    { name: 'Restarts', path: '.status.restartCount', type: 'integer' },
    { name: 'URL', path: '.status.publicUrl' },
  ),
  selectable: ['spec.computePlan', 'status.phase'],
})
type StoredInstance = ObjectOf<typeof ContainerInstance>
export type ContainerInstance = Omit<StoredInstance, 'spec'> & { spec: SpecOfContainerInstance }

const completed = new WeakMap<object, ContainerInstance>()

/** Fills in the defaults of a stored object; computed once for each version of it. */
export function completeInstance(stored: StoredInstance): ContainerInstance {
  const known = completed.get(stored)
  if (known !== undefined) return known
  const whole = { ...stored, spec: completeSpec(stored.spec) }
  completed.set(stored, whole)
  return whole
}
