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

/** Who and what a case speaks of: made anew for each run of it. */
export type GrantingWorld = {
  boundaryId: string
  foreignId: string
  /** Who writes; a service account. */
  me: string
  other: string
  /** Ids for groups and names for roles, that nothing has yet. */
  group: string
  roleName: string
}

export type GivenObject = { kind: AnyKind; namespace: string | undefined; name: string; spec: object }
export type KubernetesWrite = GivenObject & { operation: 'create' | 'update' | 'delete' }
export type RestWrite = { method: 'POST' | 'DELETE'; path: string; body?: object }

/**
 * A write under one rule of granting, in the words of both interfaces. The pure test, REST and the API server all must
 * come to the same verdict, and refuse in the same words.
 */
export type GrantingCase = {
  rule: string
  /** Part of the refusal; absent where the write is admitted. */
  refused?: (world: GrantingWorld) => string
  /** What the writer holds. */
  roles: (world: GrantingWorld) => Record<string, string>
  /** Nobody but the writer is Owner of the boundary. */
  isOnlyOwner?: true
  given?: (world: GrantingWorld) => GivenObject[]
  write: (world: GrantingWorld) => KubernetesWrite
  /** Absent where REST has no route for it. */
  rest?: (world: GrantingWorld) => RestWrite
}

const at = ({ boundaryId }: GrantingWorld) => `/boundaries/${boundaryId}`
const home = ({ boundaryId }: GrantingWorld) => boundaryNamespace(boundaryId)
const MINE = 'mine'

type Assigned = { to?: string; type?: string; role?: string; scope?: string; name?: string; namespace?: string }
function assignment(world: GrantingWorld, change: Assigned = {}, more: object = {}): GivenObject {
  const { to = world.other, type = 'ServicePrincipal', role = 'Reader', scope = at(world) } = change
  const { name = `given-${world.roleName}`, namespace = scope === '/' ? SYSTEM_NAMESPACE : home(world) } = change
  const spec = { principalId: to, principalType: type, roleDefinitionName: role, scope, ...more }
  return { kind: RoleAssignment, namespace, name, spec }
}

const group = (world: GrantingWorld, memberIds: string[], id = world.group): GivenObject => ({
  kind: PrincipalGroup,
  namespace: home(world),
  name: id,
  spec: { displayName: `Group ${id}`, memberIds },
})

const deny = (world: GrantingWorld, spec: object, name = `deny-${world.roleName}`): GivenObject => ({
  kind: DenyAssignment,
  namespace: home(world),
  name,
  spec: { actions: ['jobs/write'], scope: at(world), ...spec },
})

const role = ({ roleName }: GrantingWorld, actions: string[]): GivenObject => ({
  kind: RoleDefinition,
  namespace: undefined,
  name: roleName,
  spec: { displayName: roleName, actions, assignableScopes: ['/', '/boundaries/*'] },
})

const trust = (world: GrantingWorld, actions: string[]): GivenObject => ({
  kind: BoundaryTrust,
  namespace: SYSTEM_NAMESPACE,
  name: `trust-${world.roleName}`,
  spec: { boundaryId: world.boundaryId, trustedBoundaryId: world.foreignId, actions },
})

const request = (world: GrantingWorld, spec: object = {}): GivenObject => ({
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

const create = (object: GivenObject): KubernetesWrite => ({ ...object, operation: 'create' })
const update = (object: GivenObject): KubernetesWrite => ({ ...object, operation: 'update' })
const remove = (object: GivenObject): KubernetesWrite => ({ ...object, operation: 'delete' })

const idOfObject = ({ kind, namespace = '', name }: GivenObject) =>
  idOf({ group: kind.resource.group, kind: kind.kind, namespace, name })

/** Giving a role at the boundary, in both words. */
const giving = (change: (world: GrantingWorld) => Assigned): Pick<GrantingCase, 'write' | 'rest'> => ({
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
const taking = (object: (world: GrantingWorld) => GivenObject): Pick<GrantingCase, 'write' | 'rest'> => ({
  write: (world) => remove(object(world)),
  rest: (world) => ({ method: 'DELETE', path: `${at(world)}/members/${idOfObject(object(world))}` }),
})
const denying = (spec: (world: GrantingWorld) => object): Pick<GrantingCase, 'write' | 'rest'> => ({
  write: (world) => create(deny(world, spec(world))),
  rest: (world) => ({
    method: 'POST',
    path: `${at(world)}/providers/authorization/denyAssignments`,
    body: { actions: ['jobs/write'], ...spec(world) },
  }),
})
const undenying = (object: (world: GrantingWorld) => GivenObject): Pick<GrantingCase, 'write' | 'rest'> => ({
  write: (world) => remove(object(world)),
  rest: (world) => ({
    method: 'DELETE',
    path: `${at(world)}/providers/authorization/denyAssignments/${idOfObject(object(world))}`,
  }),
})
const grouping = (memberIds: (world: GrantingWorld) => string[]): Pick<GrantingCase, 'write' | 'rest'> => ({
  write: (world) => create(group(world, memberIds(world))),
  rest: (world) => ({
    method: 'POST',
    path: `${at(world)}/providers/authorization/groups`,
    body: { displayName: `By REST ${world.group}`, memberIds: memberIds(world) },
  }),
})
const trusting = (actions: string[]): Pick<GrantingCase, 'write' | 'rest'> => ({
  write: (world) => create(trust(world, actions)),
  rest: ({ boundaryId, foreignId: trustedBoundaryId }) => ({
    method: 'POST',
    path: '/admin/boundary-trusts',
    body: { boundaryId, trustedBoundaryId, actions },
  }),
})

const owner = (world: GrantingWorld) => ({ Owner: at(world) })
const contributor = (world: GrantingWorld) => ({ Contributor: at(world) })
const reader = (world: GrantingWorld) => ({ Reader: at(world) })
/** May manage members, and lacks what tenants keep. */
const lesser = (world: GrantingWorld) => ({ 'Platform Owner': at(world) })
const rootOwner = () => ({ Owner: '/' })
const rootPlatformOwner = () => ({ 'Platform Owner': '/' })

const exceeds = (name: string) => (world: GrantingWorld) =>
  `The role "${name}" holds actions that you do not hold at ${at(world)} and all of it.`
const missing = (action: string) => (world: GrantingWorld) => `The permission ${action} is missing at ${at(world)}.`
const NOBODY = randomUUID()

const mine = (world: GrantingWorld) => assignment(world, { to: world.me, role: 'Owner', name: MINE })
const ofGroup = (name: string) => (world: GrantingWorld) => [
  group(world, []),
  assignment(world, { to: world.group, type: 'Group', role: name }),
]
const deniedThroughGroup = (world: GrantingWorld) => [
  group(world, [world.me, world.other]),
  deny(world, { principalId: world.group, principalType: 'Group' }),
]
const forAWhile = (world: GrantingWorld, name: string, end: string) =>
  assignment(world, { role: name }, { expiresAt: end })
const [SOON, LATER] = ['2098-01-01T00:00:00Z', '2099-01-01T00:00:00Z']

export const GRANTING_CASES: readonly GrantingCase[] = [
  { rule: 'who holds a role gives it', roles: owner, ...giving(() => ({ role: 'Owner' })) },
  {
    rule: 'nobody gives what they do not hold',
    refused: exceeds('Owner'),
    roles: lesser,
    ...giving(() => ({ role: 'Owner' })),
  },
  { rule: 'who holds more than a role gives the role', roles: lesser, ...giving(() => ({})) },
  {
    rule: 'nobody gives themselves what they do not hold',
    refused: exceeds('Owner'),
    roles: lesser,
    ...giving(({ me }) => ({ to: me, role: 'Owner' })),
  },
  {
    rule: 'who may not manage members gives nothing',
    refused: missing('boundaries/members/manage'),
    roles: contributor,
    ...giving(() => ({})),
  },
  {
    rule: 'a role of the root is not given at a boundary',
    refused: (world) => `The role "Platform Reader" exists at the platform root only, not at ${at(world)}.`,
    roles: owner,
    ...giving(() => ({ role: 'Platform Reader' })),
  },
  {
    rule: 'a role of the root is given at the root by its Owners',
    roles: rootOwner,
    write: (world) => create(assignment(world, { role: 'Platform Reader', scope: '/' })),
  },
  {
    rule: 'an Owner of a boundary gives nothing at the root',
    refused: () => 'The permission rbac/members/admin is missing at /.',
    roles: owner,
    write: (world) => create(assignment(world, { scope: '/' })),
  },
  {
    rule: 'an assignment in a boundary reaches no farther than the boundary',
    refused: (world) => `does not belong to namespace "${home(world)}"`,
    roles: owner,
    write: (world) => create(assignment(world, { scope: '/', namespace: home(world) })),
  },
  {
    rule: 'an assignment in a boundary does not reach into another',
    refused: (world) => `does not belong to namespace "${home(world)}"`,
    roles: owner,
    write: (world) => create(assignment(world, { scope: `/boundaries/${world.foreignId}`, namespace: home(world) })),
  },
  {
    rule: 'a role is given at what exists',
    refused: () => 'names nothing that exists',
    roles: owner,
    write: (world) =>
      create(assignment(world, { scope: `${at(world)}/resourcegroups/nowhere`, namespace: home(world) })),
  },
  {
    rule: 'a Platform Owner gives any role to others',
    roles: rootPlatformOwner,
    ...giving(() => ({ role: 'Owner' })),
  },
  {
    rule: 'a Platform Owner gives no more than they hold to themselves',
    refused: exceeds('Owner'),
    roles: rootPlatformOwner,
    ...giving(({ me }) => ({ to: me, role: 'Owner' })),
  },
  {
    rule: 'a Platform Owner gives no more than they hold to a group that they are in',
    refused: exceeds('Owner'),
    roles: rootPlatformOwner,
    given: (world) => [group(world, [world.me])],
    ...giving((world) => ({ to: world.group, type: 'Group', role: 'Owner' })),
  },
  {
    rule: 'a role that nobody knows is not given',
    refused: () => 'No role is called "owner"; names are matched exactly.',
    roles: owner,
    ...giving(() => ({ role: 'owner' })),
  },
  {
    rule: 'nothing is given to whom nobody knows',
    refused: () => `No User has the id "${NOBODY}".`,
    roles: owner,
    ...giving(() => ({ to: NOBODY, type: 'User' })),
  },
  {
    rule: 'nobody is given the same twice',
    refused: (world) => `"${world.other}" already holds the role "Reader" at ${at(world)}.`,
    roles: owner,
    given: (world) => [assignment(world, { name: 'before' })],
    ...giving(() => ({})),
  },
  {
    rule: 'that an assignment comes from a request is not for its writer to say',
    refused: () => 'jitRequestId is written with the approval of a request only.',
    roles: owner,
    write: (world) => create(assignment(world, {}, { jitRequestId: NOBODY })),
  },
  {
    rule: 'who may manage members takes a role away',
    roles: lesser,
    given: (world) => [assignment(world, { role: 'Owner' })],
    ...taking((world) => assignment(world, { role: 'Owner' })),
  },
  {
    rule: 'the last Owner stays',
    refused: (world) =>
      `Boundary "${world.boundaryId}" would be left without an Owner: make somebody else Owner first.`,
    roles: () => ({}),
    isOnlyOwner: true,
    given: (world) => [mine(world)],
    ...taking(mine),
  },
  {
    rule: 'an Owner beside another may go',
    roles: () => ({}),
    given: (world) => [mine(world)],
    ...taking(mine),
  },
  {
    rule: 'the last Owner is not given an end',
    refused: (world) => `Boundary "${world.boundaryId}" would be left without an Owner`,
    roles: () => ({}),
    isOnlyOwner: true,
    given: (world) => [mine(world)],
    write: (world) => update(assignment(world, { to: world.me, role: 'Owner', name: MINE }, { expiresAt: SOON })),
  },
  {
    rule: 'nobody gives for longer what they do not hold',
    refused: exceeds('Owner'),
    roles: lesser,
    given: (world) => [forAWhile(world, 'Owner', SOON)],
    write: (world) => update(forAWhile(world, 'Owner', LATER)),
  },
  {
    rule: 'who may manage members gives for a shorter time what they do not hold',
    roles: lesser,
    given: (world) => [forAWhile(world, 'Owner', LATER)],
    write: (world) => update(forAWhile(world, 'Owner', SOON)),
  },
  {
    rule: 'an Owner denies somebody something',
    roles: owner,
    ...denying(({ other }) => ({ principalId: other, principalType: 'ServicePrincipal' })),
  },
  {
    rule: 'who may not manage access denies nobody anything',
    refused: missing('rbac/members/write'),
    roles: contributor,
    ...denying(({ other }) => ({ principalId: other, principalType: 'ServicePrincipal' })),
  },
  {
    rule: 'a deny locks nobody out of taking it away',
    refused: (world) => `The deny would leave boundary "${world.boundaryId}" without an Owner able to remove it`,
    roles: owner,
    ...denying(() => ({ isEveryone: true, actions: ['rbac/members/write'] })),
  },
  {
    rule: 'a deny for everyone spares an Owner',
    roles: owner,
    ...denying(({ me }) => ({ isEveryone: true, actions: ['rbac/members/write'], excludedPrincipalIds: [me] })),
  },
  {
    rule: 'a deny takes away what there is',
    refused: () => 'The deny was refused.',
    roles: owner,
    ...denying(({ other }) => ({ principalId: other, principalType: 'ServicePrincipal', actions: ['jobs/levitate'] })),
  },
  {
    rule: 'nobody removes a deny that holds them back',
    refused: () => 'This deny holds you back yourself: somebody whom it does not reach must remove it.',
    roles: owner,
    given: (world) => [deny(world, { principalId: world.me, principalType: 'ServicePrincipal' })],
    ...undenying((world) => deny(world, {})),
  },
  {
    rule: 'an Owner removes a deny of others',
    roles: owner,
    given: (world) => [deny(world, { principalId: world.other, principalType: 'ServicePrincipal' })],
    ...undenying((world) => deny(world, {})),
  },
  {
    rule: 'nobody weakens a deny that holds them back',
    refused: () => 'This deny holds you back yourself',
    roles: owner,
    given: (world) => [deny(world, { isEveryone: true })],
    write: (world) => update(deny(world, { isEveryone: true, excludedPrincipalIds: [world.me] })),
  },
  { rule: 'an Owner makes a group', roles: owner, ...grouping(({ me, other }) => [me, other]) },
  {
    rule: 'who may not manage access makes no group',
    refused: missing('rbac/members/write'),
    roles: contributor,
    ...grouping(() => []),
  },
  {
    rule: 'a group holds nobody whom nobody knows',
    refused: () => `No principal has the id "${NOBODY}".`,
    roles: owner,
    ...grouping(() => [NOBODY]),
  },
  {
    rule: 'a group has an id of its own',
    refused: ({ other }) => `The id "${other}" is that of another principal.`,
    roles: owner,
    write: (world) => create(group(world, [], world.other)),
  },
  {
    rule: 'a group is not in itself',
    refused: () => 'Groups may be nested five deep and never in a circle.',
    roles: owner,
    given: (world) => [group(world, [])],
    write: (world) => update(group(world, [world.group])),
  },
  {
    rule: 'nobody adds to a group that holds what they do not hold',
    refused: exceeds('Owner'),
    roles: lesser,
    given: ofGroup('Owner'),
    write: (world) => update(group(world, [world.other])),
  },
  {
    rule: 'nobody puts themselves into a group that holds what they do not hold',
    refused: exceeds('Owner'),
    roles: lesser,
    given: ofGroup('Owner'),
    write: (world) => update(group(world, [world.me])),
  },
  {
    rule: 'who holds what a group holds adds to it',
    roles: lesser,
    given: ofGroup('Reader'),
    write: (world) => update(group(world, [world.other])),
  },
  {
    rule: 'nobody makes the group that a role was given to before',
    refused: exceeds('Owner'),
    roles: lesser,
    given: (world) => [assignment(world, { to: world.group, type: 'Group', role: 'Owner' })],
    write: (world) => create(group(world, [world.other])),
  },
  {
    rule: 'nobody leaves a group to be rid of its deny',
    refused: () => 'A deny reaches you through a group: somebody else must take you out of it.',
    roles: owner,
    given: deniedThroughGroup,
    write: (world) => update(group(world, [world.other])),
    rest: (world) => ({ method: 'DELETE', path: `${at(world)}/iam/members/${world.me}` }),
  },
  {
    rule: 'an Owner takes somebody else out of a group that is denied',
    roles: owner,
    given: deniedThroughGroup,
    write: (world) => update(group(world, [world.me])),
    rest: (world) => ({ method: 'DELETE', path: `${at(world)}/iam/members/${world.other}` }),
  },
  {
    rule: 'nobody joins a group that their deny spares',
    refused: () => 'A deny reaches you through a group',
    roles: owner,
    given: (world) => [group(world, []), deny(world, { isEveryone: true, excludedPrincipalIds: [world.group] })],
    write: (world) => update(group(world, [world.me])),
  },
  {
    rule: 'the group through which alone somebody is Owner stays',
    refused: (world) => `Boundary "${world.boundaryId}" would be left without an Owner`,
    roles: lesser,
    isOnlyOwner: true,
    given: (world) => [
      group(world, [world.other]),
      assignment(world, { to: world.group, type: 'Group', role: 'Owner' }),
    ],
    write: (world) => remove(group(world, [world.other])),
  },
  { rule: 'an Owner at the root lends reading', roles: rootOwner, ...trusting(['jobs/read']) },
  {
    rule: 'a trust lends no writing',
    refused: () => 'The trust was refused.',
    roles: rootOwner,
    ...trusting(['jobs/write']),
  },
  {
    rule: 'an Owner of a boundary lends nothing',
    refused: () => 'The permission rbac/boundaryTrusts/admin is missing at /.',
    roles: owner,
    ...trusting(['jobs/read']),
  },
  {
    rule: 'an Owner at the root writes a role',
    roles: rootOwner,
    write: (world) => create(role(world, ['jobs/*', 'secretvault/read'])),
  },
  {
    rule: 'an Owner of a boundary writes no role',
    refused: () => 'The permission rbac/members/admin is missing at /.',
    roles: owner,
    write: (world) => create(role(world, ['jobs/read'])),
  },
  {
    rule: 'nobody widens a role beyond what they hold, for whoever has it',
    refused: (world) => `The role "${world.roleName}" holds actions that you do not hold at / and all of it.`,
    roles: rootPlatformOwner,
    given: (world) => [role(world, ['jobs/read']), assignment(world, { to: world.me, role: world.roleName })],
    write: (world) => update(role(world, ['sqlcluster/dataRead'])),
  },
  {
    rule: 'a role of another name is its own',
    refused: () => 'There is a role "Owner" already.',
    roles: rootOwner,
    write: (world) => {
      const made = role(world, ['jobs/read'])
      return create({ ...made, spec: { ...made.spec, displayName: 'Owner' } })
    },
  },
  {
    rule: 'nobody says that a role is built in',
    refused: () => 'Built-in roles are written by the platform only.',
    roles: rootOwner,
    write: (world) => {
      const made = role(world, ['jobs/read'])
      return create({ ...made, spec: { ...made.spec, isBuiltIn: true } })
    },
  },
  { rule: 'a Reader asks for a role', roles: reader, write: (world) => create(request(world)) },
  {
    rule: 'nobody asks for a role for somebody else',
    refused: () => 'A role is asked for by whom it is for.',
    roles: reader,
    write: (world) => create(request(world, { principalId: world.other })),
  },
  {
    rule: 'nobody decides their own request',
    refused: () => 'is not for who asks',
    roles: owner,
    write: (world) => create(request(world, { decision: 'Approved' })),
  },
  {
    rule: 'nobody asks twice',
    refused: (world) => `You have asked for the role "Contributor" at ${at(world)} already.`,
    roles: reader,
    given: (world) => [{ ...request(world), name: NOBODY }],
    write: (world) => create(request(world)),
  },
  {
    rule: 'a stranger asks for nothing',
    refused: missing('boundaries/read'),
    roles: () => ({}),
    write: (world) => create(request(world)),
  },
  {
    rule: 'a Reader takes their request back',
    roles: reader,
    given: (world) => [request(world)],
    write: (world) => remove(request(world)),
  },
  {
    rule: 'a Reader does not take back the request of somebody else',
    refused: () => 'This is the request of somebody else.',
    roles: reader,
    given: (world) => [request(world, { principalId: world.other })],
    write: (world) => remove(request(world)),
  },
]
