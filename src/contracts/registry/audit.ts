export const AUDIT_ACTIONS = [
  'MintBoundary',
  'MintBuild',
  'Token',
  'Push',
  'Pull',
  'Delete',
  'Pin',
  'Unpin',
  'Retain',
  'Refused',
] as const
export const AUDIT_OUTCOMES = ['Succeeded', 'Refused', 'Failed'] as const

/** What was done at the registry, or asked for and refused. */
export type RegistryAuditEntry = {
  readonly id: string
  readonly timestamp: string
  readonly action: (typeof AUDIT_ACTIONS)[number]
  readonly outcome: (typeof AUDIT_OUTCOMES)[number]
  /** Id of the principal; the platform's own name; `anonymous`. */
  readonly actor: string
  readonly boundary?: string | undefined
  readonly repository?: string | undefined
  readonly tag?: string | undefined
  readonly digest?: string | undefined
  readonly remoteAddress?: string | undefined
  readonly detail?: string | undefined
  readonly correlationId?: string | undefined
  /** Of a token: what it opens. */
  readonly granted?: readonly string[] | undefined
}

/** For how long a token is good at the registry, which allows clocks a minute beyond. */
export const TOKEN_SECONDS = 300

/** Whose repositories somebody got a token to push to. */
export const isPushToken = ({ action, granted }: RegistryAuditEntry) =>
  action === 'Token' && granted?.includes('push') === true
