import { ACTIONS } from '../../src/core/actions.ts'
import { PolicyIndex } from '../../src/iam/policyIndex.ts'
import type { Assignment, Deny, PrincipalGroup, Trust } from '../../src/iam/records.ts'
import { type AssignableScope, BUILT_IN_ROLES, type Role } from '../../src/iam/roles.ts'
import type { NaivePolicy } from './naiveEvaluator.ts'
import type { SeededRandom } from './random.ts'

const PATTERNS = [
  '*',
  '*/read',
  '*/write',
  'apps/*',
  'jobs/*',
  'registry/*',
  '*/members/read',
  'boundaries/*',
  'lifecycle/*',
  'llmgateway/*',
  '*/readSecrets',
  'secretvault/*',
  'registry/pull',
  '*/pull',
]
const OPEN_ACTIONS = ['llmgateway/invoke', 'registry/pull', 'registry/images/push']
/** Used more often than others in questions and trusts, so that every reason occurs often enough. */
const FREQUENT_ACTIONS = [
  'apps/read',
  'jobs/read',
  'boundaries/members/read',
  'secretvault/readSecrets',
  'registry/pull',
]
const ACTION_NAMES = ACTIONS.map((action) => action.name)
/** The current time of the model; records expire before, at and after it. */
export const NOW = Date.UTC(2026, 0, 1)

/** A small world in which nearly every record affects every other, so that a model test finds differences. */
export class RandomWorld {
  readonly random: SeededRandom
  readonly scopes: string[]
  readonly people: string[]
  readonly groupIds: string[]
  readonly boundaryIds: string[]
  readonly customRoles: Role[]

  constructor(random: SeededRandom) {
    this.random = random
    const base = random.uuid().slice(0, -2)
    // Siblings that differ in the last letter only, and names with a common prefix.
    this.boundaryIds = ['0a', '0b', '1a'].map((end) => `${base}${end}`)
    this.scopes = ['/']
    for (const id of this.boundaryIds) {
      this.scopes.push(`/boundaries/${id}`)
      for (const group of ['b1', 'b10']) {
        const scope = `/boundaries/${id}/resourcegroups/${group}`
        this.scopes.push(
          scope,
          `${scope}/resources/apps/a1`,
          `${scope}/resources/apps/a10`,
          `${scope}/resources/jobs/a1`,
        )
      }
    }
    this.people = Array.from({ length: 5 }, () => random.uuid())
    this.groupIds = Array.from({ length: 4 }, () => random.uuid())
    this.customRoles = [0, 1, 2].map((number) => this.role(number))
  }

  get principalIds(): string[] {
    return [...this.people, ...this.groupIds]
  }

  get roles(): Role[] {
    return [...BUILT_IN_ROLES, ...this.customRoles]
  }

  pattern(): string {
    return this.random.pick(this.random.chance(0.6) ? PATTERNS : [...ACTION_NAMES, ...OPEN_ACTIONS])
  }

  patterns(most: number): string[] {
    return Array.from({ length: this.random.below(most + 1) }, () => this.pattern())
  }

  role(number: number): Role {
    const assignableScopes = this.random.pick<readonly AssignableScope[]>([
      ['/'],
      ['/boundaries/*'],
      ['/', '/boundaries/*'],
    ])
    return {
      name: `custom-${number}`,
      displayName: `Custom ${number}`,
      description: '',
      actions: this.patterns(4),
      notActions: this.patterns(2),
      dataActions: this.patterns(3),
      notDataActions: this.patterns(1),
      assignableScopes,
    }
  }

  expiry(): { expiresAt?: number } {
    return this.random.chance(0.3) ? { expiresAt: NOW + this.random.below(5) - 2 } : {}
  }

  assignment(): Assignment {
    const roleName = this.random.chance(0.05) ? 'Nobody knows it' : this.random.pick(this.roles).displayName
    const principalId = this.random.pick(this.principalIds)
    const scope = this.random.pick(this.scopes)
    return { id: this.random.uuid(), principalId, principalType: 'User', roleName, scope, ...this.expiry() }
  }

  deny(): Deny {
    return {
      id: this.random.uuid(),
      principal: this.random.chance(0.25) ? 'everyone' : { id: this.random.pick(this.principalIds) },
      excludedPrincipalIds: this.random.chance(0.3) ? this.random.some(this.principalIds, 2) : [],
      actions: this.patterns(2),
      dataActions: this.patterns(2),
      scope: this.random.pick(this.scopes),
      ...this.expiry(),
    }
  }

  /** Groups contain each other freely, including loops and themselves. */
  group(id: string): PrincipalGroup {
    return { id, memberIds: this.random.some(this.principalIds, 4) }
  }

  trust(): Trust {
    const actions = this.random.some([...ACTION_NAMES, ...OPEN_ACTIONS], 3)
    actions.push(...this.random.some(FREQUENT_ACTIONS, 5))
    const [boundaryId, trustedBoundaryId] = [this.random.pick(this.boundaryIds), this.random.pick(this.boundaryIds)]
    return {
      id: this.random.uuid(),
      boundaryId,
      trustedBoundaryId,
      actions,
      bidirectional: this.random.chance(0.5),
      ...this.expiry(),
    }
  }

  policy(): NaivePolicy {
    const many = <T>(most: number, one: () => T): T[] => Array.from({ length: this.random.below(most + 1) }, one)
    return {
      roles: this.roles,
      assignments: many(30, () => this.assignment()),
      denies: many(3, () => this.deny()),
      groups: this.groupIds.map((id) => this.group(id)),
      trusts: many(4, () => this.trust()),
    }
  }

  action(): string {
    if (this.random.chance(0.4)) return this.random.pick(FREQUENT_ACTIONS)
    return this.random.chance(0.1) ? this.random.pick(OPEN_ACTIONS) : this.random.pick(ACTION_NAMES)
  }

  /** A scope that records may name, or a similar one that none names. */
  scope(): string {
    const scope = this.random.pick(this.scopes)
    if (this.random.chance(0.8) || !scope.includes('/resources/')) return scope
    return scope.replace(/[^/]+$/, this.random.pick(['a', 'a11', 'other']))
  }
}

export function indexOf(policy: NaivePolicy): PolicyIndex {
  const index = new PolicyIndex()
  for (const role of policy.roles) index.upsertRole(role)
  for (const assignment of policy.assignments) index.upsertAssignment(assignment)
  for (const deny of policy.denies) index.upsertDeny(deny)
  for (const group of policy.groups) index.upsertGroup(group)
  for (const trust of policy.trusts) index.upsertTrust(trust)
  return index
}
