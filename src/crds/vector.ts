import { z } from 'zod'
import { defineKind, type ObjectOf, type Rule, resourceColumns, statusWith } from './define.ts'
import { DateTime, integerBetween, matching, Off, On, ResourceName, Tags } from './fields.ts'
import { tagKeyRule } from './tags.ts'
import { TakenSnapshots, VectorSnapshots } from './vectorSnapshots.ts'
import {
  AcceptedPlan,
  AllowedCidrs,
  ClusterId,
  EnableLoadBalancer,
  ExternalAddresses,
  LastRestartedAt,
  OnDelete,
  OwnImage,
  PodSelector,
  planOverrides,
  ReadyReplicas,
  RestartedAt,
  Running,
  WantedReplicas,
} from './workloadFields.ts'
import { allowedCidrsRule, growOnlyRule, incrementByOneRule, requestLimitRules } from './workloadRules.ts'

/** Versions of Qdrant that can be chosen, oldest first; the last one is the default. */
export const VECTOR_VERSIONS = ['1.13.6', '1.14.1', '1.15.5', '1.16.3', '1.17.1', '1.18.2'] as const
export type VectorVersion = (typeof VECTOR_VERSIONS)[number]
export const NEWEST_VECTOR_VERSION = '1.18.2'

const spec = z.strictObject({
  clusterId: ClusterId,
  computePlan: ResourceName.optional().describe('Name of a ComputePlan of family Vector; the default one when absent'),
  ...planOverrides,
  replicas: integerBetween(0, 99)
    .optional()
    .describe("Peers; the plan's number is written here when absent; 0 runs nothing and keeps the data"),
  vectorVersion: z
    .enum(VECTOR_VERSIONS)
    .default(NEWEST_VECTOR_VERSION)
    .describe('Version of Qdrant; only goes up, one minor version at a time'),
  imageName: OwnImage,
  apiKeyEnabled: On.describe(
    'Whether clients must present a key; false accepts every client that can connect, and keeps the keys',
  ),
  apiKeyVersion: integerBetween(1, 1000000)
    .default(1)
    .describe('Generation of the keys: raising it by one rotates them; needs the verb writesecrets'),
  enableIngress: Off.describe('True creates an Ingress with TLS to the REST port'),
  ingressHost: matching(
    253,
    /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)+$/,
    'must be a host name in lower case, such as search.example.com',
  )
    .optional()
    .describe(
      "Host of the Ingress, which ends with a hyphen, the first 8 digits of the boundary's id and the cluster's domain; generated when absent",
    ),
  enableLoadBalancer: EnableLoadBalancer,
  allowedCidrs: AllowedCidrs.describe(
    'Networks that may use load balancer and Ingress (of ingress-nginx only), in CIDR notation, at most 50 with commas between; all when absent',
  ),
  running: Running,
  restartedAt: RestartedAt,
  snapshots: VectorSnapshots,
  onDelete: OnDelete.describe(
    'Delete removes the volumes with it; Retain keeps them for a VectorCluster of the same name',
  ),
  tags: Tags.prefault({}),
})
type Spec = z.output<typeof spec>

const minor = (version: string) => Number(version.split('.')[1])

/**
 * Returns the version to run on the way to `wanted`: at most one minor version above what every peer runs, because the
 * engine migrates its storage format one minor version at a time.
 *
 * @param running undefined before the first rollout has ended: there is nothing to migrate
 */
export function nextVectorVersion(running: string | undefined, wanted: VectorVersion): VectorVersion {
  if (running === undefined || minor(wanted) <= minor(running) + 1) return wanted
  return VECTOR_VERSIONS.findLast((version) => minor(version) === minor(running) + 1) ?? wanted
}

const rules: Rule<Spec>[] = [
  tagKeyRule,
  ...requestLimitRules,
  growOnlyRule('storageSize'),
  {
    cel: "int(self.vectorVersion.split('.')[1]) >= int(oldSelf.vectorVersion.split('.')[1])",
    message: 'vectorVersion cannot go back: an older engine does not read the newer storage format',
    code: 'DOWNGRADE_REFUSED',
    field: 'vectorVersion',
    test: (next, previous) => minor(next.vectorVersion) >= minor(previous.vectorVersion),
  },
  {
    cel: "int(self.vectorVersion.split('.')[1]) <= int(oldSelf.vectorVersion.split('.')[1]) + 1",
    message:
      'vectorVersion must go up one minor version at a time, because the storage format is migrated step by step',
    code: 'RULE_VIOLATION',
    field: 'vectorVersion',
    test: (next, previous) => minor(next.vectorVersion) <= minor(previous.vectorVersion) + 1,
  },
  incrementByOneRule('apiKeyVersion', 'makes one new key'),
  allowedCidrsRule,
]

/** A vector database: Qdrant peers on a StatefulSet, with keys, addresses and volumes. */
export const VectorCluster = defineKind({
  group: 'data',
  kind: 'VectorCluster',
  sized: 'Vector',
  runsAnywhere: true,
  hostsOf: ({ enableIngress, ingressHost }) => (enableIngress && ingressHost !== undefined ? [ingressHost] : []),
  shortNames: ['vc'],
  placement: 'group',
  area: 'vector',
  actions: 'vectorcluster',
  // Raising it rotates a secret.
  protectedFields: { apiKeyVersion: 'writesecrets' },
  description: 'A vector database of one or more peers.',
  spec,
  status: statusWith({
    computePlan: AcceptedPlan,
    replicas: WantedReplicas,
    readyReplicas: ReadyReplicas,
    volumes: z
      .int()
      .describe('Volumes that are kept while spec.replicas is 0, which quotas of storage count; absent otherwise'),
    selector: PodSelector,
    apiKeyVersion: z
      .int()
      .describe('Generation of the keys that work now; behind spec.apiKeyVersion while a new one is applied'),
    apiKeyRotatedAt: DateTime.describe('When the keys were last rotated; absent before the first time'),
    ingressHost: z.string().describe('Host of the Ingress; absent without one'),
    publicEndpoint: z.string().describe('URL of the Ingress; absent without one'),
    externalAddresses: ExternalAddresses,
    restartedAt: LastRestartedAt,
    vectorVersion: z.string().describe('Version that every peer runs'),
    snapshots: TakenSnapshots,
    drainingSince: DateTime.describe(
      'When the removal of the peer that is being emptied began; after 24 hours it is given up',
    ),
  }),
  scale: { replicas: '.spec.replicas', ready: '.status.replicas', selector: '.status.selector' },
  immutable: ['clusterId', 'storageClass', 'imageName'],
  rules,
  columns: resourceColumns(
    { name: 'Plan', path: '.spec.computePlan' },
    { name: 'Replicas', path: '.spec.replicas', type: 'integer' },
    { name: 'Ready Replicas', path: '.status.readyReplicas', type: 'integer' },
    { name: 'Version', path: '.spec.vectorVersion' },
  ),
  selectable: ['spec.computePlan', 'status.phase'],
})
export type VectorCluster = ObjectOf<typeof VectorCluster>
