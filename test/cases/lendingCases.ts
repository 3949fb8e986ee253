import {
  assignment,
  create,
  type GrantingCase,
  missing,
  NOBODY,
  owner,
  reader,
  remove,
  request,
  role,
  rootOwner,
  rootPlatformOwner,
  trusting,
  update,
} from './grantingWords.ts'

/** Trusts between boundaries, roles, and requests for a role. */
export const LENDING_CASES: readonly GrantingCase[] = [
  { rule: 'an Owner at the root lends reading', roles: rootOwner, ...trusting(['jobs/read']) },
  {
    rule: 'a trust lends no writing',
    refused: () => 'is not an action that a trust can lend',
    roles: rootOwner,
    ...trusting(['jobs/write']),
  },
  {
    rule: 'a trust is in a boundary that exists',
    refused: () => `Boundary "${NOBODY}" was not found.`,
    roles: rootOwner,
    ...trusting(['jobs/read'], NOBODY),
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
    refused: (world) => `The role "${world.roleName}" has actions that you do not have at all of /.`,
    roles: rootPlatformOwner,
    given: (world) => [role(world, ['jobs/read']), assignment(world, { to: world.me, role: world.roleName })],
    write: (world) => update(role(world, ['sqlcluster/dataRead'])),
  },
  {
    rule: 'a Platform Owner writes no role of what tenants keep, which they may only give',
    refused: (world) => `The role "${world.roleName}" has actions that you do not have at all of /.`,
    roles: rootPlatformOwner,
    write: (world) => create(role(world, ['sqlcluster/dataRead'])),
  },
  {
    rule: 'a Platform Owner writes a role of what they hold',
    roles: rootPlatformOwner,
    write: (world) => create(role(world, ['jobs/*', 'secretvault/read'])),
  },
  {
    rule: 'a role of another name is its own',
    refused: () => 'There is already a role "Owner".',
    roles: rootOwner,
    write: (world) => {
      const made = role(world, ['jobs/read'])
      return create({ ...made, spec: { ...made.spec, displayName: 'Owner' } })
    },
  },
  {
    rule: 'nobody says that a role is built in',
    refused: () => 'Only the platform can write built-in roles.',
    roles: rootOwner,
    write: (world) => {
      const made = role(world, ['jobs/read'])
      return create({ ...made, spec: { ...made.spec, isBuiltIn: true } })
    },
  },
  { rule: 'a Reader asks for a role', roles: reader, write: (world) => create(request(world)) },
  {
    rule: 'nobody asks for a role for somebody else',
    refused: () => 'You can only request a role for yourself.',
    roles: reader,
    write: (world) => create(request(world, { principalId: world.other })),
  },
  {
    rule: 'nobody asks for a role as a group',
    refused: () => 'The field "principalType" must be User or ServicePrincipal',
    roles: reader,
    write: (world) => create(request(world, { principalType: 'Group' })),
  },
  {
    rule: 'nobody decides their own request',
    refused: () => 'cannot be set by the requester',
    roles: owner,
    write: (world) => create(request(world, { decision: 'Approved' })),
  },
  {
    rule: 'nobody asks twice',
    refused: () => 'You already have an open request for this role at this scope.',
    roles: reader,
    given: (world) => [{ ...request(world), name: NOBODY }],
    write: (world) => create(request(world)),
  },
  {
    rule: 'a stranger asks for nothing',
    refused: missing('boundaries/read'),
    unauthorized: 'The caller has no role in namespace',
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
    refused: () => 'This request belongs to somebody else.',
    roles: reader,
    given: (world) => [request(world, { principalId: world.other })],
    write: (world) => remove(request(world)),
  },
]
