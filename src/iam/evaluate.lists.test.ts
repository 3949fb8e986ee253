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
    ['is true for a role without actions', { assignments: [assign('Reader', B1)] }, role([]), B1, true],
  ]
  for (const [sentence, given, handed, scope, expected] of cases) {
    it(sentence, () => {
      expect(evaluatorOf(given).holdsAll(ANNA, handed, scope, NOW)).to.equal(expected)
    })
  }
})
