import { z } from 'zod'
import { CROSSLINK_NAME } from '../contracts/crosslink.ts'
import { defineKind, type ObjectOf, READ_VERBS, statusColumns, statusWith } from './define.ts'
import { DateTime, integerBetween, Off, Uuid } from './fields.ts'

const Site = z.object({
  clusterId: z.string().describe('Id of the cluster of the site'),
  role: z.int().describe('0 hub, 1 spoke'),
  status: z.int().describe('0 provisioning, 1 active, 2 degraded, 3 failed'),
  linkStatus: z.int().describe('0 not applicable, 1 connecting, 2 connected, 3 disconnected'),
  observedPkiVersion: z.int().optional().describe('Version of the authority that it trusts'),
  statusReason: z.string().optional().describe('Why it is not active'),
  observedAtUtc: DateTime.describe('When its agent observed this'),
})
const Exposure = z.object({
  clusterId: z.string().describe('Id of the cluster that serves it'),
  kind: z.string().describe('Kind of what is exposed'),
  namespace: z.string().describe('Namespace of what is exposed'),
  podSelector: z.string().optional().describe('Labels of the pods that serve it'),
  publishedPort: z.int().describe('Port under which other sites reach it'),
  routingKey: z.string().describe('Name by which sites find each other'),
  serviceName: z.string().describe('Name of the Service under which other sites reach it'),
  statusReason: z.string().optional().describe('Why it is not served'),
})

/** Links between the clusters of a boundary, so that workloads in one reach what another exposes. */
export const BoundaryCrosslink = defineKind({
  group: 'core',
  kind: 'BoundaryCrosslink',
  shortNames: ['bxl'],
  placement: 'boundary',
  name: 'resource',
  area: 'crosslink',
  segment: 'crosslink',
  forms: { 'boundaries/read': READ_VERBS, 'crosslink/admin': ['create', 'update', 'patch', 'delete'] },
  description: 'Links between the clusters of a boundary, through a hub. Its name is crosslink: there is one.',
  spec: z.strictObject({
    enabled: Off.describe('Whether the clusters are linked; false'),
    hubClusterId: Uuid.optional().describe('Id of the PlatformCluster that spokes link to; needed while enabled'),
    pkiVersion: integerBetween(1, 1_000_000)
      .default(1)
      .describe(
        'Version of the authority that signs for sites; raising it by one replaces the authority in three steps',
      ),
    grantRequestedAt: DateTime.optional().describe('When a grant for a spoke was last requested; none when absent'),
  }),
  status: statusWith({
    ca: z
      .object({
        version: z.int().describe('Version of the authority'),
        certificatePem: z.string().describe('Its certificate'),
        fingerprint: z.string().describe('SHA-256 of the certificate'),
        issuedUtc: DateTime.describe('Start of its validity'),
        expiresUtc: DateTime.describe('End of its validity'),
      })
      .describe('The newest authority'),
    rotation: z
      .object({
        version: z.int().describe('The version that replaces the previous one'),
        step: z
          .string()
          .describe('Trusting: both are trusted. Reissued: the new one signs, the old one is still trusted'),
        startedAt: DateTime.describe('When it began; after a day it ends in any case'),
      })
      .describe('The replacement of the authority in progress; absent if there is none'),
    hub: z
      .object({
        status: z.int().describe('0 provisioning, 1 active'),
        endpoint: z.string().optional().describe('Address that spokes link to'),
      })
      .describe("The hub's site, if it is on the platform's own cluster"),
    signer: z.string().describe('SHA-256 of the authority and trust that this site was given'),
    grantIssuedFor: z.string().describe('The grantRequestedAt that was last answered'),
    sites: z.array(Site).describe('Sites as their agents report them'),
    exposures: z.array(Exposure).describe('What sites expose, as their agents report it'),
  }),
  rules: [
    {
      cel: '!self.enabled || has(self.hubClusterId)',
      message: 'hubClusterId is required while enabled',
      code: 'CLUSTER_NOT_PROJECTED',
      field: 'hubClusterId',
      test: ({ enabled, hubClusterId }) => !enabled || hubClusterId !== undefined,
    },
    {
      cel: 'self.pkiVersion == oldSelf.pkiVersion || self.pkiVersion == oldSelf.pkiVersion + 1',
      message: 'pkiVersion must stay or grow by one',
      field: 'pkiVersion',
      test: (next, { pkiVersion }) => next.pkiVersion === pkiVersion || next.pkiVersion === pkiVersion + 1,
    },
  ],
  admission: [
    {
      on: 'CREATE',
      cel: `object.metadata.name == '${CROSSLINK_NAME}'`,
      message: `metadata.name must be ${CROSSLINK_NAME}: a boundary has one`,
    },
    {
      on: 'WRITE',
      cel: "request.operation == 'CREATE' || !object.spec.enabled || object.spec.?hubClusterId == oldObject.spec.?hubClusterId || oldObject.?status.?status.orValue('') != 'Running'",
      message: 'hubClusterId cannot be changed while the hub is active: set enabled to false first',
    },
  ],
  columns: [
    ...statusColumns,
    { name: 'Enabled', path: '.spec.enabled', type: 'boolean' },
    { name: 'Hub', path: '.spec.hubClusterId', priority: 1 },
    { name: 'Authority', path: '.status.ca.version', type: 'integer' },
  ],
})
export type BoundaryCrosslink = ObjectOf<typeof BoundaryCrosslink>
