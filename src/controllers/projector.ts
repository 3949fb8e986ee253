import { LRUCache } from 'lru-cache'
import {
  INCARNATION_ANNOTATION,
  PRINCIPAL_INCARNATIONS_ANNOTATION,
  SCOPE_INCARNATION_ANNOTATION,
} from '../core/labels.ts'
import { boundaryNamespace, boundaryOfNamespace, SYSTEM_NAMESPACE } from '../core/names.ts'
import { type KubeObject, keyOf, type ObjectMeta, type Resource } from '../core/object.ts'
import { done, type Outcome } from '../core/outcome.ts'
import { Boundary } from '../crds/boundaries.ts'
import type { AnyKind } from '../crds/define.ts'
import { PlatformClient, PlatformUser } from '../crds/identity.ts'
import { KINDS } from '../crds/index.ts'
import {
  currentPrincipalsOf,
  isPrincipalEnabled,
  PRINCIPAL_RESOURCES,
  type PrincipalLookup,
} from '../crds/principals.ts'
import { PrincipalGroup, RoleAssignment } from '../crds/rbac.ts'
import { ResourceGroup } from '../crds/resourcegroups.ts'
import {
  type ProjectedGrants,
  type Projection,
  projectedBindings,
  projectedGrants,
} from '../desired/projectedBindings.ts'
import { projectedRoles } from '../iam/projection.ts'
import { clusterRole, roleBinding } from '../kube/builtin.ts'
import {
  type Children,
  type Controller,
  type Pass,
  type Rights,
  type Step,
  steps,
  type Workspace,
} from './engine/controller.ts'
import { related } from './engine/lookups.ts'
import { childRights } from './workload/observers.ts'
import { isNamespaceTerminating } from './workload/pass.ts'

const ROLES = projectedRoles(KINDS)
const CLUSTER_ROLES: ReadonlyMap<string, string> = new Map(ROLES.map((role) => [role.displayName, role.clusterRole]))
const NAMES = new Set(CLUSTER_ROLES.values())

/** The ceiling: `bind` of the generated roles only, so that no assignment can grant more than they hold. */
export const PROJECTION_RIGHTS: readonly Rights[] = [
  ...childRights([roleBinding]),
  { resource: clusterRole, verbs: ['bind'], resourceNames: [...NAMES] },
]

/**
 * Extends the controller of boundaries or groups to write assignments as RoleBindings in their namespace, for clusters
 * whose API server cannot call the facade. If projection is off, it deletes bindings written while it was on; those
 * rights would stay for ever otherwise.
 */
export function withProjection(controller: Controller, isOn: boolean): Controller {
  const endRights = (isOn ? renewProjection : withdrawProjection) as AnyStep
  const isOfBoundary = controller.kind.kind === Boundary.kind
  const ofIam = [RoleAssignment.resource, PrincipalGroup.resource].map((resource) => ({
    resource,
    relevant: ({ metadata, spec }: KubeObject) => [bindingMetadataOf(metadata), spec],
    keysOf: (record: KubeObject, records: Workspace) => keysAffectedBy(record, controller.kind.resource, records),
  }))
  const ofPrincipals = PRINCIPALS.map((resource) => ({
    resource,
    relevant: ({ metadata, spec }: KubeObject) => [
      bindingMetadataOf(metadata),
      (spec as { isEnabled?: boolean }).isEnabled,
    ],
    keysOf: ({ metadata }: KubeObject, records: Workspace) =>
      keysNaming(metadata.name, controller.kind.resource, records),
  }))
  const followed = isOn ? [...ofIam, ...ofPrincipals] : []
  return Object.freeze({
    ...controller,
    observes: [...controller.observes, ...(isOfBoundary ? [roleBinding] : []), ...followed],
    reads: [...controller.reads, ...(isOn ? PRINCIPAL_RESOURCES : []), ...(isOfBoundary ? [] : [Boundary.resource])],
    writes: [...controller.writes, ...PROJECTION_RIGHTS],
    // Revoke first: neither an obstacle in a pass nor a blocked deletion may leave rights behind.
    reconcile: steps(endRights, controller.reconcile, isOn ? (projectAssignments as AnyStep) : () => done()),
    finalize: controller.finalize && steps(endRights, controller.finalize),
  })
}

/** A re-created principal inherits nothing, and a disabled one has no rights. */
const PRINCIPALS = [PlatformUser.resource, PlatformClient.resource]

/** Returns the metadata that bindings depend on: each change of it re-evaluates all of a boundary's assignments. */
function bindingMetadataOf({ uid, deletionTimestamp, annotations = {} }: ObjectMeta): unknown {
  const named = [INCARNATION_ANNOTATION, SCOPE_INCARNATION_ANNOTATION, PRINCIPAL_INCARNATIONS_ANNOTATION]
  return [uid, deletionTimestamp, named.map((name) => annotations[name])]
}

/** Returns the keys where the principal, or a group that it is in, has an assignment. */
function keysNaming(id: string, resource: Resource, records: Workspace): string[] {
  const naming = [
    ...related(records.cache(RoleAssignment), 'principal', id),
    ...related(records.cache(PrincipalGroup), 'principal', id),
  ]
  // What is affected depends on the namespace only.
  const places = new Map(naming.map((record) => [record.metadata.namespace, record]))
  return [...new Set([...places.values()].flatMap((record) => keysAffectedBy(record, resource, records)))]
}

/** A record in a boundary concerns the boundary and its groups; one of the platform concerns all. */
function keysAffectedBy({ metadata }: KubeObject, resource: Resource, records: Workspace): string[] {
  const boundaryId = boundaryOfNamespace(metadata.namespace ?? '')
  const cache = records.cache(resource)
  if (metadata.namespace === SYSTEM_NAMESPACE) return cache.list().map(keyOf)
  if (boundaryId === undefined) return []
  if (!resource.namespaced) return [boundaryId]
  return cache.list({ namespace: boundaryNamespace(boundaryId) }).map(keyOf)
}

type AnyStep = Step<AnyKind, unknown>

async function projectAssignments(pass: Pass): Promise<Outcome> {
  for (const binding of projectionOf(pass)?.bindings ?? [])
    await pass.children.ensure(binding, { resource: roleBinding })
  return done()
}

/** Updates the subjects of existing bindings and removes other bindings; requeues at the next expiry. */
async function renewProjection(pass: Pass): Promise<Outcome> {
  const projection = projectionOf(pass)
  if (projection === undefined) return done()
  const { bindings, nextEnd } = projection
  const existing = pass.children.owned(roleBinding).filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  for (const binding of bindings) {
    const { name, namespace: bindingNamespace = '' } = binding.metadata
    const exists = existing.some(({ metadata }) => metadata.name === name && metadata.namespace === bindingNamespace)
    // A namespace that is being deleted takes its bindings with it, and accepts no new ones.
    if (exists && !isNamespaceTerminating(pass.records, bindingNamespace))
      await pass.children.ensure(binding, { resource: roleBinding })
  }
  await removeAllBut(new Set(bindings.map(({ metadata }) => metadata.name)), pass.children)
  return done({ after: nextEnd && nextEnd - pass.clock.now() })
}

/** Projections by running pass, because the first and last step need it. */
const projections = new WeakMap<Pass, Projection | undefined>()

/** Returns undefined while the boundary is not in the cache. */
function projectionOf(pass: Pass): Projection | undefined {
  if (!projections.has(pass)) projections.set(pass, computeProjection(pass))
  return projections.get(pass)
}

function computeProjection(pass: Pass): Projection | undefined {
  const { object, records, clock } = pass
  const isGroup = pass.kind.kind === ResourceGroup.kind
  const boundaryId = isGroup ? boundaryOfNamespace(object.metadata.namespace ?? '') : object.metadata.name
  const boundary = isGroup ? records.cache(Boundary).get(undefined, boundaryId ?? '') : (object as KubeObject)
  if (boundary === undefined) return undefined
  const group = isGroup ? (object as KubeObject) : undefined
  return projectedBindings({ boundary, group, grants: grantsIn(records, boundary.metadata.name), now: clock.now() })
}

type KnownGrants = { readonly version: string; readonly grants: ProjectedGrants; readonly size: number }

/** Grants by boundary: a change wakes each of its groups, and a boundary may have hundreds. */
const knownGrants = new WeakMap<Workspace, LRUCache<string, KnownGrants>>()
/** Maximum assignments and group members in the cache. */
const KNOWN_GRANTS_MAX = 500_000

/** Returns the grants of a boundary, which are worked out again once anything that they depend on has changed. */
function grantsIn(records: Workspace, boundaryId: string): ProjectedGrants {
  const namespaces = [boundaryNamespace(boundaryId), SYSTEM_NAMESPACE]
  const sources = [RoleAssignment.resource, ...PRINCIPAL_RESOURCES]
  const revisions = sources.flatMap((each) =>
    namespaces.map((namespace) => records.cache(each).revision({ namespace })),
  )
  const version = revisions.join(' ')
  const known =
    knownGrants.get(records) ??
    new LRUCache<string, KnownGrants>({ maxSize: KNOWN_GRANTS_MAX, sizeCalculation: ({ size }) => size })
  knownGrants.set(records, known)
  const found = known.get(boundaryId)
  if (found?.version === version) return found.grants
  const computed = computeGrants(records, namespaces)
  known.set(boundaryId, { version, ...computed })
  return computed.grants
}

function computeGrants(records: Workspace, namespaces: readonly string[]): Omit<KnownGrants, 'version'> {
  const listVisible = <T extends KubeObject>(resource: Resource) =>
    namespaces.flatMap((namespace) => [...records.cache<T>(resource).list({ namespace })])
  const find: PrincipalLookup = (resource, principalNamespace, name) =>
    records.cache(resource).get(principalNamespace, name)
  // Without the webhook, a disabled principal could act until its token expires.
  const selectActivePrincipals = (record: KubeObject, ids: readonly string[]) =>
    currentPrincipalsOf(find, record, ids).filter((id) => isPrincipalEnabled(find, id))
  const assignments = listVisible<RoleAssignment>(RoleAssignment.resource).filter(
    (one) => selectActivePrincipals(one, [one.spec.principalId]).length > 0,
  )
  const groups = listVisible<PrincipalGroup>(PrincipalGroup.resource).map((group) => ({
    ...group,
    spec: { ...group.spec, memberIds: selectActivePrincipals(group, group.spec.memberIds) },
  }))
  const size = groups.reduce((sum, { spec }) => sum + spec.memberIds.length, 1 + assignments.length)
  return { grants: projectedGrants({ assignments, groups, clusterRoles: CLUSTER_ROLES }), size }
}

async function withdrawProjection({ children }: Pass): Promise<Outcome> {
  await removeAllBut(new Set(), children)
  return done()
}

/** Deletes only bindings made by the projection: others give us access to a group's Secrets. */
async function removeAllBut(wanted: ReadonlySet<string>, children: Children): Promise<void> {
  for (const { metadata } of children.owned(roleBinding)) {
    if (!NAMES.has(metadata.name) || wanted.has(metadata.name)) continue
    await children.remove(roleBinding, metadata.namespace, metadata.name)
  }
}
