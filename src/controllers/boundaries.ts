import { INCARNATION_ANNOTATION, INITIAL_OWNER_ASSIGNED_ANNOTATION } from '../core/labels.ts'
import { boundaryNamespace, boundaryOfNamespace } from '../core/names.ts'
import { boundaryNamespaceObject, type NamespaceMetadata, withNamespaceMetadata } from '../core/namespaces.ts'
import type { KubeObject } from '../core/object.ts'
import { done, type Outcome } from '../core/outcome.ts'
import { formatScope, parseScope } from '../core/scope.ts'
import { Boundary } from '../crds/boundaries.ts'
import { HOLDERS_SHOWN_MAX } from '../crds/holders.ts'
import { kubectlName } from '../crds/kubectlName.ts'
import { RoleAssignment } from '../crds/rbac.ts'
import { ResourceGroup } from '../crds/resourcegroups.ts'
import {
  BOUNDARY_SECRETS_ROLE,
  BOUNDARY_SECRETS_WATCH_ROLE,
  boundarySecretBindings,
  INITIAL_OWNER_ROLE,
} from '../desired/boundaries.ts'
import { closedNetworkPolicy } from '../desired/isolation.ts'
import { clusterRole, namespace, networkPolicy, roleBinding } from '../kube/builtin.ts'
import { controller, type Observed, type Pass, steps, type Workspace } from './engine/controller.ts'
import { blockForHolders, ensureNamespace, markNamespaceClosed, removeOwnedNamespace } from './ownedNamespace.ts'
import { assignInitialOwner, INITIAL_OWNER_RIGHTS } from './rbac.ts'
import { childRights } from './workload/observers.ts'

export type BoundaryPass = Pass<typeof Boundary>

/**
 * Keeps the namespace of each boundary. The finalizer deletes the namespace once no resource group is left: deleting a
 * boundary never deletes what users created in it.
 */
export const boundaryController = ({ namespaceMetadata = {} }: { namespaceMetadata?: NamespaceMetadata } = {}) =>
  controller(Boundary, {
    observes: [
      namespace,
      networkPolicy,
      roleBinding,
      { resource: ResourceGroup.resource, keysOf: concernedBoundary },
      BOUNDARY_OWNER_OBSERVER,
    ],
    childrenIn: 'records',
    writes: [
      ...childRights([namespace]),
      { resource: networkPolicy, verbs: ['get', 'create', 'patch'] },
      { resource: roleBinding, verbs: ['get', 'create', 'patch'] },
      { resource: clusterRole, verbs: ['bind'], resourceNames: [BOUNDARY_SECRETS_ROLE, BOUNDARY_SECRETS_WATCH_ROLE] },
      ...INITIAL_OWNER_RIGHTS,
    ],
    reconcile: steps(
      ensureNamespace((pass: BoundaryPass) => namespaceObjectOf(pass, namespaceMetadata)),
      closeTraffic,
      grantSecretAccess,
      assignInitialOwner,
      reportHeldBy,
      reportMissingOwner,
    ),
    finalize: steps(closeNamespace(namespaceMetadata), blockWhileHeld, removeNamespace),
  })

/** With the incarnation of this pass, which may be newer than the object in the cache. */
function namespaceObjectOf({ object, incarnation }: BoundaryPass, wanted: NamespaceMetadata): KubeObject {
  const { metadata } = object
  const annotations = { ...metadata.annotations, [INCARNATION_ANNOTATION]: incarnation }
  return withNamespaceMetadata(boundaryNamespaceObject({ ...object, metadata: { ...metadata, annotations } }), wanted)
}

export async function closeTraffic(pass: BoundaryPass): Promise<Outcome> {
  const policy = closedNetworkPolicy(boundaryNamespace(pass.object.metadata.name))
  await pass.children.ensure(policy, { resource: networkPolicy })
  return done()
}

export async function grantSecretAccess(pass: BoundaryPass): Promise<Outcome> {
  for (const binding of boundarySecretBindings(boundaryNamespace(pass.object.metadata.name)))
    await pass.children.ensure(binding, { resource: roleBinding })
  return done()
}

function groupsOf({ object, records }: BoundaryPass): string[] {
  return namesOf(records.cache(ResourceGroup).list({ namespace: boundaryNamespace(object.metadata.name) }))
}

/** Lists the groups from the API server. */
async function storedGroupsOf({ object, records }: BoundaryPass): Promise<string[]> {
  const options = { namespace: boundaryNamespace(object.metadata.name) }
  return namesOf((await records.client.list(ResourceGroup.resource, options)).items)
}

function namesOf(groups: readonly KubeObject[]): string[] {
  return groups.map(({ metadata }) => kubectlName(ResourceGroup, metadata.name)).sort()
}

/** Reports what blocks a deletion, for users who delete the boundary without REST. */
export function reportHeldBy(pass: BoundaryPass): Outcome {
  pass.report({ heldBy: groupsOf(pass).slice(0, HOLDERS_SHOWN_MAX) })
  return done()
}

const closeNamespace = (wanted: NamespaceMetadata) => (pass: BoundaryPass) =>
  markNamespaceClosed(pass, namespaceObjectOf(pass, wanted))

/**
 * Checks again before anything is deleted, because a group may have been created at the same time. The cache may not
 * have that group yet, so the API server is asked.
 */
export async function blockWhileHeld(pass: BoundaryPass): Promise<Outcome> {
  const seen = groupsOf(pass)
  const groups = seen.length === 0 ? await storedGroupsOf(pass) : seen
  pass.report({ heldBy: groups.slice(0, HOLDERS_SHOWN_MAX) })
  return blockForHolders(groups, 'Delete these resource groups')
}

export function removeNamespace(pass: BoundaryPass): Promise<Outcome> {
  return removeOwnedNamespace(pass, boundaryNamespace(pass.object.metadata.name))
}

/** Wakes the boundary only if one of its groups was created or deleted, not on changes. */
function concernedBoundary({ metadata }: KubeObject, records: Workspace): string[] {
  const boundaryId = boundaryOfNamespace(metadata.namespace ?? '')
  if (boundaryId === undefined) return []
  const boundary = records.cache(Boundary).get(undefined, boundaryId)
  const exists = records.cache(ResourceGroup).get(metadata.namespace, metadata.name) !== undefined
  const isReported = boundary?.status?.heldBy?.includes(kubectlName(ResourceGroup, metadata.name)) === true
  return exists === isReported ? [] : [boundaryId]
}

type Assignment = RoleAssignment & KubeObject

const isOfOwner = ({ spec, metadata }: Assignment) =>
  spec.roleDefinitionName === INITIAL_OWNER_ROLE && metadata.deletionTimestamp === undefined

/** Wakes the boundary when an Owner is added or removed. */
const BOUNDARY_OWNER_OBSERVER: Observed = {
  resource: RoleAssignment.resource,
  keysOf: (assignment) => {
    const { spec } = assignment as Assignment
    const scope = spec.roleDefinitionName === INITIAL_OWNER_ROLE ? parseScope(spec.scope) : undefined
    return scope?.level === 'boundary' ? [scope.boundaryId] : []
  },
  relevant: ({ metadata }) => metadata.deletionTimestamp,
}

const UNGOVERNED = 'Nobody is Owner of this boundary: an Owner of the platform gives the role to somebody.'

/**
 * Reports a boundary without an Owner. Removing the last one is refused, but concurrent removals at two replicas, or a
 * cluster administrator, can still remove both of two Owners.
 */
async function reportMissingOwner({ object, records }: Pass<typeof Boundary>): Promise<Outcome> {
  const { metadata, spec } = object
  const isAwaited =
    spec.initialOwner !== undefined && metadata.annotations?.[INITIAL_OWNER_ASSIGNED_ANNOTATION] === undefined
  if (isAwaited) return done()
  const scope = formatScope({ level: 'boundary', boundaryId: metadata.name })
  const isOwner = (one: Assignment) => isOfOwner(one) && one.spec.scope === scope
  const home = { namespace: boundaryNamespace(metadata.name) }
  if (records.cache(RoleAssignment).list(home).some(isOwner)) return done()
  // Ask the API server: the cache may lack a new Owner.
  const { items } = await records.client.list<Assignment>(RoleAssignment.resource, home)
  return items.some(isOwner) ? done() : done({ reason: 'Ungoverned', message: UNGOVERNED })
}
