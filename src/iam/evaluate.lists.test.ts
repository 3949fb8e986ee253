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

describe('lists of what somebody may', () => {
  it('name the boundaries that assignments reach into', () => {
    const asked = evaluatorOf({ assignments: [assign('Reader', SHOP), assign('Reader', B2, { expiresAt: NOW })] })
    expect(asked.boundariesOf(ANNA, NOW)).to.deep.equal({ everywhere: false, boundaryIds: [B1.slice(12)] })
    asked.policy.upsertAssignment(assign('Reader', '/'))
    expect(asked.boundariesOf(ANNA, NOW).everywhere).to.equal(true)
    expect(asked.boundariesOf(BERT, NOW)).to.deep.equal({ everywhere: false, boundaryIds: [] })
  })

  it('name the widest scopes of an action and what is denied in them', () => {
    const assignments = [assign('Reader', B1), assign('Reader', INDEX), assign('Owner', B2)]
    const asked = evaluatorOf({ assignments, denies: [deny(SHOP, ['apps/read']), deny(B2, ['apps/read'])] })
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
      'nobody hands on at a text that is not a scope',
      { assignments: [assign('Owner', '/')] },
      role(['apps/read']),
      `${B1}/`,
      false,
    ],
    ['a role of nothing is anybody’s who is known', { assignments: [assign('Reader', B1)] }, role([]), B1, true],
  ]
  for (const [sentence, given, handed, scope, expected] of cases) {
    it(sentence, () => {
      expect(evaluatorOf(given).holdsAll(ANNA, handed, scope, NOW)).to.equal(expected)
    })
  }
})
