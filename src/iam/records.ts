/**
 * The input of the evaluator. These are plain values: the reader of the custom resources first decides which of them
 * count, so assignments outside the boundary of their namespace, or of an earlier incarnation of their scope, never get
 * here. Times are milliseconds since the epoch; scopes are canonical texts (core/scope.ts).
 */
export type Assignment = {
  readonly id: string
  readonly principalId: string
  readonly principalType: 'User' | 'Group' | 'ServicePrincipal'
  /** Display name of the role. */
  readonly roleName: string
  /** The incarnation of the role; if absent, any role of this name. Ignored for built-in roles. */
  readonly roleIncarnation?: string | undefined
  readonly scope: string
  /** When it expires (exclusive); never if absent. */
  readonly expiresAt?: number | undefined
  /** The just-in-time request whose approval created it. */
  readonly jitRequestId?: string | undefined
}

export type Deny = {
  readonly id: string
  readonly principal: { readonly id: string } | 'everyone'
  /** People, service principals or groups that the deny exempts. */
  readonly excludedPrincipalIds: readonly string[]
  /** Patterns for actions that are not data actions. */
  readonly actions: readonly string[]
  /** Patterns for data actions. */
  readonly dataActions: readonly string[]
  readonly scope: string
  readonly expiresAt?: number | undefined
}

export type PrincipalGroup = {
  readonly id: string
  /** People, service principals and other groups. */
  readonly memberIds: readonly string[]
}

/**
 * Whoever holds one of the actions in the trusted boundary also holds it in the granting boundary. Trust is not
 * transitive: a third boundary does not honour what somebody holds through a trust.
 */
export type Trust = {
  readonly id: string
  readonly boundaryId: string
  readonly trustedBoundaryId: string
  readonly actions: readonly string[]
  readonly bidirectional: boolean
  readonly expiresAt?: number | undefined
}

export type DecisionReason =
  | 'AllowedByAssignment'
  | 'AllowedByTrust'
  | 'DeniedByAssignment'
  | 'NoAssignment'
  | 'RootOnly'

export type DecidingGrant = {
  readonly kind: 'RoleAssignment' | 'DenyAssignment' | 'JitRequest' | 'BoundaryTrust'
  readonly id: string
  readonly roleDefinitionName?: string
  readonly scope: string
  /** The group through which the grant applies to the principal. */
  readonly viaGroupId?: string
  readonly expiresAt?: number
}

export type Decision = {
  readonly allowed: boolean
  readonly reason: DecisionReason
  readonly decidedBy?: DecidingGrant
}
