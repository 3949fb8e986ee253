import { compareTexts } from '../core/textOrder.ts'
import { ancestorAt } from './matching.ts'
import type { TrustEntry } from './policyIndex.ts'
import { type Denial, type Grant, groupsOf, type PrincipalNode } from './principals.ts'
import type { DecidingGrant } from './records.ts'
import { type ScopeNode, scopeText } from './scopeTree.ts'

/** Orders by widest scope, then direct records before those of groups, then id, so that insertion order never shows. */
export function widestFirst(principal: PrincipalNode): (one: Grant | Denial, other: Grant | Denial) => number {
  const groupDistance = (entry: Grant | Denial) => (entry.principal === principal ? 0 : 1)
  return (one, other) =>
    one.scope.depth - other.scope.depth || groupDistance(one) - groupDistance(other) || compareTexts(one.id, other.id)
}

function describe(kind: DecidingGrant['kind'], entry: Grant | Denial, principal: PrincipalNode): DecidingGrant {
  const isGroup = groupsOf(principal).includes(entry.principal)
  return {
    kind,
    id: entry.id,
    scope: scopeText(entry.scope),
    ...(isGroup && { viaGroupId: entry.principal.id }),
    ...(entry.expiresAt !== undefined && Number.isFinite(entry.expiresAt) && { expiresAt: entry.expiresAt }),
  }
}

export function describeDenial(denial: Denial, principal: PrincipalNode): DecidingGrant {
  return describe('DenyAssignment', denial, principal)
}

export function describeGrant(grant: Grant, principal: PrincipalNode): DecidingGrant {
  const base = describe('RoleAssignment', grant, principal)
  const jit = grant.jitRequestId === undefined ? {} : ({ kind: 'JitRequest', id: grant.jitRequestId } as const)
  return { ...base, ...jit, roleDefinitionName: grant.role.displayName }
}

export function describeTrust(trust: TrustEntry, scopeNode: ScopeNode): DecidingGrant {
  const boundary = ancestorAt(scopeNode, 1)
  const expiry = Number.isFinite(trust.expiresAt) ? { expiresAt: trust.expiresAt } : {}
  return { kind: 'BoundaryTrust', id: trust.id, scope: boundary === undefined ? '/' : scopeText(boundary), ...expiry }
}
