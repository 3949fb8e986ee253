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
  trust,
} from '../../test/make/authorizationRecords.ts'
import type { Role } from './roles.ts'

const UNKNOWN = '99999999-9999-4999-8999-999999999999'
const everyone = (more: object) => deny(SHOP, ['apps/read'], { principal: 'everyone', ...more })

describe('Evaluator.boundariesOf and scopesWith', () => {
  it('return the boundaries in which the principal has a valid assignment', () => {
    const asked = evaluatorOf({ assignments: [assign('Reader', SHOP), assign('Reader', B2, { expiresAt: NOW })] })
    expect(asked.boundariesOf(ANNA, NOW)).to.deep.equal({ everywhere: false, boundaryIds: [B1.slice(12)] })
    asked.policy.upsertAssignment(assign('Reader', '/'))
    expect(asked.boundariesOf(ANNA, NOW).everywhere).to.equal(true)
    expect(asked.boundariesOf(BERT, NOW)).to.deep.equal({ everywhere: false, boundaryIds: [] })
  })

  it('return the widest scopes with an action, and the denied ones in them', () => {
    const assignments = [assign('Reader', B1), assign('Reader', INDEX), assign('Owner', B2)]
    const asked = evaluatorOf({ assignments, denies: [deny(SHOP, ['apps/read']), deny(B2, ['apps/read'])] })
    expect(asked.scopesWith(ANNA, 'apps/read', NOW)).to.deep.equal({ granted: [B1], denied: [SHOP] })
    expect(asked.scopesWith(ANNA, 'jobs/read', NOW).granted).to.have.members([B1, B2])
    expect(asked.scopesWith(BERT, 'jobs/read', NOW)).to.deep.equal({ granted: [], denied: [] })
  })
})

describe('Evaluator.scopesWith', () => {
  const nowhere = { granted: [], denied: [] }
  const assignments = [assign('Reader', B1)]
  const both = [deny(SHOP, ['apps/read']), deny(INDEX, ['apps/read'])]
  const cases: [string, Given, principal: string, action: string, expected: object][] = [
    [
      'names the widest denied scopes only',
      { assignments, denies: both },
      ANNA,
      'apps/read',
      { granted: [B1], denied: [SHOP] },
    ],
    [
      'does not count a deny that excludes the principal',
      { assignments, denies: [everyone({ excludedPrincipalIds: [ANNA] })] },
      ANNA,
      'apps/read',
      { granted: [B1], denied: [] },
    ],
    [
      'does not count a deny that has expired',
      { assignments, denies: [everyone({ expiresAt: NOW })] },
      ANNA,
      'apps/read',
      { granted: [B1], denied: [] },
    ],
    ['is empty for an unknown action', { assignments: [assign('Owner', '/')] }, ANNA, 'apps/fly', nowhere],
    ['is empty for an unknown principal', { assignments, denies: [everyone({})] }, UNKNOWN, 'apps/read', nowhere],
  ]
  for (const [sentence, given, principal, action, expected] of cases)
    it(sentence, () => expect(evaluatorOf(given).scopesWith(principal, action, NOW)).to.deep.equal(expected))
})

describe('Evaluator.permissionsAt', () => {
  const twoApps = role(['apps/read', 'apps/write'])
  const own = { roles: [twoApps], assignments: [assign('Custom', B1)] }
  const lent = {
    roles: [twoApps],
    assignments: [assign('Custom', B2)],
    trusts: [trust(['apps/read', 'apps/write'], { expiresAt: NOW + 1 })],
  }
  const cases: [string, Given, scope: string, expected: string[]][] = [
    ['returns the actions of assignments', own, SHOP, ['apps/read', 'apps/write']],
    ['leaves out what is denied at the scope', { ...own, denies: [deny(B1, ['apps/write'])] }, SHOP, ['apps/read']],
    [
      'keeps what is denied elsewhere',
      { ...own, denies: [deny(INDEX, ['apps/*'])] },
      SHOP,
      ['apps/read', 'apps/write'],
    ],
    [
      'keeps what an expired deny has denied',
      { ...own, denies: [deny(B1, ['apps/write'], { expiresAt: NOW })] },
      SHOP,
      ['apps/read', 'apps/write'],
    ],
    ['leaves out an assignment that has expired', { assignments: [assign('Reader', B1, { expiresAt: NOW })] }, B1, []],
    ['adds what a trust lends', lent, SHOP, ['apps/read', 'apps/write']],
    ['leaves out what the trust does not lend', { ...lent, trusts: [trust(['apps/read'])] }, SHOP, ['apps/read']],
    [
      'leaves out what is denied in the trusted boundary',
      { ...lent, denies: [deny(B2, ['apps/write'])] },
      SHOP,
      ['apps/read'],
    ],
    [
      'adds nothing of a trust that has expired',
      { ...lent, trusts: [trust(['apps/*'], { expiresAt: NOW })] },
      SHOP,
      [],
    ],
    ['is empty at a text that is not a scope', own, `${B1}/`, []],
  ]
  for (const [sentence, given, scope, expected] of cases)
    it(sentence, () => expect(evaluatorOf(given).permissionsAt(ANNA, scope, NOW)).to.deep.equal(expected))

  it('is empty for an unknown principal', () =>
    expect(evaluatorOf({ denies: [everyone({})] }).permissionsAt(UNKNOWN, SHOP, NOW)).to.deep.equal([]))
})

describe('Evaluator.rolesAt', () => {
  const cases: [string, Given, expected: string[]][] = [
    [
      'returns the roles at exactly this scope',
      { assignments: [assign('Reader', B1), assign('Owner', SHOP)] },
      ['Reader'],
    ],
    [
      'leaves out an assignment that has expired',
      { assignments: [assign('Reader', B1), assign('Owner', B1, { expiresAt: NOW })] },
      ['Reader'],
    ],
    ['leaves out an unknown role', { assignments: [assign('Reader', B1), assign('Gone', B1)] }, ['Reader']],
    ['is empty without a record at the scope', {}, []],
  ]
  for (const [sentence, given, expected] of cases)
    it(sentence, () => expect(evaluatorOf(given).rolesAt(ANNA, B1, NOW)).to.deep.equal(expected))

  it('is empty for an unknown principal', () =>
    expect(evaluatorOf({ assignments: [assign('Reader', B1)] }).rolesAt(UNKNOWN, B1, NOW)).to.deep.equal([]))
})

describe('Evaluator.isAllowed', () => {
  it('ends a trust at its expiry', () => {
    const asked = evaluatorOf({
      assignments: [assign('Reader', B2)],
      trusts: [trust(['apps/read'], { expiresAt: NOW })],
    })
    expect([NOW - 1, NOW].map((at) => asked.isAllowed(ANNA, 'apps/read', SHOP, at))).to.deep.equal([true, false])
    expect(asked.scopesWith(ANNA, 'apps/read', NOW).granted).to.deep.equal([B2])
  })
})

describe('Evaluator.holdsAll', () => {
  const owner = role(['*'], { dataActions: ['*'] })
  const cases: [string, Given, Role, string, boolean][] = [
    ['is true for Owner at its scope', { assignments: [assign('Owner', B1)] }, owner, B1, true],
    ['is true for Owner below its scope', { assignments: [assign('Owner', B1)] }, owner, INDEX, true],
    [
      'is false for Owner of a boundary at the root',
      { assignments: [assign('Owner', B1)] },
      role(['apps/read']),
      '/',
      false,
    ],
    [
      'is false for Owner of a boundary in another boundary',
      { assignments: [assign('Owner', B1)] },
      role(['apps/read']),
      B2,
      false,
    ],
    [
      'is false for Contributor with the data action readSecrets',
      { assignments: [assign('Contributor', B1)] },
      role([], { dataActions: ['secretvault/readSecrets'] }),
      B1,
      false,
    ],
    [
      'is true for actions that two roles have together',
      { assignments: [assign('Contributor', B1), assign('Secrets Officer', B1)] },
      role(['apps/*'], { dataActions: ['secretvault/*'] }),
      B1,
      true,
    ],
    [
      'is false for Reader with an open action that it lacks',
      { assignments: [assign('Reader', B1)] },
      role(['registry/pull']),
      B1,
      false,
    ],
    [
      'is false for registry/* with only registry/pull',
      { roles: [role(['registry/pull'])], assignments: [assign('Custom', B1)] },
      role(['registry/*']),
      B1,
      false,
    ],
    [
      'is false if an action is denied below the scope',
      { assignments: [assign('Owner', B1)], denies: [deny(SHOP, ['apps/read'])] },
      role(['apps/read']),
      B1,
      false,
    ],
    [
      'is false if an open action is denied below the scope',
      { assignments: [assign('Owner', B1)], denies: [deny(SHOP, ['registry/pull'])] },
      role(['registry/pull']),
      B1,
      false,
    ],
    [
      'is false for the pattern */pull with only registry/images/*',
      { roles: [role(['registry/images/*'])], assignments: [assign('Custom', B1)] },
      role(['*/pull']),
      B1,
      false,
    ],
    [
      'is true if the action is denied in another boundary',
      { assignments: [assign('Owner', '/')], denies: [deny(B2, ['apps/read'])] },
      role(['apps/read']),
      B1,
      true,
    ],
    [
      'is false for actions that come from a trust',
      { assignments: [assign('Reader', B2)], trusts: [trust(['apps/read'])] },
      role(['apps/read']),
      B1,
      false,
    ],
    [
      'is false for a text that is not a scope',
      { assignments: [assign('Owner', '/')] },
      role(['apps/read']),
      `${B1}/`,
      false,
    ],
    [
      'is false at the root for a root action that it lacks',
      { roles: [role(['apps/read'])], assignments: [assign('Custom', '/')] },
      role(['boundaries/delete']),
      '/',
      false,
    ],
    [
      'is false if an open action that the pattern covers is denied below the scope',
      { assignments: [assign('Owner', B1)], denies: [deny(SHOP, ['registry/pull'])] },
      role(['registry/*']),
      B1,
      false,
    ],
    [
      'is false if an open action is denied above the scope',
      { assignments: [assign('Owner', B1)], denies: [deny(B1, ['registry/pull'])] },
      role(['registry/pull']),
      SHOP,
      false,
    ],
    [
      'is true if a deny of the action has expired',
      { assignments: [assign('Owner', B1)], denies: [deny(B1, ['apps/read'], { expiresAt: NOW })] },
      role(['apps/read']),
      SHOP,
      true,
    ],
    ['is true for a role without actions', { assignments: [assign('Reader', B1)] }, role([]), B1, true],
  ]
  for (const [sentence, given, handed, scope, expected] of cases) {
    it(sentence, () => {
      expect(evaluatorOf(given).holdsAll(ANNA, handed, scope, NOW)).to.equal(expected)
    })
  }
})
