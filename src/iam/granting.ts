import { arePatternsValid } from '../core/actionPatterns.ts'
import { ACTIONS, type ActionName } from '../core/actions.ts'
import { parseScope } from '../core/scope.ts'
import { actionNames, compilePermissions, type Permissions } from './permissions.ts'
import { isAssignableAtRoot, isRootOnly, type Role } from './roles.ts'

/** What the granter holds, according to the evaluator. */
export type Holdings = {
  holdsAll(principalId: string, permissions: Permissions, scope: string): boolean
  rolesAt(principalId: string, scope: string): readonly string[]
}

export type ProposedGrant = {
  granterId: string
  /** Everybody who gains access: the principal, or all direct and nested members of the group. */
  gainerIds: ReadonlySet<string>
  role: Role
  scope: string
}

export type GrantRefusal =
  /** The role cannot be assigned at the scope, or only by an Owner or Platform Owner at `/`. */
  | { readonly kind: 'RootOnly' }
  /** The granter lacks these actions at the scope or somewhere below it. */
  | { readonly kind: 'ExceedsGranter'; readonly actions: readonly string[] }

/** Messages of refusals, shared by REST, the webhook and the admission policy in front of it. */
export const GRANT_REFUSALS = {
  unreadable: (role: string) => `The role "${role}" has an invalid pattern, so it grants nothing: see its condition.`,
  unknown: (role: string) => `There is no role "${role}": names must match exactly.`,
  rootOnly: (role: string, scope: string) => `The role "${role}" exists at the platform root only, not at ${scope}.`,
  notYoursAtRoot: (role: string) => `Only Owners and Platform Owners of the root may assign the role "${role}" there.`,
  exceeding: (role: string, scope: string) => `The role "${role}" has actions that you do not have at all of ${scope}.`,
} as const

const ROOT = '/'
const PLATFORM_OWNER = 'Platform Owner'
const ROOT_GRANTERS: readonly string[] = ['Owner', PLATFORM_OWNER]

/**
 * Returns why a role may not be granted, or undefined if it may. Nobody may grant what they do not hold at the scope
 * and everywhere below. A Platform Owner at `/` may grant any role to others, but not to themselves or to a group of
 * theirs. The caller has already checked that the granter holds the grant action.
 */
export function findGrantRefusal(
  { granterId, gainerIds, role, scope }: ProposedGrant,
  holdings: Holdings,
): GrantRefusal | undefined {
  if (isRootOnly(role)) {
    const isGranter = holdings.rolesAt(granterId, ROOT).some((name) => ROOT_GRANTERS.includes(name))
    if (scope !== ROOT || !isGranter) return { kind: 'RootOnly' }
  }
  if (scope === ROOT && !isAssignableAtRoot(role)) return { kind: 'RootOnly' }
  // Nobody can hold the role yet, because nobody knows what it will grant once its patterns are corrected.
  if (!arePatternsValid(role)) return { kind: 'ExceedsGranter', actions: [...role.actions, ...role.dataActions] }
  const isPlatformOwner = holdings.rolesAt(granterId, ROOT).includes(PLATFORM_OWNER)
  if (isPlatformOwner && !gainerIds.has(granterId)) return undefined
  if (holdings.holdsAll(granterId, role, scope)) return undefined
  return { kind: 'ExceedsGranter', actions: missingActions(granterId, role, scope, holdings) }
}

function missingActions(granterId: string, role: Role, scope: string, holdings: Holdings): string[] {
  const granted = compilePermissions(role)
  const set = parseScope(scope)?.level === 'root' ? granted.atRoot : granted.belowRoot
  const lacks = (name: string) => !holdings.holdsAll(granterId, singlePermission(name), scope)
  const missing: string[] = actionNames(set).filter(lacks)
  // Open actions are not listed in ACTIONS, so report the patterns of the role instead.
  return missing.length > 0 ? missing : [...role.actions, ...role.dataActions]
}

const DATA_ACTIONS = new Set<string>(
  ACTIONS.filter(({ isData }) => isData).map(({ name }) => name satisfies ActionName),
)

function singlePermission(name: string): Permissions {
  const empty = { actions: [], notActions: [], dataActions: [], notDataActions: [] }
  return DATA_ACTIONS.has(name) ? { ...empty, dataActions: [name] } : { ...empty, actions: [name] }
}
