import type { KubeObject, Resource } from '../../src/core/object.ts'
import { AccountBucket, ObjectAccessKey, ObjectStorageAccount } from '../../src/crds/objectstorage.ts'
import { RoleAssignment } from '../../src/crds/rbac.ts'
import { RelationalCluster } from '../../src/crds/relational.ts'
import { RelationalSnapshot } from '../../src/crds/relationalSnapshots.ts'
import { ResourceGroup } from '../../src/crds/resourcegroups.ts'
import { SqlInstance } from '../../src/crds/sql.ts'
import { SecretVault, VaultEntry } from '../../src/crds/vaults.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import {
  configMap,
  ingress,
  limitRange,
  namespace,
  networkPolicy,
  persistentVolumeClaim,
  podDisruptionBudget,
  resourceQuota,
  roleBinding,
  secret,
  service,
  statefulSet,
} from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { POSTGRESQL_RESOURCES } from '../../src/kube/postgresql.ts'

const RESOURCES: readonly Resource[] = [
  configMap,
  ingress,
  limitRange,
  networkPolicy,
  persistentVolumeClaim,
  podDisruptionBudget,
  resourceQuota,
  roleBinding,
  secret,
  service,
  statefulSet,
  RoleAssignment.resource,
  ResourceGroup.resource,
  VectorCluster.resource,
  RelationalCluster.resource,
  RelationalSnapshot.resource,
  SqlInstance.resource,
  SecretVault.resource,
  VaultEntry.resource,
  ObjectStorageAccount.resource,
  AccountBucket.resource,
  ObjectAccessKey.resource,
  ...POSTGRESQL_RESOURCES,
]

/** Values that may differ between two runs with the same final state, wherever they occur. */
const VOLATILE_KEYS = new Set([
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'managedFields',
  'clusterIP',
  'clusterIPs',
  'nodePort',
  'healthCheckNodePort',
  'lastTransitionTime',
  'firstReadyAt',
  'volumeName',
  'generation',
  'observedGeneration',
  'currentRevision',
  'updateRevision',
  'time',
  'apiKeyRotatedAt',
  'scopeIncarnation',
  'startedAt',
  'stoppedAt',
  'completedAt',
  'lastBackupAt',
  'firstRecoverableAt',
  'tookOverAt',
  'editorAdmittedFor',
  'backupId',
  'backupID',
  'preparedFor',
  'accessKeyId',
  'createdAt',
  // Of a bucket's name: when it was first used.
  'since',
  'updatedAt',
  'deletedAt',
  'purgeAt',
  'usageAt',
  'lastUsedAt',
  // Of buckets, as of the last look.
  'objectCount',
  'usedBytes',
])
const VOLATILE_ANNOTATIONS =
  /^(freehold\.dev\/(incarnation|former-incarnations|retained-lives|applied|owner-incarnation|incarnation-of-owner|actor|created-by|api-key-id)|volume\.kubernetes\.io\/|pv\.kubernetes\.io\/|kubectl\.kubernetes\.io\/)/

/** Replacements in order, because numeric names of properties would be sorted. */
export type Replacements = readonly (readonly [from: string, to: string])[]

/**
 * Everything in the namespaces of a boundary, without values that differ from run to run. Names with the boundary's id
 * or a hash of it are replaced, so that two boundaries can be compared.
 */
export async function snapshot(
  client: KubeClient,
  namespaces: readonly string[],
  replaced: Replacements,
): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {}
  for (const home of namespaces) {
    found[rename(`namespace/${home}`, replaced)] = normal(await client.get(namespace, { name: home }), replaced)
    for (const resource of RESOURCES) {
      const { items } = await client.list(resource, { namespace: home })
      for (const item of items) {
        if (isOfKubernetes(item)) continue
        found[rename(`${resource.plural}/${home}/${item.metadata.name}`, replaced)] = normal(item, replaced)
      }
    }
  }
  return Object.fromEntries(Object.entries(found).sort(([a], [b]) => a.localeCompare(b)))
}

function isOfKubernetes(item: KubeObject): boolean {
  return item.metadata.name === 'kube-root-ca.crt'
}

function normal(value: unknown, replaced: Replacements): unknown {
  const secretData = (value as { kind?: string; data?: object }).kind === 'Secret'
  const walk = (part: unknown, key: string): unknown => {
    if (typeof part === 'string') return rename(part, replaced)
    if (Array.isArray(part)) return part.map((entry) => walk(entry, key))
    if (typeof part !== 'object' || part === null) return part
    // Keys are random; only their presence and names count.
    if (secretData && key === 'data') return Object.keys(part).sort()
    const entries = Object.entries(part).filter(
      ([name]) => !VOLATILE_KEYS.has(name) && !(key === 'annotations' && VOLATILE_ANNOTATIONS.test(name)),
    )
    return Object.fromEntries(
      entries
        .sort(([a], [b]) => a.localeCompare(b))
        .map(([name, entry]) => [rename(name, replaced), walk(entry, name)]),
    )
  }
  return walk(value, '')
}

/** Addresses that load balancers are given, and ids that are derived from ids of the run. */
const VOLATILE_TEXTS: readonly [RegExp, string][] = [
  [/(relc-[a-z0-9-]+)-[0-9a-f]{12}\b/g, '$1-INCARNATION'],
  [/final-\d{14}/g, 'final-TIME'],
  [/203\.0\.113\.\d{1,3}/g, 'ADDRESS'],
  [/[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'DERIVED-ID'],
]

function rename(text: string, replaced: Replacements): string {
  const known = replaced.reduce((result, [from, to]) => result.replaceAll(from, to), text)
  return VOLATILE_TEXTS.reduce((result, [pattern, name]) => result.replaceAll(pattern, name), known)
}

/**
 * The differences of two snapshots, each as path, first value and second value, so that a reader sees the error at
 * once.
 */
export function differences(one: unknown, other: unknown, path = ''): string[] {
  if (JSON.stringify(one) === JSON.stringify(other)) return []
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) {
    return [`${path}: ${JSON.stringify(one)} became ${JSON.stringify(other)}`]
  }
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])]
  const at = (of: object, name: string) => (of as Record<string, unknown>)[name]
  return names.flatMap((name) => differences(at(one, name), at(other, name), `${path}/${name}`))
}
