import { randomUUID } from 'node:crypto'
import { idOf } from '../../src/core/ids.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import {
  BoundaryTrust,
  DenyAssignment,
  JitRequest,
  PrincipalGroup,
  RoleAssignment,
  RoleDefinition,
} from '../../src/crds/rbac.ts'

/** The participants and objects of a case, new in each run. */
export type GrantingWorld = {
  boundaryId: string
  foreignId: string
  /** The writer; a service account. */
  me: string
  other: string
  /** Unused ids for groups and names for roles. */
  group: string
  roleName: string
}

export type GivenObject = { kind: AnyKind; namespace: string | undefined; name: string; spec: object }
export type KubernetesWrite = GivenObject & { operation: 'create' | 'update' | 'delete' }
export type RestWrite = { method: 'POST' | 'DELETE'; path: string; body?: object }

/**
 * A write under one rule of granting, for both interfaces. The unit test, REST and the API server must all reach the
 * same verdict with the same message.
 */
export type GrantingCase = {
  rule: string
  /** Part of the refusal; absent if the write is admitted. */
  refused?: (world: GrantingWorld) => string
  /** The authorizer's message, if it stops the write before any webhook. */
  unauthorized?: string
  /** The writer's roles. */
  roles: (world: GrantingWorld) => Record<string, string>
  /** The only Owners of the boundary are the writer and those that the case makes. */
  isOnlyOwner?: true
  given?: (world: GrantingWorld) => GivenObject[]
  write: (world: GrantingWorld) => KubernetesWrite
  /** Absent if REST has no route for it. */
  rest?: (world: GrantingWorld) => RestWrite
}

export const at = ({ boundaryId }: GrantingWorld) => `/boundaries/${boundaryId}`
export const home = ({ boundaryId }: GrantingWorld) => boundaryNamespace(boundaryId)
export const MINE = 'mine'

type Assigned = { to?: string; type?: string; role?: string; scope?: string; name?: string; namespace?: string }
export function assignment(world: GrantingWorld, change: Assigned = {}, more: object = {}): GivenObject {
  const { to = world.other, type = 'ServicePrincipal', role = 'Reader', scope = at(world) } = change
  const { name = `given-${world.roleName}`, namespace = scope === '/' ? SYSTEM_NAMESPACE : home(world) } = change
  const spec = { principalId: to, principalType: type, roleDefinitionName: role, scope, ...more }
  return { kind: RoleAssignment, namespace, name, spec }
}

export const group = (world: GrantingWorld, memberIds: string[], id = world.group): GivenObject => ({
  kind: PrincipalGroup,
  namespace: home(world),
  name: id,
  spec: { displayName: `Group ${id}`, memberIds },
})

export const deny = (world: GrantingWorld, spec: object, name = `deny-${world.roleName}`): GivenObject => ({
  kind: DenyAssignment,
  namespace: home(world),
  name,
  spec: { actions: ['jobs/write'], scope: at(world), ...spec },
})

export const role = ({ roleName }: GrantingWorld, actions: string[]): GivenObject => ({
  kind: RoleDefinition,
  namespace: undefined,
  name: roleName,
  spec: { displayName: roleName, actions, assignableScopes: ['/', '/boundaries/*'] },
})

const trust = (world: GrantingWorld, actions: string[], to = world.foreignId): GivenObject => ({
  kind: BoundaryTrust,
  namespace: SYSTEM_NAMESPACE,
  name: `trust-${world.roleName}`,
  spec: { boundaryId: world.boundaryId, trustedBoundaryId: to, actions },
})

export const request = (world: GrantingWorld, spec: object = {}): GivenObject => ({
  kind: JitRequest,
  namespace: home(world),
  name: world.group,
  spec: {
    principalId: world.me,
    principalType: 'ServicePrincipal',
    roleDefinitionName: 'Contributor',
    scope: at(world),
    justification: 'A fire',
    ...spec,
  },
})

export const create = (object: GivenObject): KubernetesWrite => ({ ...object, operation: 'create' })
export const update = (object: GivenObject): KubernetesWrite => ({ ...object, operation: 'update' })
export const remove = (object: GivenObject): KubernetesWrite => ({ ...object, operation: 'delete' })

const idOfObject = ({ kind, namespace = '', name }: GivenObject) =>
  idOf({ group: kind.resource.group, kind: kind.kind, namespace, name })

/** Granting a role at the boundary, for both interfaces. */
export const giving = (change: (world: GrantingWorld) => Assigned): Pick<GrantingCase, 'write' | 'rest'> => ({
  write: (world) => create(assignment(world, change(world))),
  rest: (world) => {
    const { to = world.other, type, role: roleDefinitionName = 'Reader' } = change(world)
    const principalType = type === undefined ? {} : { principalType: type }
    return {
      method: 'POST',
      path: `${at(world)}/members`,
      body: { principalId: to, roleDefinitionName, ...principalType },
    }
  },
})
export const taking = (object: (world: GrantingWorld) => GivenObject): Pick<GrantingCase, 'write' | 'rest'> => ({
  write: (world) => remove(object(world)),
  rest: (world) => ({ method: 'DELETE', path: `${at(world)}/members/${idOfObject(object(world))}` }),
})
export const denying = (spec: (world: GrantingWorld) => object): Pick<GrantingCase, 'write' | 'rest'> => ({
  write: (world) => create(deny(world, spec(world))),
  rest: (world) => ({
    method: 'POST',
    path: `${at(world)}/providers/authorization/denyAssignments`,
    body: { actions: ['jobs/write'], ...spec(world) },
  }),
})
export const undenying = (object: (world: GrantingWorld) => GivenObject): Pick<GrantingCase, 'write' | 'rest'> => ({
  write: (world) => remove(object(world)),
  rest: (world) => ({
    method: 'DELETE',
    path: `${at(world)}/providers/authorization/denyAssignments/${idOfObject(object(world))}`,
  }),
})
export const grouping = (memberIds: (world: GrantingWorld) => string[]): Pick<GrantingCase, 'write' | 'rest'> => ({
  write: (world) => create(group(world, memberIds(world))),
  rest: (world) => ({
    method: 'POST',
    path: `${at(world)}/providers/authorization/groups`,
    body: { displayName: `By REST ${world.group}`, memberIds: memberIds(world) },
  }),
})
export const trusting = (actions: string[], to?: string): Pick<GrantingCase, 'write' | 'rest'> => ({
  write: (world) => create(trust(world, actions, to)),
  rest: ({ boundaryId, foreignId }) => ({
    method: 'POST',
    path: '/admin/boundary-trusts',
    body: { boundaryId, trustedBoundaryId: to ?? foreignId, actions },
  }),
})

export const owner = (world: GrantingWorld) => ({ Owner: at(world) })
export const contributor = (world: GrantingWorld) => ({ Contributor: at(world) })
export const reader = (world: GrantingWorld) => ({ Reader: at(world) })
/** May manage members, but lacks the actions that only tenants hold. */
export const lesser = (world: GrantingWorld) => ({ 'Platform Owner': at(world) })
export const rootOwner = () => ({ Owner: '/' })
export const rootPlatformOwner = () => ({ 'Platform Owner': '/' })

export const exceeds = (name: string) => (world: GrantingWorld) =>
  `The role "${name}" has actions that you do not have at all of ${at(world)}.`
export const missing = (action: string) => (world: GrantingWorld) =>
  `The permission ${action} is missing at ${at(world)}.`
export const NOBODY = randomUUID()

export const mine = (world: GrantingWorld) => assignment(world, { to: world.me, role: 'Owner', name: MINE })
export const ofGroup = (name: string) => (world: GrantingWorld) => [
  group(world, []),
  assignment(world, { to: world.group, type: 'Group', role: name }),
]
export const deniedThroughGroup = (world: GrantingWorld) => [
  group(world, [world.me, world.other]),
  deny(world, { principalId: world.group, principalType: 'Group' }),
]
export const forAWhile = (world: GrantingWorld, name: string, end: string) =>
  assignment(world, { role: name }, { expiresAt: end })
export const [OVER, SOON, LATER] = ['2020-01-01T00:00:00Z', '2098-01-01T00:00:00Z', '2099-01-01T00:00:00Z']
