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

type Told = Partial<RegistryAuditEntry> & Pick<RegistryAuditEntry, 'action' | 'actor'>

/** An entry of what is done now, as it was meant to be and in the boundary of its repository, unless it says otherwise. */
export function auditEntry(now: number, told: Told): RegistryAuditEntry {
  const outcome = told.action === 'Refused' ? 'Refused' : 'Succeeded'
  const boundary = told.repository?.split('/')[0]
  return { id: randomUUID(), timestamp: new Date(now).toISOString(), outcome, boundary, ...told }
}

/** For how long a token is good at the registry, which allows clocks a minute beyond. */
export const TOKEN_SECONDS = 300

/** Whose repositories somebody got a token to push to. */
export const isPushToken = ({ action, granted }: RegistryAuditEntry) =>
  action === 'Token' && granted?.includes('push') === true
