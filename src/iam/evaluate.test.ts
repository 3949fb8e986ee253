import { expect } from 'chai'
import { Evaluator } from './evaluate.ts'
import { InvalidActionPattern } from './pattern.ts'
import type { Assignment, Deny, PrincipalGroup, Trust } from './records.ts'
import type { Role } from './roles.ts'

const ANNA = '11111111-1111-4111-8111-111111111111'
const BERT = '22222222-2222-4222-8222-222222222222'
const TEAM = '33333333-3333-4333-8333-333333333333'
const STAFF = '44444444-4444-4444-8444-444444444444'
const B1 = '/boundaries/6f1c3a52-0f0e-4d67-9b2e-3c1f2f8f7a1b'
const B2 = '/boundaries/6f1c3a52-0f0e-4d67-9b2e-3c1f2f8f7a1c'
const SHOP = `${B1}/resourcegroups/shop`
const INDEX = `${SHOP}/resources/vectorclusters/index`
const NOW = Date.UTC(2026, 0, 1)

type Given = {
  assignments?: Assignment[]
  denies?: Deny[]
  groups?: PrincipalGroup[]
  roles?: Role[]
  trusts?: Trust[]
}

let made = 0
const assign = (roleName: string, scope: string, more: Partial<Assignment> = {}): Assignment => {
  made += 1
  return { id: `assignment-${made}`, principalId: ANNA, principalType: 'User', roleName, scope, ...more }
}
const deny = (scope: string, actions: string[], more: Partial<Deny> = {}): Deny => {
  made += 1
  return {
    id: `deny-${made}`,
    principal: { id: ANNA },
    excludedPrincipalIds: [],
    actions,
    dataActions: [],
    scope,
    ...more,
  }
}
const role = (actions: string[], more: Partial<Role> = {}): Role => ({
  name: 'custom',
  displayName: 'Custom',
  description: '',
  actions,
  notActions: [],
  dataActions: [],
  notDataActions: [],
  assignableScopes: ['/', '/boundaries/*'],
  ...more,
})
const trust = (actions: string[], more: Partial<Trust> = {}): Trust => ({
  id: 'trust',
  boundaryId: B1.slice(12),
  trustedBoundaryId: B2.slice(12),
  actions,
  bidirectional: false,
  ...more,
})

function evaluator(given: Given): Evaluator {
  const evaluator = new Evaluator()
  for (const each of given.roles ?? []) evaluator.policy.upsertRole(each)
  for (const each of given.assignments ?? []) evaluator.policy.upsertAssignment(each)
  for (const each of given.denies ?? []) evaluator.policy.upsertDeny(each)
  for (const each of given.groups ?? []) evaluator.policy.upsertGroup(each)
  for (const each of given.trusts ?? []) evaluator.policy.upsertTrust(each)
  return evaluator
}

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
      { assignments: [assign('Owner', '/')], denies: [deny(B1, ['*/read'])] },
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
      const asked = evaluator(given)
      expect(asked.explain(ANNA, action, scope, NOW).reason).to.equal(reason)
      expect(asked.isAllowed(ANNA, action, scope, NOW)).to.equal(reason.startsWith('Allowed'))
    })
  }

  it('is explained by the widest record, what names the caller before its groups', () => {
    const wide = assign('Reader', '/', { principalId: TEAM, expiresAt: NOW + 5 })
    const asked = evaluator({ groups: nested, assignments: [assign('Owner', B1), wide] })
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
    const asked = evaluator({ assignments: [assign('Reader', INDEX)] })
    expect(asked.explain(ANNA, 'apps/read', INDEX, NOW).decidedBy?.scope).to.equal(INDEX)
  })
})

describe('the policy', () => {
  it('obeys a change with the next question', () => {
    const given = assign('Reader', B1)
    const asked = evaluator({ assignments: [given] })
    asked.policy.upsertAssignment({ ...given, scope: B2 })
    expect(asked.isAllowed(ANNA, 'apps/read', B1, NOW)).to.equal(false)
    expect(asked.isAllowed(ANNA, 'apps/read', B2, NOW)).to.equal(true)
    asked.policy.removeAssignment(given.id)
    expect(asked.isAllowed(ANNA, 'apps/read', B2, NOW)).to.equal(false)
  })

  it('takes a role that comes after its assignment, follows its changes and its end', () => {
    const asked = evaluator({ assignments: [assign('Custom', B1)] })
    expect(asked.isAllowed(ANNA, 'apps/read', B1, NOW)).to.equal(false)
    asked.policy.upsertRole(role(['apps/read']))
    expect(asked.isAllowed(ANNA, 'apps/read', B1, NOW)).to.equal(true)
    asked.policy.upsertRole(role(['apps/read'], { displayName: 'Renamed' }))
    expect(asked.isAllowed(ANNA, 'apps/read', B1, NOW)).to.equal(false)
    asked.policy.upsertRole(role(['apps/*']))
    expect(asked.isAllowed(ANNA, 'apps/write', B1, NOW)).to.equal(true)
    asked.policy.removeRole('custom')
    expect(asked.isAllowed(ANNA, 'apps/read', B1, NOW)).to.equal(false)
  })

  it('lets no definition take the display name of another role', () => {
    const asked = evaluator({ assignments: [assign('Reader', B1)] })
    expect(asked.policy.upsertRole(role(['*'], { displayName: 'Reader' }))).to.equal(false)
    expect(asked.isAllowed(ANNA, 'apps/write', B1, NOW)).to.equal(false)
  })

  it('lets no definition change or remove a built-in role', () => {
    const asked = evaluator({ assignments: [assign('Reader', B1)] })
    asked.policy.upsertRole(role(['*'], { name: 'reader', displayName: 'Reader' }))
    expect(asked.isAllowed(ANNA, 'apps/write', B1, NOW)).to.equal(false)
    asked.policy.removeRole('reader')
    expect(asked.isAllowed(ANNA, 'apps/read', B1, NOW)).to.equal(true)
  })

  it('gives nobody more for a record that it cannot read', () => {
    const given = assign('Owner', B1)
    const denied = deny(B1, ['jobs/*'])
    const asked = evaluator({ assignments: [given], denies: [denied], roles: [role(['apps/*'])] })
    expect(() => asked.policy.upsertDeny({ ...denied, actions: ['jobs*'] })).to.throw(InvalidActionPattern)
    expect(() => asked.policy.upsertDeny({ ...denied, scope: `${B1}/` })).to.throw(RangeError)
    expect(asked.isAllowed(ANNA, 'jobs/read', B1, NOW)).to.equal(false)
    expect(() => asked.policy.upsertAssignment({ ...given, scope: `${B1}/` })).to.throw(RangeError)
    expect(asked.isAllowed(ANNA, 'apps/read', B1, NOW)).to.equal(false)
    asked.policy.upsertAssignment(assign('Custom', B1))
    expect(asked.isAllowed(ANNA, 'apps/read', B1, NOW)).to.equal(true)
    expect(() => asked.policy.upsertRole(role(['apps/**']))).to.throw(InvalidActionPattern)
    expect(asked.isAllowed(ANNA, 'apps/read', B1, NOW)).to.equal(false)
  })

  it('takes people out of groups of groups at once', () => {
    const groups = [
      { id: TEAM, memberIds: [ANNA, BERT] },
      { id: STAFF, memberIds: [TEAM] },
    ]
    const asked = evaluator({ groups, assignments: [assign('Reader', B1, { principalId: STAFF })] })
    expect(asked.isAllowed(ANNA, 'apps/read', B1, NOW)).to.equal(true)
    asked.policy.upsertGroup({ id: TEAM, memberIds: [BERT] })
    expect(asked.isAllowed(ANNA, 'apps/read', B1, NOW)).to.equal(false)
    expect(asked.isAllowed(BERT, 'apps/read', B1, NOW)).to.equal(true)
    asked.policy.removeGroup(STAFF)
    expect(asked.isAllowed(BERT, 'apps/read', B1, NOW)).to.equal(false)
  })
})

describe('lists of what somebody may', () => {
  it('name the boundaries that assignments reach into', () => {
    const asked = evaluator({ assignments: [assign('Reader', SHOP), assign('Reader', B2, { expiresAt: NOW })] })
    expect(asked.boundariesOf(ANNA, NOW)).to.deep.equal({ everywhere: false, boundaryIds: [B1.slice(12)] })
    asked.policy.upsertAssignment(assign('Reader', '/'))
    expect(asked.boundariesOf(ANNA, NOW).everywhere).to.equal(true)
    expect(asked.boundariesOf(BERT, NOW)).to.deep.equal({ everywhere: false, boundaryIds: [] })
  })

  it('name the widest scopes of an action and what is denied in them', () => {
    const assignments = [assign('Reader', B1), assign('Reader', INDEX), assign('Owner', B2)]
    const asked = evaluator({ assignments, denies: [deny(SHOP, ['apps/read']), deny(B2, ['apps/read'])] })
    expect(asked.scopesWith(ANNA, 'apps/read', NOW)).to.deep.equal({ granted: [B1], denied: [SHOP] })
    expect(asked.scopesWith(ANNA, 'jobs/read', NOW).granted).to.have.members([B1, B2])
    expect(asked.scopesWith(BERT, 'jobs/read', NOW)).to.deep.equal({ granted: [], denied: [] })
  })
})

describe('handing permissions on', () => {
  const owner = role(['*'], { dataActions: ['*'] })
  const cases: [string, Given, Role, string, boolean][] = [
    ['Owner hands on everything at its scope', { assignments: [assign('Owner', B1)] }, owner, B1, true],
    ['Owner hands on everything below its scope', { assignments: [assign('Owner', B1)] }, owner, INDEX, true],
    [
      'Owner of a boundary hands on nothing at the root',
      { assignments: [assign('Owner', B1)] },
      role(['apps/read']),
      '/',
      false,
    ],
    [
      'Owner of a boundary hands on nothing in another',
      { assignments: [assign('Owner', B1)] },
      role(['apps/read']),
      B2,
      false,
    ],
    [
      'Contributor does not hand on vault values',
      { assignments: [assign('Contributor', B1)] },
      role([], { dataActions: ['secretvault/readSecrets'] }),
      B1,
      false,
    ],
    [
      'two roles together hold what neither holds alone',
      { assignments: [assign('Contributor', B1), assign('Secrets Officer', B1)] },
      role(['apps/*'], { dataActions: ['secretvault/*'] }),
      B1,
      true,
    ],
    [
      'Reader does not hand on open actions that it lacks',
      { assignments: [assign('Reader', B1)] },
      role(['registry/pull']),
      B1,
      false,
    ],
    [
      'a holder of registry/pull does not hand on registry/*',
      { roles: [role(['registry/pull'])], assignments: [assign('Custom', B1)] },
      role(['registry/*']),
      B1,
      false,
    ],
    [
      'a deny below the scope is not shed by handing on',
      { assignments: [assign('Owner', B1)], denies: [deny(SHOP, ['apps/read'])] },
      role(['apps/read']),
      B1,
      false,
    ],
    [
      'a deny of an open action below the scope is not shed either',
      { assignments: [assign('Owner', B1)], denies: [deny(SHOP, ['registry/pull'])] },
      role(['registry/pull']),
      B1,
      false,
    ],
    [
      'two ends of a pattern do not add up to the middle',
      { roles: [role(['registry/images/*'])], assignments: [assign('Custom', B1)] },
      role(['*/pull']),
      B1,
      false,
    ],
    [
      'a deny elsewhere does not matter',
      { assignments: [assign('Owner', '/')], denies: [deny(B2, ['apps/read'])] },
      role(['apps/read']),
      B1,
      true,
    ],
    [
      'what a trust lends is not handed on',
      { assignments: [assign('Reader', B2)], trusts: [trust(['apps/read'])] },
      role(['apps/read']),
      B1,
      false,
    ],
    [
      'nobody hands on at a text that is no scope',
      { assignments: [assign('Owner', '/')] },
      role(['apps/read']),
      `${B1}/`,
      false,
    ],
    ['a role of nothing is anybody’s who is known', { assignments: [assign('Reader', B1)] }, role([]), B1, true],
  ]
  for (const [sentence, given, handed, scope, expected] of cases) {
    it(sentence, () => {
      expect(evaluator(given).holdsAll(ANNA, handed, scope, NOW)).to.equal(expected)
    })
  }
})
