import { INITIAL_OWNER_ASSIGNED_ANNOTATION } from '../core/labels.ts'
import { boundaryNamespace } from '../core/names.ts'
import type { KubeObject } from '../core/object.ts'
import { done, type Outcome } from '../core/outcome.ts'
import { formatScope, parseScope } from '../core/scope.ts'
import type { Boundary } from '../crds/boundaries.ts'
import { RoleAssignment } from '../crds/rbac.ts'
import { INITIAL_OWNER_ROLE } from '../desired/boundaries.ts'
import type { Observed, Pass } from './engine/controller.ts'

type Assignment = RoleAssignment & KubeObject

const isOfOwner = ({ spec, metadata }: Assignment) =>
  spec.roleDefinitionName === INITIAL_OWNER_ROLE && metadata.deletionTimestamp === undefined

/** Wakes the boundary when an Owner is added or removed. */
export const BOUNDARY_OWNER_OBSERVER: Observed = {
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
export async function reportMissingOwner({ object, records }: Pass<typeof Boundary>): Promise<Outcome> {
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
