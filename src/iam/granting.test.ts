import { expect } from 'chai'
import {
  ANNA,
  assign,
  B1,
  BERT,
  deny,
  evaluatorOf,
  type Given,
  role,
  SHOP,
  TEAM,
} from '../../test/make/authorizationRecords.ts'
import { findGrantRefusal } from './granting.ts'
import { BUILT_IN_ROLES, type Role } from './roles.ts'

const named = (name: string): Role => {
  const found = BUILT_IN_ROLES.find(({ displayName }) => displayName === name)
  if (found === undefined) throw new Error(name)
  return found
}

describe('findGrantRefusal', () => {
  const decide = (given: Given, role: Role, scope: string, gainers: string[] = [BERT]) => {
    const evaluator = evaluatorOf(given)
    const holdings = {
      holdsAll: (id: string, permissions: Role, at: string) => evaluator.holdsAll(id, permissions, at, 0),
      rolesAt: (id: string, at: string) => evaluator.rolesAt(id, at, 0),
    }
    return findGrantRefusal({ granterId: ANNA, gainerIds: new Set(gainers), role, scope }, holdings as never)
  }
  const platformOwner = { assignments: [assign('Platform Owner', '/')] }

  const allowed: [string, Given, Role, string, string[]?][] = [
    ['an Owner grants any role at the boundary', { assignments: [assign('Owner', B1)] }, named('Owner'), B1],
    ['an Owner grants a role below its scope', { assignments: [assign('Owner', B1)] }, named('Contributor'), SHOP],
    [
      'an Owner grants themselves a role that they hold',
      { assignments: [assign('Owner', B1)] },
      named('Reader'),
      B1,
      [ANNA],
    ],
    ['a Platform Owner grants Owner to others', platformOwner, named('Owner'), B1],
    ['a Platform Owner grants a root-only role at the root', platformOwner, named('Platform Reader'), '/'],
    [
      'an Owner at the root grants a root-only role',
      { assignments: [assign('Owner', '/')] },
      named('Alert Publisher'),
      '/',
    ],
    ['a role for boundaries is granted in one', platformOwner, role([], { assignableScopes: ['/boundaries/*'] }), B1],
    [
      'an Owner at the root with a second role there grants a root-only role',
      { assignments: [assign('Reader', '/'), assign('Owner', '/')] },
      named('Alert Publisher'),
      '/',
    ],
    [
      'an Owner through a group grants a role',
      { assignments: [assign('Owner', B1, { principalId: TEAM })], groups: [{ id: TEAM, memberIds: [ANNA] }] },
      named('Reader'),
      B1,
    ],
  ]
  for (const [title, given, granted, scope, gainers] of allowed) {
    it(`returns nothing if ${title}`, () => expect(decide(given, granted, scope, gainers)).to.equal(undefined))
  }

  const exceeding: [string, Given, Role, string, string[], string[]?][] = [
    [
      'a Reader grants an action of writing',
      { assignments: [assign('Reader', B1)] },
      role(['jobs/read', 'jobs/write']),
      B1,
      ['jobs/write'],
    ],
    [
      'an Owner of a group grants a role in the boundary',
      { assignments: [assign('Owner', SHOP)] },
      role(['jobs/read']),
      B1,
      ['jobs/read'],
    ],
    [
      'a Platform Owner grants themselves readSecrets',
      platformOwner,
      role([], { dataActions: ['secretvault/readSecrets'] }),
      B1,
      ['secretvault/readSecrets'],
      [ANNA],
    ],
    [
      'a Platform Owner grants readSecrets to a group of theirs',
      platformOwner,
      role([], { dataActions: ['secretvault/readSecrets'] }),
      B1,
      ['secretvault/readSecrets'],
      [TEAM, ANNA],
    ],
    [
      'an Owner grants an action denied to them',
      { assignments: [assign('Owner', B1)], denies: [deny(B1, ['jobs/write'])] },
      role(['jobs/write']),
      B1,
      ['jobs/write'],
    ],
    [
      'an Owner grants an action denied to them below the scope',
      { assignments: [assign('Owner', B1)], denies: [deny(SHOP, ['jobs/write'])] },
      role(['jobs/write']),
      B1,
      ['jobs/write'],
    ],
    [
      'a Platform Owner grants a role with an invalid pattern to others',
      platformOwner,
      role(['apps/ read'], { dataActions: ['secretvault/*'] }),
      B1,
      ['apps/ read', 'secretvault/*'],
    ],
    [
      'a Reader grants an action that is not listed',
      { assignments: [assign('Reader', B1)] },
      role(['registry/pull'], { dataActions: ['files/open'] }),
      B1,
      ['registry/pull', 'files/open'],
    ],
    [
      'a Reader grants all actions of tenants, of which those of the root do not count below it',
      { assignments: [assign('Reader', B1)] },
      role(['boundaries/tenant/*', 'jobs/write']),
      B1,
      ['jobs/write'],
    ],
    [
      'an Owner lacks only one of the data actions',
      { assignments: [assign('Secrets Reader', B1)] },
      role([], { dataActions: ['secretvault/readSecrets', 'secretvault/writeSecrets'] }),
      B1,
      ['secretvault/writeSecrets'],
    ],
    [
      'a Reader of the root grants a root action there',
      { assignments: [assign('Reader', '/')] },
      role(['boundaries/tenant/*']),
      '/',
      ['boundaries/tenant/admin'],
    ],
    [
      'an Owner grants after their assignment expired',
      { assignments: [assign('Owner', B1, { expiresAt: 0 })] },
      role(['jobs/read']),
      B1,
      ['jobs/read'],
    ],
  ]
  for (const [title, given, granted, scope, actions, gainers] of exceeding) {
    it(`returns ExceedsGranter with the actions if ${title}`, () =>
      expect(decide(given, granted, scope, gainers)).to.deep.equal({ kind: 'ExceedsGranter', actions }))
  }

  const rootOnly: [string, Given, Role, string][] = [
    ['a root-only role below the root', { assignments: [assign('Owner', '/')] }, named('Platform Reader'), B1],
    [
      'a root-only role granted by neither Owner nor Platform Owner',
      { assignments: [assign('Platform Contributor', '/')] },
      named('Alert Publisher'),
      '/',
    ],
    [
      'a role of boundaries at the root',
      platformOwner,
      role(['jobs/read'], { assignableScopes: ['/boundaries/*'] }),
      '/',
    ],
  ]
  for (const [title, given, granted, scope] of rootOnly) {
    it(`returns RootOnly for ${title}`, () => expect(decide(given, granted, scope)).to.deep.equal({ kind: 'RootOnly' }))
  }
})
