import { randomUUID } from 'node:crypto'

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

/** An action at the registry, or one that was refused. */
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
  /** What a token permits. */
  readonly granted?: readonly string[] | undefined
}

type AuditedAction = Partial<RegistryAuditEntry> & Pick<RegistryAuditEntry, 'action' | 'actor'>

/** Makes an entry for an action now. Outcome and boundary follow from action and repository unless they are given. */
export function auditEntry(now: number, audited: AuditedAction): RegistryAuditEntry {
  const outcome = audited.action === 'Refused' ? 'Refused' : 'Succeeded'
  const boundary = audited.repository?.split('/')[0]
  return { id: randomUUID(), timestamp: new Date(now).toISOString(), outcome, boundary, ...audited }
}

/** Seconds for which a token is valid; the registry allows another minute for clock skew. */
export const REGISTRY_TOKEN_TTL_SECONDS = 300

/** Whether somebody got a token to push to the entry's repository. */
export const isPushToken = ({ action, granted }: RegistryAuditEntry) =>
  action === 'Token' && granted?.includes('push') === true

/**
 * Returns whose share of the audit an entry takes. Removals by the platform take none: a boundary whose share is used up
 * must not keep its images, nor fail the run that removes those of all.
 */
export const auditPartyOf = ({ action, boundary = '' }: RegistryAuditEntry) => (action === 'Retain' ? '' : boundary)
