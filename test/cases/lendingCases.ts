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
  { rule: 'admits a trust for reading by an Owner at the root', roles: rootOwner, ...trusting(['jobs/read']) },
  {
    rule: 'refuses a trust for writing',
    refused: () => 'is not an action that a trust can lend',
    roles: rootOwner,
    ...trusting(['jobs/write']),
  },
  {
    rule: 'refuses a trust with a missing boundary',
    refused: () => `Boundary "${NOBODY}" was not found.`,
    roles: rootOwner,
    ...trusting(['jobs/read'], NOBODY),
  },
  {
    rule: 'refuses a trust by an Owner of a boundary',
    refused: () => 'The permission rbac/boundaryTrusts/admin is missing at /.',
    roles: owner,
    ...trusting(['jobs/read']),
  },
  {
    rule: 'admits a role definition by an Owner at the root',
    roles: rootOwner,
    write: (world) => create(role(world, ['jobs/*', 'secretvault/read'])),
  },
  {
    rule: 'refuses a role definition by an Owner of a boundary',
    refused: () => 'The permission rbac/members/admin is missing at /.',
    roles: owner,
    write: (world) => create(role(world, ['jobs/read'])),
  },
  {
    rule: 'refuses to extend a role definition beyond the roles of the caller',
    refused: (world) => `The role "${world.roleName}" has actions that you do not have at all of /.`,
    roles: rootPlatformOwner,
    given: (world) => [role(world, ['jobs/read']), assignment(world, { to: world.me, role: world.roleName })],
    write: (world) => update(role(world, ['sqlcluster/dataRead'])),
  },
  {
    rule: 'refuses a role definition for data of tenants by a Platform Owner',
    refused: (world) => `The role "${world.roleName}" has actions that you do not have at all of /.`,
    roles: rootPlatformOwner,
    write: (world) => create(role(world, ['sqlcluster/dataRead'])),
  },
  {
    rule: 'admits a role definition within the roles of a Platform Owner',
    roles: rootPlatformOwner,
    write: (world) => create(role(world, ['jobs/*', 'secretvault/read'])),
  },
  {
    rule: 'refuses a role definition with a taken name',
    refused: () => 'There is already a role "Owner".',
    roles: rootOwner,
    write: (world) => {
      const made = role(world, ['jobs/read'])
      return create({ ...made, spec: { ...made.spec, displayName: 'Owner' } })
    },
  },
  {
    rule: 'refuses a built-in role definition',
    refused: () => 'Only the platform can write built-in roles.',
    roles: rootOwner,
    write: (world) => {
      const made = role(world, ['jobs/read'])
      return create({ ...made, spec: { ...made.spec, isBuiltIn: true } })
    },
  },
  { rule: 'admits a request for a role by a Reader', roles: reader, write: (world) => create(request(world)) },
  {
    rule: 'refuses a request for a role for another principal',
    refused: () => 'You can only request a role for yourself.',
    roles: reader,
    write: (world) => create(request(world, { principalId: world.other })),
  },
  {
    rule: 'refuses a request for a role for a group',
    refused: () => 'The field "principalType" must be User or ServicePrincipal',
    roles: reader,
    write: (world) => create(request(world, { principalType: 'Group' })),
  },
  {
    rule: 'refuses a request for a role with a decision',
    refused: () => 'cannot be set by the requester',
    roles: owner,
    write: (world) => create(request(world, { decision: 'Approved' })),
  },
  {
    rule: 'refuses a duplicate request for a role',
    refused: () => 'You already have an open request for this role at this scope.',
    roles: reader,
    given: (world) => [{ ...request(world), name: NOBODY }],
    write: (world) => create(request(world)),
  },
  {
    rule: 'refuses a request for a role without boundaries/read',
    refused: missing('boundaries/read'),
    unauthorized: 'The caller has no role in namespace',
    roles: () => ({}),
    write: (world) => create(request(world)),
  },
  {
    rule: 'admits the deletion of a request by its requester',
    roles: reader,
    given: (world) => [request(world)],
    write: (world) => remove(request(world)),
  },
  {
    rule: 'refuses the deletion of a request of another principal',
    refused: () => 'This request belongs to somebody else.',
    roles: reader,
    given: (world) => [request(world, { principalId: world.other })],
    write: (world) => remove(request(world)),
  },
]
