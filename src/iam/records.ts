/**
 * What the evaluator is told. Plain values, so that whoever reads custom resources decides first which of them count:
 * an assignment outside the boundary of its namespace, or of an earlier incarnation of its scope, never comes here.
 * Times are milliseconds since the epoch; scopes are canonical texts (core/scope.ts).
 */
export type Assignment = {
  readonly id: string
  readonly principalId: string
  readonly principalType: 'User' | 'Group' | 'ServicePrincipal'
  /** Display name of the role. */
  readonly roleName: string
  /** The life of the role that is meant; absent: whichever role has the name. Of no account for built-in roles. */
  readonly roleIncarnation?: string | undefined
  readonly scope: string
  /** Counts until just before this time; absent: for ever. */
  readonly expiresAt?: number | undefined
  /** The just-in-time request whose approval made it. */
  readonly jitRequestId?: string | undefined
}

export type Deny = {
  readonly id: string
  readonly principal: { readonly id: string } | 'everyone'
  /** People, service principals or groups that the deny spares. */
  readonly excludedPrincipalIds: readonly string[]
  /** Patterns over actions that are not data. */
  readonly actions: readonly string[]
  /** Patterns over data actions. */
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
 * A holder of one of the actions at the trusted boundary holds it in the granting boundary too. Trust does not travel
 * on: what somebody holds through a trust is not trusted by a third boundary.
 */
export type Trust = {
  readonly id: string
  readonly boundaryId: string
  readonly trustedBoundaryId: string
  readonly actions: readonly string[]
  readonly bidirectional: boolean
  readonly expiresAt?: number | undefined
}

export type Reason = 'AllowedByAssignment' | 'AllowedByTrust' | 'DeniedByAssignment' | 'NoAssignment' | 'RootOnly'

export type DecidingGrant = {
  readonly kind: 'RoleAssignment' | 'DenyAssignment' | 'JitRequest' | 'BoundaryTrust'
  readonly id: string
  readonly roleDefinitionName?: string
  readonly scope: string
  /** The group through which it reaches the principal. */
  readonly viaGroupId?: string
  readonly expiresAt?: number
}

export type Decision = { readonly allowed: boolean; readonly reason: Reason; readonly decidedBy?: DecidingGrant }
