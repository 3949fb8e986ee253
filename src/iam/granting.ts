import { isReadable } from '../core/actionPatterns.ts'
import { ACTIONS, type ActionName } from '../core/actions.ts'
import { parseScope } from '../core/scope.ts'
import { actionNames, compilePermissions, type Permissions } from './permissions.ts'
import { isAssignableAtRoot, isRootOnly, type Role } from './roles.ts'

/** What the granter holds, as the evaluator answers it. */
export type Holdings = {
  holdsAll(principalId: string, permissions: Permissions, scope: string): boolean
  rolesAt(principalId: string, scope: string): readonly string[]
}

export type Grant = {
  granterId: string
  /** Everybody who gains by it: the principal, or the members of a group however deep. */
  gainerIds: ReadonlySet<string>
  role: Role
  scope: string
}

export type GrantRefusal =
  /** The role cannot be assigned at the scope, or only by an Owner or Platform Owner at `/`. */
  | { readonly kind: 'RootOnly' }
  /** The granter lacks these actions at the scope or somewhere below it. */
  | { readonly kind: 'ExceedsGranter'; readonly actions: readonly string[] }

/** The words of refusals, for REST, for the webhook and for the admission policy that stands before it. */
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
 * Why a role may not be given; undefined if it may. Nobody gives what they do not hold at the scope and everywhere
 * below it. The one exception is a Platform Owner at `/`, who may give any role to others and never to themselves, nor
 * to a group that they are in. That the granter holds the grant action itself is asked before.
 */
export function refusalOf({ granterId, gainerIds, role, scope }: Grant, holdings: Holdings): GrantRefusal | undefined {
  if (isRootOnly(role)) {
    const isGranter = holdings.rolesAt(granterId, ROOT).some((name) => ROOT_GRANTERS.includes(name))
    if (scope !== ROOT || !isGranter) return { kind: 'RootOnly' }
  }
  if (scope === ROOT && !isAssignableAtRoot(role)) return { kind: 'RootOnly' }
  // What a correction would make of it, nobody can hold yet.
  if (!isReadable(role)) return { kind: 'ExceedsGranter', actions: [...role.actions, ...role.dataActions] }
  const isPlatformOwner = holdings.rolesAt(granterId, ROOT).includes(PLATFORM_OWNER)
  if (isPlatformOwner && !gainerIds.has(granterId)) return undefined
  if (holdings.holdsAll(granterId, role, scope)) return undefined
  return { kind: 'ExceedsGranter', actions: missingActions(granterId, role, scope, holdings) }
}

function missingActions(granterId: string, role: Role, scope: string, holdings: Holdings): string[] {
  const granted = compilePermissions(role)
  const set = parseScope(scope)?.level === 'root' ? granted.atRoot : granted.belowRoot
  const lacks = (name: string) => !holdings.holdsAll(granterId, only(name), scope)
  const missing: string[] = actionNames(set).filter(lacks)
  // What gateways ask about has no place among the actions: its patterns stand for it.
  return missing.length > 0 ? missing : [...role.actions, ...role.dataActions]
}

const DATA = new Set<string>(ACTIONS.filter(({ isData }) => isData).map(({ name }) => name satisfies ActionName))

function only(name: string): Permissions {
  const empty = { actions: [], notActions: [], dataActions: [], notDataActions: [] }
  return DATA.has(name) ? { ...empty, dataActions: [name] } : { ...empty, actions: [name] }
}
