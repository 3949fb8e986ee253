import { z } from 'zod'
import { isCidrList } from '../core/cidr.ts'
import { compareQuantities } from '../core/quantity.ts'
import { defineKind, type ObjectOf, type Rule, resourceStatus, statusColumns } from './define.ts'
import { Quantity, ResourceName, Tags, Uuid } from './fields.ts'
import { tagKeyRule } from './tags.ts'

/** Versions of Qdrant that can be chosen, oldest first; the last one is the default. */
export const VECTOR_VERSIONS = ['1.13.6', '1.14.1', '1.15.5', '1.16.3', '1.17.1', '1.18.2'] as const
export const NEWEST_VECTOR_VERSION = '1.18.2'

const spec = z.strictObject({
  clusterId: Uuid.optional().describe("Where it runs; the boundary's default cluster when absent"),
  computePlan: ResourceName.optional().describe('A plan of family Vector; the default plan when absent'),
  cpuRequest: Quantity.optional().describe("Overrides the plan's"),
  cpuLimit: Quantity.optional(),
  memoryRequest: Quantity.optional(),
  memoryLimit: Quantity.optional(),
  storageSize: Quantity.optional().describe("Overrides the plan's; may grow, never shrink"),
  storageClass: z.string().min(1).max(63).optional(),
  replicas: z.int().min(0).max(99).optional().describe('Peers; 0 keeps the data and runs nothing'),
  vectorVersion: z.enum(VECTOR_VERSIONS).default(NEWEST_VECTOR_VERSION),
  imageName: z
    .string()
    .min(1)
    .max(255)
    .regex(/^[a-z0-9][a-zA-Z0-9._:/@-]*$/)
    .optional()
    .describe('An image of your own, where the platform allows it'),
  apiKeyEnabled: z.boolean().default(true),
  apiKeyVersion: z.int().min(1).max(1000000).default(1).describe('Grows by one to rotate the keys'),
  enableIngress: z.boolean().default(false),
  ingressHost: z
    .string()
    .max(253)
    .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)+$/)
    .optional(),
  enableLoadBalancer: z.boolean().default(false),
  allowedCidrs: z
    .string()
    .max(2400)
    .optional()
    .describe('Comma-separated networks that may use the public paths; all when absent'),
  running: z.boolean().default(true),
  restartedAt: z
    .string()
    .max(40)
    .meta({ format: 'date-time' })
    .optional()
    .describe('A later time restarts every peer in turn'),
  onDelete: z.enum(['Delete', 'Retain']).default('Delete').describe('What becomes of the volumes'),
  tags: Tags.prefault({}),
})
type Spec = z.output<typeof spec>

const minor = (version: string) => Number(version.split('.')[1])

function noGreater(lower: 'cpuRequest' | 'memoryRequest', upper: 'cpuLimit' | 'memoryLimit'): Rule<Spec> {
  return {
    cel: `!has(self.${lower}) || !has(self.${upper}) || quantity(self.${upper}).compareTo(quantity(self.${lower})) >= 0`,
    message: `${upper} must not be less than ${lower}`,
    code: 'BAD_REQUEST',
    field: upper,
    test: (next) => {
      const [low, high] = [next[lower], next[upper]]
      return low === undefined || high === undefined || compareQuantities(high, low) >= 0
    },
  }
}

const rules: Rule<Spec>[] = [
  tagKeyRule,
  noGreater('cpuRequest', 'cpuLimit'),
  noGreater('memoryRequest', 'memoryLimit'),
  {
    cel: '!has(oldSelf.storageSize) || !has(self.storageSize) || quantity(self.storageSize).compareTo(quantity(oldSelf.storageSize)) >= 0',
    message: 'storageSize may grow but not shrink: volumes cannot give space back',
    code: 'STORAGE_CANNOT_SHRINK',
    field: 'storageSize',
    test: (next, previous) =>
      next.storageSize === undefined ||
      previous.storageSize === undefined ||
      compareQuantities(next.storageSize, previous.storageSize) >= 0,
  },
  {
    cel: "int(self.vectorVersion.split('.')[1]) >= int(oldSelf.vectorVersion.split('.')[1])",
    message: 'vectorVersion cannot go back: an older engine does not read the newer storage format',
    code: 'DOWNGRADE_REFUSED',
    field: 'vectorVersion',
    test: (next, previous) => minor(next.vectorVersion) >= minor(previous.vectorVersion),
  },
  {
    cel: "int(self.vectorVersion.split('.')[1]) <= int(oldSelf.vectorVersion.split('.')[1]) + 1",
    message: 'vectorVersion goes up one minor version at a time, as the storage format is migrated step by step',
    code: 'RULE_VIOLATION',
    field: 'vectorVersion',
    test: (next, previous) => minor(next.vectorVersion) <= minor(previous.vectorVersion) + 1,
  },
  {
    cel: 'self.apiKeyVersion >= oldSelf.apiKeyVersion && self.apiKeyVersion <= oldSelf.apiKeyVersion + 1',
    message: 'apiKeyVersion grows by one at a time: each step makes one new key',
    code: 'BAD_REQUEST',
    field: 'apiKeyVersion',
    test: (next, previous) =>
      next.apiKeyVersion === previous.apiKeyVersion || next.apiKeyVersion === previous.apiKeyVersion + 1,
  },
  {
    cel: "!has(self.allowedCidrs) || self.allowedCidrs == '' || (self.allowedCidrs.split(',').size() <= 50 && self.allowedCidrs.split(',').all(c, isCIDR(c) && cidr(c).masked() == cidr(c)))",
    message:
      'allowedCidrs is a comma-separated list of at most 50 canonical networks, such as 203.0.113.0/24,2001:db8::/32',
    code: 'BAD_REQUEST',
    field: 'allowedCidrs',
    test: (next) => next.allowedCidrs === undefined || next.allowedCidrs === '' || isCidrList(next.allowedCidrs),
  },
]

/** A vector database: Qdrant peers on a StatefulSet, with keys, addresses and volumes. */
export const VectorCluster = defineKind({
  group: 'data',
  kind: 'VectorCluster',
  plural: 'vectorclusters',
  shortNames: ['vc'],
  placement: 'group',
  area: 'vector',
  actions: 'vectorcluster',
  // A new key is the rotation of a secret.
  protectedFields: { apiKeyVersion: 'writesecrets' },
  description: 'A vector database of one or more peers.',
  spec,
  status: resourceStatus.extend({
    replicas: z.int().default(0),
    readyReplicas: z.int().default(0),
    selector: z.string().optional(),
    /** Of the key that works now; behind `spec.apiKeyVersion` while a new one is applied. */
    apiKeyVersion: z.int().optional(),
    apiKeyRotatedAt: z.string().optional(),
    ingressHost: z.string().optional(),
    publicEndpoint: z.string().optional(),
    externalAddresses: z.array(z.string()).optional(),
    restartedAt: z.string().optional(),
    vectorVersion: z.string().optional(),
    /** When the removal of the peer that is being emptied began; after 24 hours it is given up. */
    drainingSince: z.string().optional(),
  }),
  scale: { replicas: '.spec.replicas', ready: '.status.replicas', selector: '.status.selector' },
  immutable: ['clusterId', 'storageClass', 'imageName'],
  rules,
  columns: [
    ...statusColumns,
    { name: 'Plan', path: '.spec.computePlan' },
    { name: 'Replicas', path: '.spec.replicas', type: 'integer' },
    { name: 'Ready Replicas', path: '.status.readyReplicas', type: 'integer' },
    { name: 'Version', path: '.spec.vectorVersion' },
    { name: 'Phase', path: '.status.phase', priority: 1 },
    { name: 'Message', path: '.status.statusMessage', priority: 1 },
  ],
  selectable: ['spec.computePlan', 'status.phase'],
})
export type VectorCluster = ObjectOf<typeof VectorCluster>
