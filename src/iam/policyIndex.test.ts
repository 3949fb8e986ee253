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
  role,
  STAFF,
  TEAM,
} from '../../test/make/authorizationRecords.ts'
import { InvalidActionPattern } from '../core/actionPatterns.ts'

describe('PolicyIndex', () => {
  it('applies a changed or removed assignment to the next decision', () => {
    const given = assign('Reader', B1)
    const asked = evaluatorOf({ assignments: [given] })
    asked.policy.upsertAssignment({ ...given, scope: B2 })
    expect(asked.isAllowed(ANNA, 'apps/read', B1, NOW)).to.equal(false)
    expect(asked.isAllowed(ANNA, 'apps/read', B2, NOW)).to.equal(true)
    asked.policy.removeAssignment(given.id)
    expect(asked.isAllowed(ANNA, 'apps/read', B2, NOW)).to.equal(false)
  })

  it('applies assignments and denies of scopes that were decided on before', () => {
    const shop = `${B1}/resourcegroups/shop`
    const item = `${shop}/resources/apps/web`
    const asked = evaluatorOf({ assignments: [assign('Reader', B1)] })
    const may = (scope: string) => asked.isAllowed(ANNA, 'apps/write', scope, NOW)
    expect([may(item), may(shop), may(`${shop}/`), may(`${item}/x`)]).to.deep.equal([false, false, false, false])
    const given = assign('Contributor', item)
    asked.policy.upsertAssignment(given)
    expect([may(item), may(shop)]).to.deep.equal([true, false])
    asked.policy.upsertAssignment({ ...given, scope: shop })
    expect([may(item), may(shop), may(`${shop}-1/resources/apps/web`)]).to.deep.equal([true, true, false])
    asked.policy.upsertDeny(deny(item, ['*/write'], { id: 'deny' }))
    expect([may(item), may(shop)]).to.deep.equal([false, true])
    asked.policy.removeDeny('deny')
    expect(may(item)).to.equal(true)
    asked.policy.removeAssignment(given.id)
    expect([may(item), may(shop)]).to.deep.equal([false, false])
  })

  it('distinguishes 100 principals and 100 scopes', () => {
    const scopes = Array.from({ length: 100 }, (_, number) => `${B1}/resourcegroups/group-${number}`)
    const people = scopes.map((_, number) => `${ANNA.slice(0, -3)}${String(number).padStart(3, '0')}`)
    const asked = evaluatorOf({
      assignments: scopes.map((scope, number) => assign('Reader', scope, { principalId: people[number] ?? '' })),
    })
    const allowed = people.flatMap((person) =>
      scopes.filter((scope) => asked.isAllowed(person, 'apps/read', scope, NOW)).map((scope) => [person, scope]),
    )
    expect(allowed).to.deep.equal(people.map((person, number) => [person, scopes[number]]))
  })

  const lives: Readonly<Record<string, [named: string | undefined, present: string | undefined, wanted: boolean]>> = {
    'counts for the named incarnation of its role': ['first', 'first', true],
    'does not count for a recreated role with another incarnation': ['first', 'second', false],
    'does not count for a recreated role without an incarnation': ['first', undefined, false],
    'counts for any role of the name if it names no incarnation': [undefined, 'second', true],
  }
  for (const [title, [roleIncarnation, incarnation, wanted]] of Object.entries(lives)) {
    it(`has an assignment that ${title}`, () => {
      const given = assign('Custom', B1, { roleIncarnation })
      const asked = evaluatorOf({ assignments: [given], roles: [role(['apps/read'], { incarnation: 'first' })] })
      expect(asked.isAllowed(ANNA, 'apps/read', B1, NOW)).to.equal(true)
      asked.policy.removeRole('custom')
      expect(asked.isAllowed(ANNA, 'apps/read', B1, NOW)).to.equal(false)
      asked.policy.upsertRole(role(['apps/write'], { name: 'anew', incarnation }))
      expect(asked.isAllowed(ANNA, 'apps/write', B1, NOW)).to.equal(wanted)
      expect(asked.rolesAt(ANNA, B1, NOW)).to.deep.equal(wanted ? ['Custom'] : [])
    })
  }

  it('ignores the incarnation of a built-in role', () => {
    const asked = evaluatorOf({ assignments: [assign('Reader', B1, { roleIncarnation: 'first' })] })
    expect(asked.isAllowed(ANNA, 'apps/read', B1, NOW)).to.equal(true)
  })

  it('applies a role that is added after its assignment, changed, renamed and removed', () => {
    const asked = evaluatorOf({ assignments: [assign('Custom', B1)] })
    expect(asked.isAllowed(ANNA, 'apps/read', B1, NOW)).to.equal(false)
    asked.policy.upsertRole(role(['apps/read']))
    expect(asked.isAllowed(ANNA, 'apps/read', B1, NOW)).to.equal(true)
    asked.policy.upsertRole(role(['apps/read'], { displayName: 'Renamed' }))
    expect(asked.isAllowed(ANNA, 'apps/read', B1, NOW)).to.equal(false)
    asked.policy.upsertRole(role(['apps/*']))
    expect(asked.isAllowed(ANNA, 'apps/write', B1, NOW)).to.equal(true)
    expect([asked.rolesAt(ANNA, B1, NOW), asked.boundariesOf(ANNA, NOW).boundaryIds.length]).to.deep.equal([
      ['Custom'],
      1,
    ])
    asked.policy.removeRole('custom')
    expect(asked.isAllowed(ANNA, 'apps/read', B1, NOW)).to.equal(false)
    expect([asked.rolesAt(ANNA, B1, NOW), asked.boundariesOf(ANNA, NOW).boundaryIds.length]).to.deep.equal([[], 0])
  })

  it('rejects a role with the display name of another role', () => {
    const asked = evaluatorOf({ assignments: [assign('Reader', B1)] })
    expect(asked.policy.upsertRole(role(['*'], { displayName: 'Reader' }))).to.equal(false)
    expect(asked.isAllowed(ANNA, 'apps/write', B1, NOW)).to.equal(false)
  })

  it('keeps a built-in role that a definition would change or remove', () => {
    const asked = evaluatorOf({ assignments: [assign('Reader', B1)] })
    asked.policy.upsertRole(role(['*'], { name: 'reader', displayName: 'Reader' }))
    expect(asked.isAllowed(ANNA, 'apps/write', B1, NOW)).to.equal(false)
    asked.policy.removeRole('reader')
    expect(asked.isAllowed(ANNA, 'apps/read', B1, NOW)).to.equal(true)
  })

  it('allows nothing more for an invalid record', () => {
    const given = assign('Owner', B1)
    const denied = deny(B1, ['jobs/*'])
    const asked = evaluatorOf({ assignments: [given], denies: [denied], roles: [role(['apps/*'])] })
    asked.policy.upsertDeny({ ...denied, actions: ['jobs/*', 'jobs*'] })
    expect(asked.isAllowed(ANNA, 'jobs/read', B1, NOW)).to.equal(false)
    expect(() => asked.policy.upsertDeny({ ...denied, scope: `${B1}/` })).to.throw(RangeError)
    expect(asked.isAllowed(ANNA, 'jobs/read', B1, NOW)).to.equal(false)
    expect(() => asked.policy.upsertAssignment({ ...given, scope: `${B1}/` })).to.throw(RangeError)
    expect(asked.isAllowed(ANNA, 'apps/read', B1, NOW)).to.equal(false)
    asked.policy.upsertAssignment(assign('Custom', B1))
    expect(asked.isAllowed(ANNA, 'apps/read', B1, NOW)).to.equal(true)
    expect(() => asked.policy.upsertRole(role(['apps/**']))).to.throw(InvalidActionPattern)
    expect(asked.isAllowed(ANNA, 'apps/read', B1, NOW)).to.equal(false)
    expect(asked.rolesAt(ANNA, B1, NOW)).to.deep.equal([])
  })

  it('applies the valid patterns of a deny with invalid ones', () => {
    const broken = deny(B1, ['jobs/*', 'zz', 'jobs*'], { dataActions: ['a', 'jobs/readLogs'] })
    const fresh = evaluatorOf({ assignments: [assign('Owner', B1)], denies: [broken] })
    const changed = evaluatorOf({ assignments: [assign('Owner', B1)], denies: [{ ...broken, actions: ['apps/*'] }] })
    changed.policy.upsertDeny(broken)
    for (const asked of [fresh, changed]) {
      expect(asked.isAllowed(ANNA, 'jobs/read', B1, NOW)).to.equal(false)
      expect(asked.isAllowed(ANNA, 'jobs/readLogs', B1, NOW)).to.equal(false)
      expect(asked.isAllowed(ANNA, 'apps/read', B1, NOW)).to.equal(true)
    }
  })

  it('applies removed members of nested groups at once', () => {
    const groups = [
      { id: TEAM, memberIds: [ANNA, BERT] },
      { id: STAFF, memberIds: [TEAM] },
    ]
    const asked = evaluatorOf({ groups, assignments: [assign('Reader', B1, { principalId: STAFF })] })
    expect(asked.isAllowed(ANNA, 'apps/read', B1, NOW)).to.equal(true)
    asked.policy.upsertGroup({ id: TEAM, memberIds: [BERT] })
    expect(asked.isAllowed(ANNA, 'apps/read', B1, NOW)).to.equal(false)
    expect(asked.isAllowed(BERT, 'apps/read', B1, NOW)).to.equal(true)
    asked.policy.removeGroup(STAFF)
    expect(asked.isAllowed(BERT, 'apps/read', B1, NOW)).to.equal(false)
  })
})
