import { expect } from 'chai'
import { TEST_CONFIG } from '../../test/config.ts'
import { indexOf, NOW, RandomWorld } from '../../test/make/authorizationPolicy.ts'
import { type NaivePolicy, naiveAllows, naiveReason } from '../../test/make/naiveEvaluator.ts'
import { SeededRandom } from '../../test/make/random.ts'
import { ACTIONS } from '../core/actions.ts'
import { parseScope, scopeContains } from '../core/scope.ts'
import { Evaluator, type ScopesOfAction } from './evaluate.ts'
import type { PolicyIndex } from './policyIndex.ts'

const QUESTIONS_PER_WORLD = 200

/** Removes or changes a third of the records of a policy, in the index and in the plain lists alike. */
function churn(world: RandomWorld, policy: NaivePolicy, index: PolicyIndex): void {
  const { random } = world
  policy.assignments = policy.assignments.flatMap((assignment) => {
    if (random.chance(0.66)) return [assignment]
    if (random.chance(0.5)) {
      index.removeAssignment(assignment.id)
      return []
    }
    const changed = { ...world.assignment(), id: assignment.id }
    index.upsertAssignment(changed)
    return [changed]
  })
  policy.denies = policy.denies.flatMap((deny) => {
    if (random.chance(0.66)) return [deny]
    if (random.chance(0.5)) {
      index.removeDeny(deny.id)
      return []
    }
    const changed = { ...world.deny(), id: deny.id }
    index.upsertDeny(changed)
    return [changed]
  })
  policy.groups = policy.groups.flatMap((group) => {
    if (random.chance(0.5)) return [group]
    if (random.chance(0.3)) {
      index.removeGroup(group.id)
      return []
    }
    const changed = world.group(group.id)
    index.upsertGroup(changed)
    return [changed]
  })
  policy.trusts = policy.trusts.filter((trust) => {
    if (random.chance(0.66)) return true
    index.removeTrust(trust.id)
    return false
  })
  const custom = random.below(3)
  policy.roles = policy.roles.filter((role) => role.name !== `custom-${custom}`)
  if (random.chance(0.5)) index.removeRole(`custom-${custom}`)
  else {
    const role = world.role(custom)
    policy.roles.push(role)
    index.upsertRole(role)
  }
}

function empty(policy: NaivePolicy, index: PolicyIndex): void {
  for (const { id } of policy.assignments) index.removeAssignment(id)
  for (const { id } of policy.denies) index.removeDeny(id)
  for (const { id } of policy.groups) index.removeGroup(id)
  for (const { id } of policy.trusts) index.removeTrust(id)
}

function within(scopes: readonly string[], scope: string): boolean {
  const inner = parseScope(scope)
  return scopes.some((text) => {
    const outer = parseScope(text)
    return outer !== undefined && inner !== undefined && scopeContains(outer, inner)
  })
}

const included = (scopes: ScopesOfAction, scope: string) =>
  within(scopes.granted, scope) && !within(scopes.denied, scope)

const QUESTIONS = TEST_CONFIG.sized(25_000, 1_000_000)
const REMOVALS = TEST_CONFIG.sized(1_500, 5_000)
const GIFTS = TEST_CONFIG.sized(500, 1_500)

describe('Evaluator compared with a naive implementation', () => {
  it(`returns the same decisions and reasons for ${QUESTIONS} random questions`, () => {
    const random = new SeededRandom(TEST_CONFIG.seed)
    const reasons = new Map<string, number>()
    let asked = 0
    while (asked < QUESTIONS) {
      const world = new RandomWorld(random)
      const policy = world.policy()
      const index = indexOf(policy)
      const evaluator = new Evaluator(index)
      for (let number = 0; number < QUESTIONS_PER_WORLD; number += 1) {
        if (number === QUESTIONS_PER_WORLD / 2) churn(world, policy, index)
        const principal = random.chance(0.02) ? random.uuid() : random.pick(world.principalIds)
        const [action, scope, at] = [world.action(), world.scope(), NOW + random.below(5) - 2]
        const expected = naiveReason(policy, principal, action, scope, at)
        const decision = evaluator.explain(principal, action, scope, at)
        const allowed = evaluator.isAllowed(principal, action, scope, at)
        if (
          decision.reason !== expected ||
          allowed !== expected.startsWith('Allowed') ||
          decision.allowed !== allowed
        ) {
          const question = JSON.stringify({ principal, action, scope, at, policy })
          expect.fail(`expected ${expected}, explain says ${decision.reason}, isAllowed ${allowed}: ${question}`)
        }
        reasons.set(expected, (reasons.get(expected) ?? 0) + 1)
        asked += 1
      }
      empty(policy, index)
      expect(index.principals.size, 'principals left in an empty index').to.equal(0)
      expect(index.scopes.root.children, 'scopes left in an empty index').to.equal(undefined)
    }
    // Guards against a generator that allows almost nothing.
    for (const reason of ['AllowedByAssignment', 'AllowedByTrust', 'DeniedByAssignment', 'NoAssignment', 'RootOnly']) {
      expect(reasons.get(reason) ?? 0, reason).to.be.greaterThan(asked / 2000)
    }
  })

  it('names a deciding record in the scope, without which another record decides or none', () => {
    const random = new SeededRandom(TEST_CONFIG.seed + 1)
    let named = 0
    for (let number = 0; number < REMOVALS; number += 1) {
      const world = new RandomWorld(random)
      const policy = world.policy()
      const evaluator = new Evaluator(indexOf(policy))
      const [principal, action, scope] = [random.pick(world.principalIds), world.action(), world.scope()]
      const { decidedBy } = evaluator.explain(principal, action, scope, NOW)
      if (decidedBy === undefined) continue
      named += 1
      expect(within([decidedBy.scope], scope), `${decidedBy.scope} holds ${scope}`).to.equal(true)
      evaluator.policy.removeAssignment(decidedBy.id)
      evaluator.policy.removeDeny(decidedBy.id)
      evaluator.policy.removeTrust(decidedBy.id)
      expect(evaluator.explain(principal, action, scope, NOW).decidedBy?.id).not.to.equal(decidedBy.id)
    }
    expect(named).to.be.greaterThan(REMOVALS / 20)
  })

  it('lists permissions and scopes that agree with single decisions', () => {
    const random = new SeededRandom(TEST_CONFIG.seed + 2)
    let narrowed = 0
    for (let number = 0; number < 300; number += 1) {
      const world = new RandomWorld(random)
      const policy = world.policy()
      const principal = random.pick(world.principalIds)
      const scope = random.pick([...policy.denies.map((deny) => deny.scope), world.scope()])
      // At random, hardly anybody holds what a deny is about.
      const boundary = scope.split('/').slice(0, 3).join('/')
      const roleName = random.chance(0.5) ? 'Owner' : random.pick(world.roles).displayName
      policy.assignments.push({ ...world.assignment(), principalId: principal, roleName, scope: boundary })
      const evaluator = new Evaluator(indexOf(policy))
      const each = ACTIONS.filter(({ name }) => evaluator.isAllowed(principal, name, scope, NOW)).map(
        ({ name }) => name,
      )
      expect(evaluator.permissionsAt(principal, scope, NOW)).to.deep.equal(each)
      const undenied = new Evaluator(indexOf({ ...policy, denies: [] })).permissionsAt(principal, scope, NOW)
      if (undenied.length > each.length) narrowed += 1
      const action = random.chance(0.5) ? 'apps/read' : world.action()
      const scopes = evaluator.scopesWith(principal, action, NOW)
      for (const place of world.scopes) {
        // Root actions apply at any scope, but are listed at the root.
        const allowed = evaluator.isAllowed(principal, action, place, NOW)
        expect(included(scopes, place), `${action} at ${place}`).to.equal(allowed)
      }
    }
    expect(narrowed).to.be.greaterThan(5)
  })

  it('allows nothing more after a deny was added or an assignment removed', () => {
    const random = new SeededRandom(TEST_CONFIG.seed + 3)
    for (let number = 0; number < 100; number += 1) {
      const world = new RandomWorld(random)
      const policy = world.policy()
      const index = indexOf(policy)
      const evaluator = new Evaluator(index)
      const held = () =>
        world.principalIds.map((id) => world.scopes.map((scope) => new Set(evaluator.permissionsAt(id, scope, NOW))))
      const before = held()
      if (random.chance(0.5) || policy.assignments.length === 0) index.upsertDeny(world.deny())
      else index.removeAssignment(random.pick(policy.assignments).id)
      held().forEach((scopes, person) => {
        scopes.forEach((after, place) => {
          const more = [...after].filter((action) => !before[person]?.[place]?.has(action))
          expect(more).to.deep.equal([])
        })
      })
    }
  })

  it('never lets holdsAll pass a role that would allow a new account more than its granter', () => {
    const random = new SeededRandom(TEST_CONFIG.seed + 4)
    let given = 0
    for (let number = 0; number < GIFTS; number += 1) {
      const world = new RandomWorld(random)
      // A deny for everyone applies to the new account as well, and a trust would apply to what it received: both are left out.
      const drawn = world.policy()
      const policy = { ...drawn, trusts: [], denies: drawn.denies.filter((deny) => deny.principal !== 'everyone') }
      const evaluator = new Evaluator(indexOf(policy))
      const giver = random.pick(world.principalIds)
      const role = random.chance(0.5) ? random.pick(world.customRoles) : random.pick(world.roles)
      const scope = random.pick(world.scopes)
      if (!evaluator.holdsAll(giver, role, scope, NOW)) continue
      given += 1
      const fresh = random.uuid()
      const granted = {
        id: random.uuid(),
        principalId: fresh,
        principalType: 'User',
        roleName: role.displayName,
        scope,
      } as const
      const after = { ...policy, assignments: [...policy.assignments, granted] }
      for (const place of world.scopes) {
        for (const action of [
          ...ACTIONS.map(({ name }) => name),
          'registry/pull',
          'registry/images/push',
          'llmgateway/invoke',
        ]) {
          if (!naiveAllows(after, fresh, action, place, NOW)) continue
          expect(evaluator.isAllowed(giver, action, place, NOW), `${action} at ${place}`).to.equal(true)
        }
      }
    }
    expect(given).to.be.greaterThan(GIFTS / 37)
  })
})
