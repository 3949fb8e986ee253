import { parseVaultReference } from '../../contracts/jobs.ts'
import { ENGINE_CLUSTER_LABEL, relationalNames } from '../../contracts/relational.ts'
import { objectId } from '../../core/ids.ts'
import { BOUNDARY_LABEL, createdByOf, OWNER_KIND_LABEL, OWNER_NAME_LABEL } from '../../core/labels.ts'
import type { KubeObject } from '../../core/object.ts'
import { parseScope } from '../../core/scope.ts'
import { PlatformApp } from '../../crds/apps.ts'
import { ContainerInstance } from '../../crds/containerinstances.ts'
import { DeploymentRecord } from '../../crds/deployments.ts'
import { FunctionNamespace, ServerlessFunction } from '../../crds/functions.ts'
import { MemberInvitation } from '../../crds/invitations.ts'
import { PlatformJob } from '../../crds/jobs.ts'
import { ManagedIdentity } from '../../crds/managedidentities.ts'
import { NameClaim } from '../../crds/nameclaims.ts'
import { AccountBucket, ObjectAccessKey } from '../../crds/objectstorage.ts'
import { BoundaryProjection } from '../../crds/projections.ts'
import { PrincipalGroup, RoleAssignment, RoleDefinition } from '../../crds/rbac.ts'
import { RelationalCluster } from '../../crds/relational.ts'
import { RelationalSnapshot } from '../../crds/relationalSnapshots.ts'
import { roleIncarnationOf } from '../../crds/roleIncarnations.ts'
import { scopeObject } from '../../crds/scopeObjects.ts'
import { DeploymentSource } from '../../crds/sources.ts'
import { SecretVault, VaultEntry } from '../../crds/vaults.ts'
import { sourceOf } from '../../desired/sources.ts'
import { isInvitationOpen } from '../../iam/invitations.ts'
import { BUILT_IN_ROLES } from '../../iam/roles.ts'
import type { CacheView } from './pass.ts'

/**
 * Indexes objects by what they belong to or refer to. A pass that looked through a namespace for its own objects would
 * take longer with each neighbour, and all passes together as long as the square.
 */
export const LOOKUP_INDEX = 'lookup'

export type Relation =
  /** Pods and claims: namespace, kind and name of the resource in their labels. */
  | 'owner'
  /** Pods, claims and Backups of a database engine: namespace, its Cluster; also the database itself. */
  | 'engine'
  /** Pods and claims of a StatefulSet: namespace, and their name without the ordinal. */
  | 'numbered'
  /** Claims of names: kind and incarnation of the holder. */
  | 'holder'
  /** Objects of a kind wherever they are: their name. */
  | 'name'
  /** Parts: namespace and name of the resource that they are part of, and its collection if there are several. */
  | 'parent'
  /** What refers to a vault, one of its secrets, or an output of a resource: namespace and names. */
  | 'vault'
  | 'secret'
  | 'output'
  /** Managed identities and their access keys: namespace and id of the identity; sessions: who opened them. */
  | 'identity'
  | 'session'
  /** Databases: namespace and name that their connection Services point to; id of the snapshot that they restore. */
  | 'connectedTo'
  | 'restoredFrom'
  /** Resources that run on another cluster: its id; projections by cluster and projected namespace. */
  | 'cluster'
  | 'projected'
  /** Resources whose code comes from a deployment source: its id. */
  | 'source'
  /** Roles by display name; assignments by the name, and by the incarnation, of their custom role. */
  | 'role'
  | 'roleIncarnation'
  /** Assignments and groups: a principal that they name. */
  | 'principal'
  /** Namespaces: the boundary in their labels. */
  | 'boundary'
  /** Open invitations: the object that they are for. */
  | 'scope'

export function lookupKey(relation: Relation, ...path: readonly (string | undefined)[]): string {
  return `${relation} ${path.map((part = '') => part).join('/')}`
}

/** Returns the objects with this relation. */
export function related<T extends KubeObject>(
  cache: Pick<CacheView<T>, 'byIndex'>,
  relation: Relation,
  ...path: readonly (string | undefined)[]
): readonly T[] {
  return cache.byIndex(LOOKUP_INDEX, lookupKey(relation, ...path))
}

// biome-ignore lint/suspicious/noExplicitAny: what is stored may be of an earlier version, or of another cluster
type Stored = KubeObject & { spec?: any }
type KeysOf = (object: Stored) => readonly (string | undefined)[]

/** Returns the key, unless a part of it is missing. */
function keyIf(relation: Relation, ...path: readonly unknown[]): string | undefined {
  return path.every((part) => typeof part === 'string') ? lookupKey(relation, ...(path as string[])) : undefined
}

function workloadKeys({ metadata: { namespace, name, labels } }: Stored): (string | undefined)[] {
  return [
    keyIf('owner', namespace, labels?.[OWNER_KIND_LABEL], labels?.[OWNER_NAME_LABEL]),
    keyIf('engine', namespace, labels?.[ENGINE_CLUSTER_LABEL]),
    /-\d+$/.test(name) ? lookupKey('numbered', namespace, name.replace(/-\d+$/, '')) : undefined,
  ]
}

/** Finds references wherever they are in a spec, so that new fields need no new rule. */
function referenceKeys(namespace: string | undefined, value: unknown, found: (string | undefined)[] = []) {
  if (typeof value !== 'object' || value === null) return found
  const { vaultName, secretName, collection, name, output } = value as Record<string, unknown>
  if (typeof vaultName === 'string')
    found.push(
      lookupKey('vault', namespace, vaultName),
      typeof secretName === 'string' ? secretKey(namespace, vaultName, secretName) : undefined,
    )
  if (typeof output === 'string') found.push(keyIf('output', namespace, collection, name))
  for (const part of Object.values(value)) referenceKeys(namespace, part, found)
  return found
}

/** Names of secrets differ by more than their case. */
export function secretKey(namespace: string | undefined, vault: string | undefined, secret: string): string {
  return lookupKey('secret', namespace, vault, secret.toLowerCase())
}

function jobReferenceKeys({ metadata: { namespace }, spec }: Stored): string[] {
  const values: unknown[] = Object.values(spec?.env ?? {})
  return values.flatMap((value) => {
    const reference = typeof value === 'string' ? parseVaultReference(value) : undefined
    if (reference === undefined) return []
    const { vault, secret } = reference
    return [lookupKey('vault', namespace, vault), secretKey(namespace, vault, secret)]
  })
}

const referencesIn: KeysOf = ({ metadata: { namespace }, spec }) => referenceKeys(namespace, spec)

const BUILT_IN_NAMES = new Set(BUILT_IN_ROLES.map(({ displayName }) => displayName))

/** Returns the object that an invitation is for. */
export function targetOf({ scope: text }: Pick<MemberInvitation['spec'], 'scope'>): ReturnType<typeof scopeObject> {
  const scope = parseScope(text)
  return scope && scopeObject(scope)
}

const KEYS_BY_KIND: Readonly<Record<string, KeysOf>> = {
  Namespace: ({ metadata: { labels } }) => [keyIf('boundary', labels?.[BOUNDARY_LABEL])],
  Pod: workloadKeys,
  PersistentVolumeClaim: workloadKeys,
  Backup: ({ metadata: { namespace }, spec }) => [keyIf('engine', namespace, spec?.cluster?.name)],
  [NameClaim.kind]: ({ spec }) => [keyIf('holder', spec?.holder?.kind, spec?.holder?.incarnation)],
  [SecretVault.kind]: ({ metadata: { name } }) => [lookupKey('name', name)],
  [DeploymentSource.kind]: ({ metadata: { name } }) => [lookupKey('name', name)],
  [ManagedIdentity.kind]: ({ metadata: { namespace, name }, spec }) => [
    keyIf('parent', namespace, spec?.resourceName),
    lookupKey('identity', namespace, objectId(ManagedIdentity.resource, { name })),
  ],
  [DeploymentRecord.kind]: ({ metadata: { namespace }, spec }) => [
    keyIf('parent', namespace, spec?.ownerCollection, spec?.ownerName),
  ],
  [AccountBucket.kind]: ({ metadata: { namespace }, spec }) => [keyIf('parent', namespace, spec?.accountName)],
  [ObjectAccessKey.kind]: ({ metadata, spec }) => [
    keyIf('parent', metadata.namespace, spec?.accountName),
    keyIf('identity', metadata.namespace, spec?.managedIdentityId),
    spec?.isSession === true ? keyIf('session', createdByOf(metadata)) : undefined,
  ],
  [VaultEntry.kind]: ({ metadata: { namespace }, spec }) => [
    keyIf('parent', namespace, spec?.vaultName),
    keyIf('secret', namespace, spec?.valueFrom?.secretName),
  ],
  [RelationalCluster.kind]: ({ metadata: { namespace, name }, spec }) => [
    lookupKey('engine', namespace, relationalNames(name).cluster),
    keyIf('connectedTo', namespace, spec?.connectTo),
    keyIf('restoredFrom', spec?.restoreFrom?.snapshotId),
  ],
  [RelationalSnapshot.kind]: ({ metadata: { namespace, name }, spec }) => [
    lookupKey('name', name),
    keyIf('parent', namespace, spec?.clusterName),
  ],
  [ServerlessFunction.kind]: (object) => [
    keyIf('parent', object.metadata.namespace, object.spec?.namespaceName),
    ...referencesIn(object),
  ],
  [FunctionNamespace.kind]: referencesIn,
  [ContainerInstance.kind]: referencesIn,
  [PlatformApp.kind]: referencesIn,
  [PlatformJob.kind]: jobReferenceKeys,
  [RoleDefinition.kind]: ({ spec }) => [keyIf('role', spec?.displayName)],
  [RoleAssignment.kind]: ({ metadata, spec }) => [
    keyIf('principal', spec?.principalId),
    ...(BUILT_IN_NAMES.has(spec?.roleDefinitionName)
      ? []
      : [keyIf('role', spec?.roleDefinitionName), lookupKey('roleIncarnation', roleIncarnationOf({ metadata }))]),
  ],
  [BoundaryProjection.kind]: ({ spec, status }) =>
    ((status as BoundaryProjection['status'])?.resolvedNamespaces ?? []).map(({ namespace }) =>
      keyIf('projected', spec?.clusterId, namespace),
    ),
  [MemberInvitation.kind]: ({ spec }) => [
    isInvitationOpen(spec?.state) ? keyIf('scope', targetOf(spec)?.key) : undefined,
  ],
  [PrincipalGroup.kind]: ({ spec }) => (spec?.memberIds ?? []).map((id: unknown) => keyIf('principal', id)),
}

export function lookupKeys(object: Stored): readonly string[] {
  const keysOf = KEYS_BY_KIND[object.kind]
  const general = [keyIf('cluster', object.spec?.clusterId), keyIf('source', sourceOf(object))]
  const keys = [...(keysOf?.(object) ?? []), ...general].filter((key) => key !== undefined)
  return keys.length < 2 ? keys : [...new Set(keys)]
}
