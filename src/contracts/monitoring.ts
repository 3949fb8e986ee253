import { uuidV5 } from '../core/ids.ts'

/** What the facade, which is told of alerts, and the controllers, which forget them, agree on (records: monitoring). */

export const ALERT_STATES = ['Firing', 'Resolved'] as const
export type AlertState = (typeof ALERT_STATES)[number]

/** By number, as alerts carry it. The numbers are an order of nothing: 5 is the least urgent. */
export const ALERT_LEVELS = ['Recommendation', 'Information', 'Warning', 'Error', 'Critical', 'Insight'] as const

export const ALERT_LEVEL_MAX = ALERT_LEVELS.length - 1

/** Milliseconds for which an alert is kept once it is resolved. */
export const RESOLVED_KEPT = 30 * 86_400_000

/** Pairs of `metadata` that say where the thing stands that an alert is about. */
export const PLACE_KEYS = { boundary: 'boundaryId', group: 'resourceGroup' } as const
/** The pair that says what to do. */
export const RUNBOOK_KEY = 'runbookUrl'

/** What tells two alerts apart that stand in one place. */
export type AlertIdentity = { alertId: string; resourceType: string; resourceName: string }

/**
 * The name of the object of an alert, and so its id: the same for whoever is told of it again. Names of resources are unique in
 * their group only, so that the group is part of it; the boundary is the namespace.
 */
export function alertObjectName({ alertId, resourceType, resourceName }: AlertIdentity, resourceGroup = ''): string {
  return uuidV5(`alert/${JSON.stringify([alertId, resourceType, resourceName, resourceGroup])}`)
}

export function isSameAlert(one: AlertIdentity, other: AlertIdentity): boolean {
  return (
    one.alertId === other.alertId && one.resourceType === other.resourceType && one.resourceName === other.resourceName
  )
}

/** How often and when REST was told of an alert. */
export type Told = { times: number; lastAt: string; resolvedAt?: string | undefined }

/** The same after it was told of once more. What is resolved already stays resolved since then. */
export function toldAgain(before: Omit<Told, 'lastAt'> | undefined, status: AlertState, now: string): Told {
  const times = (before?.times ?? 0) + (status === 'Firing' ? 1 : 0)
  return { times, lastAt: now, ...(status === 'Resolved' && { resolvedAt: before?.resolvedAt ?? now }) }
}

type Seen = { firstSeenAt: string; lastSeenAt: string; resolvedAt: string | undefined; occurrences: number }
type AlertFacts = {
  metadata: { creationTimestamp?: string | undefined; generation?: number | undefined }
  spec: { status: AlertState; told?: Told | undefined }
  status?:
    | {
        firstSeenAt?: string | undefined
        lastSeenAt?: string | undefined
        resolvedAt?: string | undefined
        occurrences?: number | undefined
        observedGeneration?: number | undefined
      }
    | undefined
}

/**
 * When and how often an alert was seen. What REST was told of says it itself; what was written by kubectl is seen whenever
 * somebody changes it.
 */
export function seenOf({ metadata, spec, status = {} }: AlertFacts, now: string): Seen {
  const { told } = spec
  const created = metadata.creationTimestamp ?? now
  const isChanged = status.observedGeneration !== undefined && status.observedGeneration !== metadata.generation
  const lastSeenAt = told?.lastAt ?? (isChanged ? now : (status.lastSeenAt ?? created))
  const resolvedAt = told?.resolvedAt ?? status.resolvedAt ?? lastSeenAt
  return {
    firstSeenAt: status.firstSeenAt ?? created,
    lastSeenAt,
    resolvedAt: spec.status === 'Resolved' ? resolvedAt : undefined,
    occurrences: told?.times ?? status.occurrences ?? 1,
  }
}
