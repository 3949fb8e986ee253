import { z } from 'zod'
import { DOMAIN } from '../core/names.ts'
import { defineKind, type ObjectOf, READ_VERBS, statusWith } from './define.ts'
import {
  DateTime,
  DisplayName,
  DnsLabel,
  integerBetween,
  mapOf,
  matching,
  ObjectName,
  Off,
  PlainText,
  ResourceName,
} from './fields.ts'
import { StorageClassName } from './workloadFields.ts'

/** A Gateway of the Gateway API, as a route names its parent (GEP-957: the section is a listener). */
const Gateway = z.strictObject({
  namespace: DnsLabel.describe('Namespace of the Gateway, whose pods may reach the resources behind it'),
  name: ObjectName.describe('Name of the Gateway'),
  sectionName: ObjectName.optional().describe('Listener of the routes; every listener that accepts them when absent'),
})
export type Gateway = z.output<typeof Gateway>

/** A token with which an agent may join once, or repeatedly until it expires. */
const JoinToken = z.strictObject({
  hash: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in lower-case hexadecimal')
    .describe('SHA-256 of the token, which only its requester knows'),
  expiresAt: DateTime.describe('Until when an agent may join with it'),
  reusable: z.boolean().describe('False if the first agent that joins uses it up'),
})
export type JoinToken = z.output<typeof JoinToken>

const labels = mapOf(PlainText.max(256), 50)
  .prefault({})
  .describe('Labels of its record, for people and their filters; at most 50')

/** Observed state of the agent in the cluster. */
const Agent = z.object({
  joinedAt: DateTime.optional().describe('When an agent last joined with a token'),
  connectedAt: DateTime.optional().describe('When its connection was last opened'),
  connection: z.string().optional().describe('Id of the connection that was opened last'),
  lostConnection: z
    .string()
    .optional()
    .describe('Id of the connection that ended last; the agent is connected while the two differ'),
  lastSeenAt: DateTime.optional().describe(
    'When it last answered before that connection ended; not written while it is connected',
  ),
  endpoint: z.string().optional().describe('Address of the replica of the facade that it last called'),
  version: z.string().optional().describe('Release of the agent'),
  kubernetesVersion: z.string().optional().describe('Version of the API server of that cluster'),
  certificateExpiresAt: DateTime.optional().describe(
    'When the certificate that it last presented expires; the agent renews it before',
  ),
  clockSkewMilliseconds: z.int().optional().describe('How far its clock is ahead of ours'),
})

/** A Kubernetes cluster that workloads run on. The platform's own is made at install. */
export const PlatformCluster = defineKind({
  group: 'core',
  kind: 'PlatformCluster',
  forms: {
    'kernel/clusters/read': READ_VERBS,
    'kernel/clusters/write': ['create', 'update', 'patch', 'delete'],
  },
  // Users of the platform cannot decide where the platform itself runs.
  protectedFields: { isPlatform: 'administrators' },
  restNaming: { collection: 'clusters' },
  shortNames: ['pcl'],
  placement: 'cluster',
  name: 'uuid',
  area: 'clusters',
  description: 'A cluster that runs workloads. Its name is a uuid, the clusterId.',
  spec: z.strictObject({
    name: ResourceName.optional().describe('Name for people and commands; its id when absent; immutable'),
    displayName: DisplayName,
    labels: labels.describe('Labels for people and filters'),
    region: PlainText.max(64)
      .default('')
      .describe('Region of the cluster; resources on it show it and can be filtered by it'),
    domain: matching(200, DOMAIN, 'must be a domain in lower case, such as apps.example.com').describe(
      'Parent domain of the public hosts of resources',
    ),
    isPlatform: Off.describe(
      'True for the cluster that the platform itself runs on; all others are reached through an agent; immutable',
    ),
    ingressClassName: PlainText.max(63)
      .optional()
      .describe("IngressClass of the Ingresses of resources; the cluster's default when absent"),
    gateway: Gateway.optional().describe(
      'Gateway for public hosts if the cluster serves HTTPRoute; otherwise an Ingress is used',
    ),
    publicPort: integerBetween(1, 65_535)
      .optional()
      .describe('Port that clients of public hosts connect to, as the URLs of resources show it; 443 when absent'),
    certificateIssuer: ObjectName.optional().describe(
      'ClusterIssuer of cert-manager for custom domains; without one no certificates are requested',
    ),
    defaultStorageClass: StorageClassName.optional().describe(
      "StorageClass that people are offered first; the cluster's default when absent",
    ),
    joinTokens: z
      .array(JoinToken)
      .max(10)
      .default([])
      .describe('Tokens with which an agent may join, the newest last; the platform issues them'),
    revokedAt: DateTime.optional().describe(
      'Certificates of agents issued until then are refused; agents that join later are accepted',
    ),
  }),
  status: statusWith({
    state: z
      .string()
      .describe('AwaitingJoin, Joining, Online, Offline (not connected for 90 seconds), Degraded or Revoked'),
    revokedUntil: DateTime.describe(
      'The latest revokedAt ever set; it applies even if spec names an earlier one again',
    ),
    agent: Agent.describe('The agent in the cluster; absent for the cluster of the platform'),
    nodeCount: z.int().describe('Nodes of the cluster'),
    readyNodeCount: z.int().describe('Nodes that are ready'),
    cpuCapacity: z.string().describe('Cores of all nodes together'),
    memoryCapacity: z.string().describe('Memory of all nodes together'),
    storageClasses: z
      .array(
        z.object({
          name: z.string().describe('Name of the StorageClass'),
          isDefault: z.boolean().describe('Whether claims without a class get it'),
          isExpandable: z.boolean().describe('Whether its volumes can grow'),
          survivesNode: z
            .boolean()
            .optional()
            .describe('Whether its volumes survive the loss of a node; false for folders or disks of a node'),
        }),
      )
      .describe('StorageClasses of the cluster, by name'),
    capabilities: z
      .array(z.string())
      .describe('What is installed in the cluster that resources may need, such as Velero'),
  }),
  immutable: ['isPlatform', 'name'],
  rules: [
    {
      // Otherwise certificates that were revoked would be valid again.
      cel: '!has(oldSelf.revokedAt) || has(self.revokedAt)',
      message: 'revokedAt cannot be removed: let the agent join again with a new token',
      field: 'revokedAt',
      test: (next, previous) => previous.revokedAt === undefined || next.revokedAt !== undefined,
    },
    {
      cel: '!self.isPlatform || (!has(self.revokedAt) && size(self.joinTokens) == 0)',
      message: 'the cluster that the platform runs on needs no agent: leave revokedAt and joinTokens out',
      code: 'cluster-is-local',
      field: 'revokedAt',
      test: ({ isPlatform, revokedAt, joinTokens }) =>
        !isPlatform || (revokedAt === undefined && joinTokens.length === 0),
    },
  ],
  admission: [
    {
      on: 'DELETE',
      cel: '!(has(oldObject.spec.isPlatform) && oldObject.spec.isPlatform)',
      message: 'the cluster that the platform runs on cannot be deleted',
    },
  ],
  columns: [
    { name: 'Display Name', path: '.spec.displayName' },
    { name: 'State', path: '.status.state' },
    { name: 'Region', path: '.spec.region' },
    { name: 'Connected', path: '.status.agent.connectedAt', type: 'date', priority: 1 },
  ],
})
export type PlatformCluster = ObjectOf<typeof PlatformCluster>
