import type { RegistryPort } from '../adapters/registry/port.ts'
import { groupNamespace } from '../core/names.ts'
import { groupNamespaceObject, type NamespaceMetadata, withNamespaceMetadata } from '../core/namespaces.ts'
import { type KubeObject, refOf } from '../core/object.ts'
import { done, type Outcome, waiting } from '../core/outcome.ts'
import { DISK_SHARE, type DiskShare } from '../core/sizing/disk.ts'
import { expiredGrants, groupGrantKey, isGroupGrant, type QuotaGrants, unseenUsers } from '../core/sizing/ledger.ts'
import { evaluateGroupCount, quotaSentence } from '../core/sizing/quota.ts'
import { Boundary } from '../crds/boundaries.ts'
import type { AnyKind } from '../crds/define.ts'
import { HOLDERS_SHOWN_MAX } from '../crds/holders.ts'
import { KINDS } from '../crds/index.ts'
import { ObjectAccessKey, ObjectStorageAccount } from '../crds/objectstorage.ts'
import { BoundaryProjection } from '../crds/projections.ts'
import { QuotaLedger } from '../crds/quotas.ts'
import { RegistryPin, RegistryRepository } from '../crds/registry.ts'
import { RelationalCluster } from '../crds/relational.ts'
import { RelationalSnapshot } from '../crds/relationalSnapshots.ts'
import { ResourceGroup } from '../crds/resourcegroups.ts'
import { retainedStorage } from '../crds/retainedStorage.ts'
import { listGroupHolders, retainedElsewhere } from '../crds/retention.ts'
import { SecretVault, VaultEntry } from '../crds/vaults.ts'
import { groupNetworkPolicy } from '../desired/isolation.ts'
import { groupLimitRange, groupResourceQuota, SECRET_BINDINGS, secretBindings } from '../desired/resourcegroups.ts'
import {
  clusterRole,
  limitRange,
  namespace,
  networkPolicy,
  persistentVolumeClaim,
  pod,
  resourceQuota,
  roleBinding,
} from '../kube/builtin.ts'
import { controller, type Pass, steps } from './engine/controller.ts'
import {
  abbreviateNames,
  blockForHolders,
  ensureNamespace,
  markNamespaceClosed,
  removeOwnedNamespace,
} from './ownedNamespace.ts'
import { askLedger, LEDGER_RIGHTS, releaseGrant } from './quotaLedger.ts'
import { keepPullSecret } from './registry/pullSecret.ts'
import { removeGroupImages } from './registry/removal.ts'
import {
  concernedGroup,
  groupOfClaim,
  groupsElsewhere,
  refusedGroupsOfBoundary,
  refusedSiblings,
  volumesOf,
} from './resourcegroupEvents.ts'
import { childRights } from './workload/observers.ts'

export type ResourceGroupPass = Pass<typeof ResourceGroup>

/** Kinds whose objects live in a group's namespace. */
const GROUP_KINDS: readonly AnyKind[] = KINDS.filter((kind) => kind.placement === 'group')

export type GroupOptions = {
  /** CIDRs that tenants' pods must not reach, besides link-local networks; defaults to none. */
  closedNetworks?: readonly string[]
  /** What every namespace carries besides the platform's own; defaults to nothing. */
  namespaceMetadata?: NamespaceMetadata
  /** The registry that nodes pull images from; defaults to none. */
  registry?: Pick<RegistryPort, 'host' | 'keys'> | undefined
  /** Local disk share of a container; defaults to `DISK_SHARE`. */
  disk?: DiskShare | undefined
}

/** Of the groups themselves, which remove their images. */
export type ResourceGroupOptions = GroupOptions & { registry?: RegistryPort | undefined }

/**
 * Keeps the namespace of each group with what must be in it before any resource: rights to its Secrets, network policy,
 * limits. A namespaced object cannot own a namespace, so a finalizer deletes it.
 */
export const resourceGroupController = ({
  closedNetworks = [],
  registry,
  disk,
  namespaceMetadata = {},
}: ResourceGroupOptions = {}) =>
  controller(ResourceGroup, {
    observes: [
      namespace,
      networkPolicy,
      roleBinding,
      resourceQuota,
      limitRange,
      { resource: Boundary.resource, keysOf: refusedGroupsOfBoundary },
      { resource: ResourceGroup.resource, keysOf: refusedSiblings },
      { resource: QuotaLedger.resource, keysOf: refusedSiblings },
      ...GROUP_KINDS.map((kind) => ({ resource: kind.resource, keysOf: concernedGroup(kind) })),
      { resource: persistentVolumeClaim, in: 'workloads', keysOf: groupOfClaim },
      { resource: BoundaryProjection.resource, keysOf: groupsElsewhere, relevant: volumesOf },
    ],
    reads: [RegistryRepository.resource, RegistryPin.resource],
    childrenIn: 'records',
    writes: [
      LEDGER_RIGHTS,
      ...childRights([namespace, networkPolicy, roleBinding, resourceQuota, limitRange]),
      { resource: clusterRole, verbs: ['bind'], resourceNames: SECRET_BINDINGS.map((binding) => binding.clusterRole) },
      ...GROUP_KINDS.map(({ resource }) => ({ resource, verbs: ['delete'] })),
      { resource: RegistryRepository.resource, verbs: ['create', 'patch', 'delete'] },
      { resource: pod, verbs: ['list'] },
    ],
    reconcile: steps(
      checkQuota,
      ensureNamespace((pass: ResourceGroupPass) => namespaceObjectOf(pass, namespaceMetadata)),
      grantSecretAccess,
      closeTraffic(closedNetworks),
      limitPods(disk),
      reportHeldBy,
      // Last: an unreachable registry, or a foreign Secret of that name, must not leave a group without its policy.
      keepPullSecret(registry),
    ),
    finalize: steps(
      closeNamespace(namespaceMetadata),
      pullWhileHeld(registry),
      removeResources,
      removeNamespace,
      removeGroupImages(registry),
      releaseQuota,
    ),
  })

function groupNamespaceOf(pass: ResourceGroupPass): string {
  return groupNamespace(boundaryIdOf(pass), pass.object.metadata.name)
}

function boundaryIdOf(pass: ResourceGroupPass): string {
  const { boundaryId } = pass.scope
  // The engine starts no pass of such a kind without a boundary, which it also derives from the namespace's name.
  if (boundaryId === undefined) throw new Error(`Resource group "${pass.key}" is not in a boundary.`)
  return boundaryId
}

/** Only a new group can be refused: a group with a namespace stays if the limit is lowered later. */
export async function checkQuota(pass: ResourceGroupPass): Promise<Outcome> {
  if ((await pass.children.get(namespace, undefined, groupNamespaceOf(pass))) !== undefined) return done()
  const boundary = pass.records.cache(Boundary).get(undefined, boundaryIdOf(pass))
  const limits = boundary?.spec.quota ?? {}
  if (limits.resourceGroups === undefined) return done()
  const siblings = pass.records.cache(ResourceGroup).list({ namespace: pass.object.metadata.namespace })
  const own = groupGrantKey(pass.object.metadata.name)
  return askLedger(pass, boundaryIdOf(pass), own, ({ grants }) => {
    if (grants[own] !== undefined) return { kind: 'held' }
    const seen = new Set(siblings.map(({ metadata }) => groupGrantKey(metadata.name)))
    const unseen = unseenUsers(grants, (key) => seen.has(key) || !isGroupGrant(key), pass.clock.now())
    const others = [...siblings.map((sibling) => countedGroupOf(sibling, grants)), ...unseen]
    const verdict = evaluateGroupCount(limits, countedGroupOf(pass.object as StoredGroup, grants), others)
    const expired = expiredGrants(grants, (key) => seen.has(key) || !isGroupGrant(key), pass.clock.now())
    if (verdict.kind === 'fits') return { kind: 'granted', demand: undefined, expired }
    return { kind: 'refused', message: quotaSentence(verdict), isUnsettled: unseen.length > 0 }
  })
}

type StoredGroup = ResourceGroup & { [key: string]: unknown }

function countedGroupOf({ metadata, status }: StoredGroup, grants: QuotaGrants) {
  const key = groupGrantKey(metadata.name)
  const isGranted = grants[key] !== undefined || status?.namespace !== undefined
  return { key, createdAt: metadata.creationTimestamp ?? '', isGranted }
}

/** Frees the group's place for a group that waits. */
async function releaseQuota(pass: ResourceGroupPass): Promise<Outcome> {
  await releaseGrant(pass, boundaryIdOf(pass), groupGrantKey(pass.object.metadata.name))
  return done()
}

const namespaceObjectOf = (pass: ResourceGroupPass, wanted: NamespaceMetadata): KubeObject =>
  withNamespaceMetadata(groupNamespaceObject(boundaryIdOf(pass), pass.object.metadata.name, pass.incarnation), wanted)

export async function grantSecretAccess(pass: ResourceGroupPass): Promise<Outcome> {
  for (const binding of secretBindings(groupNamespaceOf(pass)))
    await pass.children.ensure(binding, { resource: roleBinding })
  return done()
}

const closeTraffic = (closedNetworks: readonly string[]) => async (pass: ResourceGroupPass) => {
  await pass.children.ensure(groupNetworkPolicy(groupNamespaceOf(pass), closedNetworks), { resource: networkPolicy })
  return done()
}

export const limitPods = (disk: DiskShare = DISK_SHARE) =>
  async function limitPods(pass: ResourceGroupPass): Promise<Outcome> {
    await limitNamespace(pass, groupNamespaceOf(pass), pass.object.spec.quota, disk)
    return done()
  }

/** Keeps the limits of a group in one of its namespaces. */
export async function limitNamespace(
  { children }: Pick<Pass, 'children'>,
  name: string,
  quota: ResourceGroup['spec']['quota'],
  disk: DiskShare,
): Promise<void> {
  // The LimitRange first: otherwise, pods without requests would be refused in between.
  await children.ensure(groupLimitRange(name, quota, disk), { resource: limitRange })
  const counted = groupResourceQuota(name, quota)
  if (counted !== undefined) await children.ensure(counted, { resource: resourceQuota })
  else
    for (const { metadata } of children.owned(resourceQuota))
      if (metadata.namespace === name) await children.remove(resourceQuota, name, metadata.name)
}

/** Reports what blocks a deletion, for users without REST, and for REST, which does not read volume claims. */
export function reportHeldBy(pass: ResourceGroupPass): Outcome {
  const retained = retainedStorage(claimsOf(pass))
  pass.report({
    heldBy: holdersOf(pass).slice(0, HOLDERS_SHOWN_MAX),
    retainedStorage: retained.length === 0 ? undefined : retained,
  })
  return done()
}

function holdersOf(pass: ResourceGroupPass): string[] {
  const projections = pass.records.cache(BoundaryProjection).list({ namespace: pass.object.metadata.namespace })
  return listGroupHolders(
    (kind) => cachedObjects(pass, kind),
    claimsOf(pass),
    retainedElsewhere(projections, groupNamespaceOf(pass)),
  )
}

function claimsOf(pass: ResourceGroupPass): readonly KubeObject[] {
  return pass.workloads.cache(persistentVolumeClaim).list({ namespace: groupNamespaceOf(pass) })
}

function cachedObjects(pass: ResourceGroupPass, { resource }: AnyKind): readonly KubeObject[] {
  return pass.records.cache(resource).list({ namespace: groupNamespaceOf(pass) })
}

/** Returns the holders as the API server has them now. */
async function storedHoldersOf(pass: ResourceGroupPass): Promise<string[]> {
  const options = { namespace: groupNamespaceOf(pass) }
  const contents = new Map<AnyKind, KubeObject[]>()
  for (const kind of GROUP_KINDS) contents.set(kind, (await pass.records.client.list(kind.resource, options)).items)
  const claims = await pass.workloads.client.list(persistentVolumeClaim, options)
  const inBoundary = { namespace: pass.object.metadata.namespace }
  const projections = await pass.records.client.list(BoundaryProjection.resource, inBoundary)
  const elsewhere = retainedElsewhere(projections.items, groupNamespaceOf(pass))
  return listGroupHolders((kind) => contents.get(kind) ?? [], claims.items, elsewhere)
}

const closeNamespace = (wanted: NamespaceMetadata) => (pass: ResourceGroupPass) =>
  markNamespaceClosed(pass, namespaceObjectOf(pass, wanted))

/**
 * Checks again before anything is deleted, because an object may have been created after the deletion was admitted.
 * Each cache has its own watch and may show the deletion before that object, so a pass that deletes first asks the API
 * server.
 */
export async function blockWhileHeld(pass: ResourceGroupPass): Promise<Outcome> {
  const seen = holdersOf(pass)
  const holders = seen.length === 0 && isAboutToDelete(pass) ? await storedHoldersOf(pass) : seen
  pass.report({ heldBy: holders.slice(0, HOLDERS_SHOWN_MAX) })
  return blockForHolders(
    holders,
    'Remove the protection, restore snapshots into another group, or delete what was kept',
  )
}

/** Renews the pull Secret while the deletion is blocked: resources still run, and the credential lasts for a day. */
const pullWhileHeld = (registry: GroupOptions['registry']) =>
  async function stopWhilePulling(pass: ResourceGroupPass): Promise<Outcome> {
    const held = await blockWhileHeld(pass)
    const namespaceObject = pass.records.cache(namespace).get(undefined, groupNamespaceOf(pass))
    const exists = namespaceObject !== undefined && namespaceObject.metadata.deletionTimestamp === undefined
    if (held.kind !== 'waiting' || !exists) return held
    const { after } = await keepPullSecret(registry)(pass)
    return after === undefined ? held : { ...held, after }
  }

/** Whether this pass deletes a resource or the namespace, rather than waiting for deletions in progress. */
function isAboutToDelete(pass: ResourceGroupPass): boolean {
  if (pass.records.cache(namespace).get(undefined, groupNamespaceOf(pass))?.metadata.deletionTimestamp !== undefined)
    return false
  const contents = GROUP_KINDS.flatMap((kind) => cachedObjects(pass, kind))
  return contents.length === 0 || contents.some((object) => isToBeDeleted(pass, object))
}

/** Kinds whose objects another object deletes in its own order, and the field that names it. */
const DELETED_BY_OWNER: readonly { kind: AnyKind; owner: AnyKind; field: string }[] = [
  { kind: RelationalSnapshot, owner: RelationalCluster, field: 'clusterName' },
  { kind: VaultEntry, owner: SecretVault, field: 'vaultName' },
  { kind: ObjectAccessKey, owner: ObjectStorageAccount, field: 'accountName' },
]

/**
 * Deletes the group's resources one by one and waits for each. The deletion of the namespace has no order: it would
 * remove Secrets and rights that resources need for their own cleanup. Parts are left to the resource that deletes
 * them.
 */
export async function removeResources(pass: ResourceGroupPass): Promise<Outcome> {
  const remaining: string[] = []
  for (const kind of GROUP_KINDS) {
    for (const object of cachedObjects(pass, kind)) {
      if (!isToBeDeleted(pass, object)) continue
      await pass.records.client.remove(kind.resource, refOf(object), { uid: object.metadata.uid })
    }
    remaining.push(...cachedObjects(pass, kind).map((object) => nameOf(object)))
  }
  if (remaining.length === 0) return done()
  return waiting('TearingDown', `Waiting for the deletion of ${abbreviateNames(remaining)}.`)
}

function isToBeDeleted(pass: ResourceGroupPass, object: KubeObject): boolean {
  return object.metadata.deletionTimestamp === undefined && !isLeftToOwner(pass, object)
}

function isLeftToOwner(pass: ResourceGroupPass, object: KubeObject): boolean {
  const rule = DELETED_BY_OWNER.find(({ kind }) => kind.kind === object.kind)
  const name = rule === undefined ? undefined : (object.spec as Record<string, unknown>)[rule.field]
  if (rule === undefined || typeof name !== 'string') return false
  return pass.records.cache(rule.owner.resource).get(groupNamespaceOf(pass), name) !== undefined
}

function nameOf(object: KubeObject): string {
  return `${object.kind} "${object.metadata.name}"`
}

export function removeNamespace(pass: ResourceGroupPass): Promise<Outcome> {
  return removeOwnedNamespace(pass, groupNamespaceOf(pass))
}
