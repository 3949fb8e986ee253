import { DAY_MS } from '../core/clock.ts'
import { uuidV5 } from '../core/ids.ts'

/** What the facade, which receives alerts, and the controllers, which delete them, share (records: monitoring). */

export const ALERT_STATES = ['Firing', 'Resolved'] as const
export type AlertState = (typeof ALERT_STATES)[number]

/** Levels by number, as alerts carry it. The numbers are no order: 5 is the least urgent. */
export const ALERT_LEVELS = ['Recommendation', 'Information', 'Warning', 'Error', 'Critical', 'Insight'] as const

export const ALERT_LEVEL_MAX = ALERT_LEVELS.length - 1

/** Milliseconds for which a resolved alert is kept. */
export const RESOLVED_ALERT_TTL_MS = 30 * DAY_MS

/** Resolved alerts that a boundary keeps: each pod that fails has a name, and so an alert, of its own. */
export const RESOLVED_ALERTS_MAX = 1_000

/** Keys of `metadata` that name the boundary and the group of the thing that an alert is about. */
export const SCOPE_KEYS = { boundary: 'boundaryId', group: 'resourceGroup' } as const
/** Key of `metadata` with the instructions for an alert. */
export const RUNBOOK_KEY = 'runbookUrl'

/** What distinguishes two alerts in one place. */
export type AlertIdentity = { alertId: string; resourceType: string; resourceName: string }

/**
 * Returns the object name of an alert, which is its id: the same for every report of it. Names of resources are unique
 * only within their group, so the group is part of it; the boundary is the namespace.
 */
export function alertObjectName({ alertId, resourceType, resourceName }: AlertIdentity, resourceGroup = ''): string {
  return uuidV5(`alert/${JSON.stringify([alertId, resourceType, resourceName, resourceGroup])}`)
}

export function isSameAlert(one: AlertIdentity, other: AlertIdentity): boolean {
  return (
    one.alertId === other.alertId && one.resourceType === other.resourceType && one.resourceName === other.resourceName
  )
}

/** How often and when an alert was reported by REST. */
export type AlertReports = { times: number; lastAt: string; resolvedAt?: string | undefined }

/** Adds one report. An alert that is resolved already keeps its time of resolution. */
export function addAlertReport(
  before: Omit<AlertReports, 'lastAt'> | undefined,
  status: AlertState,
  now: string,
): AlertReports {
  const times = (before?.times ?? 0) + (status === 'Firing' ? 1 : 0)
  return { times, lastAt: now, ...(status === 'Resolved' && { resolvedAt: before?.resolvedAt ?? now }) }
}

type AlertTimes = { firstSeenAt: string; lastSeenAt: string; resolvedAt: string | undefined; occurrences: number }
type AlertFacts = {
  metadata: { creationTimestamp?: string | undefined; generation?: number | undefined }
  spec: { status: AlertState; told?: AlertReports | undefined }
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
 * Returns when and how often an alert was seen. An alert from REST carries this itself; one written with kubectl is
 * seen whenever somebody changes it.
 */
export function alertOccurrencesOf({ metadata, spec, status = {} }: AlertFacts, now: string): AlertTimes {
  const { told: reports } = spec
  const created = metadata.creationTimestamp ?? now
  const isChanged = status.observedGeneration !== undefined && status.observedGeneration !== metadata.generation
  const lastSeenAt = reports?.lastAt ?? (isChanged ? now : (status.lastSeenAt ?? created))
  const resolvedAt = reports?.resolvedAt ?? status.resolvedAt ?? lastSeenAt
  return {
    firstSeenAt: status.firstSeenAt ?? created,
    lastSeenAt,
    resolvedAt: spec.status === 'Resolved' ? resolvedAt : undefined,
    occurrences: reports?.times ?? status.occurrences ?? 1,
  }
}
