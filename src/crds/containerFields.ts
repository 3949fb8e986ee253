import { z } from 'zod'
import { OUTPUT_COLLECTIONS } from '../contracts/references.ts'
import { SECRET_NAME_PATTERN } from '../contracts/vaults/names.ts'
import { Arguments, MAX_VALUE_CHARACTERS, ProcessText } from './environment.ts'
import {
  Bytes,
  integerBetween,
  listMapOf,
  listSetOf,
  MountPath,
  matching,
  Off,
  On,
  PlainText,
  RelativePath,
  ResourceName,
} from './fields.ts'
import { CronSchedule } from './schedule.ts'
import { registerFullSchema, stripDefaults } from './schemaDefaults.ts'
import { planOverrides, StorageClassName } from './workloadFields.ts'

/** Fields of kinds that run containers of tenants: components, volumes, variables (records: container instances). */

/** A word that becomes part of names of objects, where double hyphens separate such words. */
const wordField = (maxLength: number) =>
  matching(
    maxLength,
    /^[a-z0-9]+(-[a-z0-9]+)*$/,
    'must be lower-case letters and digits, with single hyphens between them',
  )
export const ComponentName = wordField(40)
export const VolumeName = wordField(40)

export const VaultReferenceField = z.strictObject({
  vaultName: ResourceName.describe('Name of a vault in the same resource group'),
  secretName: matching(127, new RegExp(SECRET_NAME_PATTERN), 'must be 1 to 127 letters, digits and hyphens').describe(
    'Name of a secret in that vault',
  ),
  version: integerBetween(1, 1_000_000).optional().describe('Version to use; always the newest one if absent'),
})

const Output = z.strictObject({
  collection: z.enum(OUTPUT_COLLECTIONS).describe('Kind of the resource, as URLs of REST name it'),
  name: ResourceName.describe('Name of a resource in the same resource group'),
  output: PlainText.max(32).describe('Output to use, such as connectionString or publicUrl'),
})

export const EnvironmentVariableField = z.strictObject({
  name: matching(
    128,
    /^[A-Za-z_][A-Za-z0-9_]*$/,
    'must be letters, digits and underscores, at most 128, and not begin with a digit',
  ).describe('Name of the variable'),
  value: ProcessText.max(MAX_VALUE_CHARACTERS)
    .optional()
    .describe('The value itself; the name of a parameter in braces after a dollar sign is replaced by its text'),
  secret: VaultReferenceField.optional().describe(
    'A vault secret whose value it gets; a new value restarts the component',
  ),
  output: Output.optional().describe('An output of another resource of the group'),
})

export const PortField = z.strictObject({
  name: matching(
    15,
    /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/,
    'must be lower-case letters, digits and single hyphens, and begin with a letter',
  ).describe('Name of the port, such as http'),
  port: integerBetween(1, 65_535).describe('Number that the process listens on'),
  protocol: z.enum(['Tcp', 'Udp']).default('Tcp').describe('Transport protocol'),
})

const MountField = z.strictObject({
  volume: VolumeName.describe('Name of the volume'),
  path: MountPath.describe('Mount path in the container'),
  subPath: RelativePath.optional().describe('Folder of the volume to mount; the whole volume if absent'),
  readOnly: Off.describe('Whether it is mounted read-only'),
})

const ProbeField = z.strictObject({
  kind: z
    .enum(['Http', 'Tcp', 'Exec'])
    .describe('Kind of probe: a GET request, a connection, or a command in the container'),
  path: matching(1024, /^\/[!-~]*$/, 'must begin with a slash and hold no spaces')
    .optional()
    .describe('Path of the GET request; / if absent'),
  port: integerBetween(1, 65_535).optional().describe('Port of an Http or Tcp probe; the first one if absent'),
  command: Arguments.describe('Command of an Exec probe, which succeeds with exit code 0'),
  initialDelaySeconds: integerBetween(0, 3600)
    .default(0)
    .describe('Seconds from the start of the container to the first probe'),
  periodSeconds: integerBetween(1, 3600).default(10).describe('Seconds between two probes'),
  timeoutSeconds: integerBetween(1, 3600).default(1).describe('Seconds after which a probe fails'),
  failureThreshold: integerBetween(1, 1000)
    .default(3)
    .describe('Failures in a row after which the overall check has failed'),
})

const { storageSize: _size, storageClass: _class, ...componentSizes } = planOverrides

/** `[host[:port]/]path[:tag][@digest]`; a colon before a slash is a port. */
export const ImageReference = z
  .string()
  .min(1)
  .max(512)
  .regex(
    /^([a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?(:[0-9]{1,5})?\/)?[a-z0-9]+([._/-]+[a-z0-9]+)*(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(@sha256:[0-9a-f]{64})?$/,
    'must be a container image reference, such as docker.io/library/nginx:1.29',
  )

export const ComponentField = z.strictObject({
  name: ComponentName.describe('Name of the component, unique in the resource'),
  image: ImageReference.describe('Image that it runs, with tag or digest'),
  command: Arguments.describe("Replaces the image's entry point; empty keeps it"),
  args: Arguments.describe("Replaces the image's arguments; empty keeps them"),
  replicas: integerBetween(0, 20).default(1).describe('How many copies run'),
  computePlan: ResourceName.optional().describe(
    'Name of a ComputePlan for this component; that of the resource if absent',
  ),
  ...componentSizes,
  env: listMapOf('name', EnvironmentVariableField, 200).default([]).describe('Environment variables of the process'),
  ports: listMapOf('name', PortField, 20).default([]).describe('Ports that others may connect to'),
  mounts: listMapOf('path', MountField, 10).default([]).describe('Volumes mounted into the container'),
  livenessProbe: ProbeField.optional().describe('When it fails, the container is restarted'),
  readinessProbe: ProbeField.optional().describe('While it fails, the copy gets no requests and rollouts wait'),
  startupProbe: ProbeField.optional().describe('Until it succeeds, the other probes wait'),
  dependsOn: listSetOf(ComponentName, 9)
    .default([])
    .describe('Components that must be ready before this one is started or changed'),
  imagePullPolicy: z
    .enum(['IfNotPresent', 'Always'])
    .default('IfNotPresent')
    .describe('Whether each start asks the registry for the image'),
  runAsUser: integerBetween(0, 2_147_483_647)
    .optional()
    .describe("User id that the process runs as, never root; the image's if absent"),
  gracePeriodSeconds: integerBetween(0, 3600)
    .default(30)
    .describe('Seconds that the process has to end when asked to, before it is killed'),
})

export const VolumeField = z.strictObject({
  name: VolumeName.describe('Name of the volume in mounts'),
  kind: z
    .enum(['Persistent', 'Ephemeral', 'Secret'])
    .describe(
      'Persistent outlives every copy, Ephemeral lives with its copy, Secret holds a value of a vault; immutable',
    ),
  size: Bytes.optional().describe(
    'Size of a Persistent volume, which may grow, never shrink; limit of an Ephemeral one, reserved on its node',
  ),
  storageClass: StorageClassName.optional().describe(
    "StorageClass of a Persistent volume; the cluster's default if absent; immutable",
  ),
  secret: VaultReferenceField.optional().describe('Vault secret of a Secret volume, which becomes a file of its name'),
})

export const BackupHookField = z.strictObject({
  component: ComponentName.describe('Component in whose copies the command runs'),
  when: z.enum(['Before', 'After']).describe('Before or after its volumes are backed up'),
  command: Arguments.unwrap().min(1).describe('Program with its arguments, run without a shell'),
  timeoutSeconds: integerBetween(1, 3600).default(60).describe('Seconds after which the command fails'),
  onError: z.enum(['Fail', 'Continue']).default('Fail').describe('Whether its failure fails the backup'),
})

export const BackupPolicyField = z.strictObject({
  enabled: On.describe('False pauses the schedule and keeps what was taken'),
  schedule: CronSchedule.describe('When a backup begins: cron in five fields, UTC'),
  retentionDays: integerBetween(1, 365).describe('Days after which a backup expires'),
  keepLast: integerBetween(1, 100)
    .optional()
    .describe('Maximum number of backups to keep, the newest; if absent, all until they expire'),
  method: z
    .enum(['Snapshot', 'FileSystem'])
    .default('Snapshot')
    .describe('Snapshots of the volumes by their storage, or copies of their files'),
  volumes: listSetOf(VolumeName, 10).optional().describe('Persistent volumes to back up; all of them if absent'),
  hooks: z.array(BackupHookField).max(10).default([]).describe('Commands around each backup'),
})

/** The policy as a kind declares it: the items of its list have no defaults there. */
export const BackupPolicyInSpec = registerFullSchema(
  BackupPolicyField.extend({
    hooks: z.array(stripDefaults(BackupHookField)).max(10).default([]).describe('Commands around each backup'),
  }),
  BackupPolicyField,
)

export type ComponentSpec = z.output<typeof ComponentField>
export type VolumeSpec = z.output<typeof VolumeField>
export type ProbeSpec = z.output<typeof ProbeField>
export type BackupPolicySpec = z.output<typeof BackupPolicyField>
