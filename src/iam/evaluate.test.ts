import { expect } from 'chai'
import { NOW } from '../../test/make/authorizationPolicy.ts'
import {
  ANNA,
  assign,
  B1,
  B2,
  BERT,
  deny,
  evaluatorOf,
  type Given,
  INDEX,
  role,
  SHOP,
  STAFF,
  TEAM,
  trust,
} from '../../test/make/authorizationRecords.ts'

describe('a decision', () => {
  const nested = [
    { id: TEAM, memberIds: [ANNA] },
    { id: STAFF, memberIds: [TEAM] },
  ]
  const loop = [
    { id: TEAM, memberIds: [ANNA, STAFF] },
    { id: STAFF, memberIds: [TEAM, STAFF] },
  ]
  const cases: [string, Given, string, string, string][] = [
    ['refuses who has no assignment', {}, 'apps/read', B1, 'NoAssignment'],
    [
      'allows at the scope of the assignment',
      { assignments: [assign('Reader', SHOP)] },
      'apps/read',
      SHOP,
      'AllowedByAssignment',
    ],
    [
      'allows below the scope of the assignment',
      { assignments: [assign('Reader', B1)] },
      'apps/read',
      INDEX,
      'AllowedByAssignment',
    ],
    [
      'refuses above the scope of the assignment',
      { assignments: [assign('Reader', SHOP)] },
      'apps/read',
      B1,
      'NoAssignment',
    ],
    [
      'refuses beside the scope of the assignment',
      { assignments: [assign('Reader', B2)] },
      'apps/read',
      B1,
      'NoAssignment',
    ],
    [
      'keeps group b1 from group b10',
      { assignments: [assign('Owner', `${B1}/resourcegroups/b1`)] },
      'apps/read',
      `${B1}/resourcegroups/b10`,
      'NoAssignment',
    ],
    [
      'refuses an action that the role lacks',
      { assignments: [assign('Reader', B1)] },
      'apps/write',
      B1,
      'NoAssignment',
    ],
    [
      'refuses an unknown action even to Owner',
      { assignments: [assign('Owner', '/')] },
      'apps/fly',
      B1,
      'NoAssignment',
    ],
    ['refuses a pattern asked as an action', { assignments: [assign('Owner', '/')] }, '*', B1, 'NoAssignment'],
    [
      'refuses a scope with a trailing slash even to Owner',
      { assignments: [assign('Owner', '/')] },
      'apps/read',
      `${B1}/`,
      'NoAssignment',
    ],
    [
      'refuses a scope in capitals even to Owner',
      { assignments: [assign('Owner', '/')] },
      'apps/read',
      B1.toUpperCase(),
      'NoAssignment',
    ],
    [
      'counts an assignment until it expires',
      { assignments: [assign('Reader', B1, { expiresAt: NOW + 1 })] },
      'apps/read',
      B1,
      'AllowedByAssignment',
    ],
    [
      'ends an assignment at its expiry',
      { assignments: [assign('Reader', B1, { expiresAt: NOW })] },
      'apps/read',
      B1,
      'NoAssignment',
    ],
    [
      'never counts an assignment whose expiry is not a time',
      { assignments: [assign('Reader', B1, { expiresAt: Number.NaN })] },
      'apps/read',
      B1,
      'NoAssignment',
    ],
    [
      'reads data through data patterns',
      { assignments: [assign('Secrets Reader', B1)] },
      'secretvault/readSecrets',
      B1,
      'AllowedByAssignment',
    ],
    [
      'does not read data through a star among actions',
      { roles: [role(['*'])], assignments: [assign('Custom', B1)] },
      'secretvault/readSecrets',
      B1,
      'NoAssignment',
    ],
    [
      'does not write through a star among data actions',
      { roles: [role([], { dataActions: ['*'] })], assignments: [assign('Custom', B1)] },
      'apps/write',
      B1,
      'NoAssignment',
    ],
    [
      'keeps root actions from the Owner of a boundary',
      { assignments: [assign('Owner', B1)] },
      'boundaries/delete',
      B1,
      'RootOnly',
    ],
    [
      'gives root actions to the Owner at the root, at a boundary too',
      { assignments: [assign('Owner', '/')] },
      'boundaries/delete',
      B1,
      'AllowedByAssignment',
    ],
    [
      'ignores a root-only role below the root',
      { assignments: [assign('Platform Reader', B1)] },
      'apps/read',
      B1,
      'NoAssignment',
    ],
    ['ignores a role that nobody defined', { assignments: [assign('Emperor', '/')] }, 'apps/read', B1, 'NoAssignment'],
    ['matches role names exactly', { assignments: [assign('owner', '/')] }, 'apps/read', B1, 'NoAssignment'],
    [
      'does not take a member of Object for a role',
      { assignments: [assign('constructor', '/')] },
      'apps/read',
      B1,
      'NoAssignment',
    ],
    [
      'reaches through a group',
      { groups: nested, assignments: [assign('Reader', B1, { principalId: TEAM })] },
      'apps/read',
      B1,
      'AllowedByAssignment',
    ],
    [
      'reaches through a group in a group',
      { groups: nested, assignments: [assign('Reader', B1, { principalId: STAFF })] },
      'apps/read',
      B1,
      'AllowedByAssignment',
    ],
    [
      'ends where groups hold each other',
      { groups: loop, assignments: [assign('Reader', B1, { principalId: STAFF })] },
      'apps/read',
      B1,
      'AllowedByAssignment',
    ],
    [
      'does not reach from a group to a stranger',
      { groups: nested, assignments: [assign('Reader', B1, { principalId: BERT })] },
      'apps/read',
      B1,
      'NoAssignment',
    ],
    [
      'lets a deny beat Owner',
      { assignments: [assign('Owner', B1)], denies: [deny(B1, ['*/read'])] },
      'apps/read',
      INDEX,
      'DeniedByAssignment',
    ],
    [
      'denies nothing above the deny',
      { assignments: [assign('Owner', '/')], denies: [deny(SHOP, ['*'])] },
      'apps/read',
      B1,
      'AllowedByAssignment',
    ],
    [
      'does not deny data through a star among actions',
      { assignments: [assign('Owner', B1)], denies: [deny(B1, ['*'])] },
      'secretvault/readSecrets',
      B1,
      'AllowedByAssignment',
    ],
    [
      'denies data through data patterns',
      { assignments: [assign('Owner', B1)], denies: [deny(B1, [], { dataActions: ['*'] })] },
      'secretvault/readSecrets',
      B1,
      'DeniedByAssignment',
    ],
    [
      'denies through a group',
      { groups: nested, assignments: [assign('Owner', B1)], denies: [deny(B1, ['*'], { principal: { id: STAFF } })] },
      'apps/read',
      B1,
      'DeniedByAssignment',
    ],
    [
      'denies everyone',
      { assignments: [assign('Owner', B1)], denies: [deny(B1, ['*'], { principal: 'everyone' })] },
      'apps/read',
      B1,
      'DeniedByAssignment',
    ],
    [
      'names the deny of everyone to a stranger too',
      { denies: [deny(B1, ['*'], { principal: 'everyone' })] },
      'apps/read',
      B1,
      'DeniedByAssignment',
    ],
    [
      'spares who is excluded',
      {
        assignments: [assign('Owner', B1)],
        denies: [deny(B1, ['*'], { principal: 'everyone', excludedPrincipalIds: [ANNA] })],
      },
      'apps/read',
      B1,
      'AllowedByAssignment',
    ],
    [
      'spares the members of an excluded group',
      {
        groups: nested,
        assignments: [assign('Owner', B1)],
        denies: [deny(B1, ['*'], { principal: 'everyone', excludedPrincipalIds: [STAFF] })],
      },
      'apps/read',
      B1,
      'AllowedByAssignment',
    ],
    [
      'spares an Owner of the platform whom a deny of a boundary names',
      { assignments: [assign('Owner', '/')], denies: [deny(B1, ['*'])] },
      'apps/read',
      INDEX,
      'AllowedByAssignment',
    ],
    [
      'spares an Owner of the platform from a deny of a group',
      { groups: nested, assignments: [assign('Owner', '/')], denies: [deny(B1, ['*'], { principal: { id: STAFF } })] },
      'apps/read',
      B1,
      'AllowedByAssignment',
    ],
    [
      'denies an Owner of the platform at the root',
      { assignments: [assign('Owner', '/')], denies: [deny('/', ['*'])] },
      'apps/read',
      B1,
      'DeniedByAssignment',
    ],
    [
      'denies a Reader of the platform in a boundary',
      { assignments: [assign('Reader', '/')], denies: [deny(B1, ['*'])] },
      'apps/read',
      B1,
      'DeniedByAssignment',
    ],
    [
      'ends a deny at its expiry',
      { assignments: [assign('Owner', B1)], denies: [deny(B1, ['*'], { expiresAt: NOW })] },
      'apps/read',
      B1,
      'AllowedByAssignment',
    ],
    [
      'keeps a deny whose expiry is not a time',
      { assignments: [assign('Owner', B1)], denies: [deny(B1, ['*'], { expiresAt: Number.NaN })] },
      'apps/read',
      B1,
      'DeniedByAssignment',
    ],
    [
      'answers gateways by pattern',
      { assignments: [assign('LLM Gateway Consumer', '/')] },
      'llmgateway/invoke',
      B1,
      'AllowedByAssignment',
    ],
    ['keeps gateways from readers', { assignments: [assign('Reader', B1)] }, 'llmgateway/invoke', B1, 'NoAssignment'],
    [
      'lends through a trust',
      { assignments: [assign('Reader', B2)], trusts: [trust(['apps/read'])] },
      'apps/read',
      INDEX,
      'AllowedByTrust',
    ],
    [
      'lends only what the trust names',
      { assignments: [assign('Reader', B2)], trusts: [trust(['apps/read'])] },
      'jobs/read',
      B1,
      'NoAssignment',
    ],
    [
      'lends in one direction',
      { assignments: [assign('Reader', B1)], trusts: [trust(['apps/read'])] },
      'apps/read',
      B2,
      'NoAssignment',
    ],
    [
      'lends in both directions where said',
      { assignments: [assign('Reader', B1)], trusts: [trust(['apps/read'], { bidirectional: true })] },
      'apps/read',
      B2,
      'AllowedByTrust',
    ],
    [
      'does not lend on a part of the trusted boundary',
      { assignments: [assign('Reader', `${B2}/resourcegroups/shop`)], trusts: [trust(['apps/read'])] },
      'apps/read',
      B1,
      'NoAssignment',
    ],
    [
      'does not lend data or root actions',
      { assignments: [assign('Owner', B2)], trusts: [trust(['secretvault/readSecrets', 'boundaries/delete'])] },
      'secretvault/readSecrets',
      B1,
      'NoAssignment',
    ],
    [
      'lets a deny beat a trust',
      { assignments: [assign('Reader', B2)], trusts: [trust(['apps/read'])], denies: [deny(B1, ['*'])] },
      'apps/read',
      B1,
      'DeniedByAssignment',
    ],
    [
      'does not lend what a deny takes in the trusted boundary',
      { assignments: [assign('Reader', B2)], trusts: [trust(['apps/read'])], denies: [deny(B2, ['*'])] },
      'apps/read',
      B1,
      'NoAssignment',
    ],
  ]
  for (const [sentence, given, action, scope, reason] of cases) {
    it(sentence, () => {
      const asked = evaluatorOf(given)
      expect(asked.explain(ANNA, action, scope, NOW).reason).to.equal(reason)
      expect(asked.isAllowed(ANNA, action, scope, NOW)).to.equal(reason.startsWith('Allowed'))
    })
  }

  it('is explained by the widest record, what names the caller before its groups', () => {
    const wide = assign('Reader', '/', { principalId: TEAM, expiresAt: NOW + 5 })
    const asked = evaluatorOf({ groups: nested, assignments: [assign('Owner', B1), wide] })
    const expected = {
      kind: 'RoleAssignment',
      id: wide.id,
      roleDefinitionName: 'Reader',
      scope: '/',
      viaGroupId: TEAM,
      expiresAt: NOW + 5,
    }
    expect(asked.explain(ANNA, 'apps/read', INDEX, NOW).decidedBy).to.deep.equal(expected)
    const own = assign('Reader', '/', { jitRequestId: 'request-1' })
    asked.policy.upsertAssignment(own)
    const decidedBy = { kind: 'JitRequest', id: 'request-1', roleDefinitionName: 'Reader', scope: '/' }
    expect(asked.explain(ANNA, 'apps/read', INDEX, NOW).decidedBy).to.deep.equal(decidedBy)
  })

  it('names a resource scope letter by letter', () => {
    const asked = evaluatorOf({ assignments: [assign('Reader', INDEX)] })
    expect(asked.explain(ANNA, 'apps/read', INDEX, NOW).decidedBy?.scope).to.equal(INDEX)
  })
})
