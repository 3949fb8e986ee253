/** Whether the status of a record will still change by itself. */
export type SettleState = 'settled' | 'underWay' | 'failed'

const PENDING_STATUSES = [
  ...['Queued', 'Pending', 'Provisioning', 'Installing', 'Updating', 'Upgrading', 'Deleting'],
  'Degraded',
]
const FAILED_STATUSES = ['Failed', 'PartiallyFailed', 'TimedOut']

/** A record without status is settled. One with an end, such as a job, is under way until it has ended or is paused. */
export function settleStateOf(record: unknown): SettleState {
  const { completedAt, finishedAt } = (record ?? {}) as Record<string, unknown>
  const status = statusOf(record)
  if (status === undefined) return 'settled'
  if (FAILED_STATUSES.includes(status)) return 'failed'
  if (status === 'Paused') return 'settled'
  return PENDING_STATUSES.includes(status) || completedAt === null || finishedAt === null ? 'underWay' : 'settled'
}

/** Most records have a status, rollouts a state. */
export function statusOf(record: unknown): string | undefined {
  const { status, state } = (record ?? {}) as { status?: unknown; state?: unknown }
  return [status, state].find((word) => typeof word === 'string')
}

/** Returns `Updating: Two of three peers are ready.`; without a message, the phase: `Failed: NameOccupied`. */
export function statusLine(record: unknown): string {
  const status = statusOf(record) ?? 'there'
  const { statusMessage, phase } = (record ?? {}) as { statusMessage?: unknown; phase?: unknown }
  const isFine = ['Running', 'Succeeded', status].includes(String(phase)) || phase === 'Available'
  const reason = [statusMessage, isFine ? undefined : phase].find((text) => typeof text === 'string' && text !== '')
  return reason === undefined ? status : `${status}: ${reason}`
}

/** Whether a record that is not healthy has no field for the reason. */
export function lacksReason(record: unknown): boolean {
  if (typeof record !== 'object' || record === null || 'statusMessage' in record) return false
  const status = statusOf(record)
  return status !== undefined && !['Running', 'Succeeded', 'Stopped'].includes(status)
}

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000 }

/** Parses `90s`, `10m` or `1h` to milliseconds; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit = ''] = /^([1-9]\d{0,5})([smh])$/.exec(text) ?? []
  return count === undefined ? undefined : Number(count) * (UNITS[unit] ?? 0)
}

/** Whether the replicas are a field of the record, as for an app. */
export function hasReplicas(record: unknown): boolean {
  return typeof ((record ?? {}) as { replicas?: unknown }).replicas === 'number'
}

/** Returns the replicas per component, such as `web 2`. */
export function replicasOfComponents(record: unknown): string[] {
  const { components } = (record ?? {}) as { components?: unknown }
  if (!Array.isArray(components)) return []
  return components.flatMap(({ name, replicas }) => (typeof replicas === 'number' ? [`${name} ${replicas}`] : []))
}

/** Whether an autoscaler sets the replicas. */
export function isAutoscaled(record: unknown): boolean {
  return typeof ((record ?? {}) as { minReplicas?: unknown }).minReplicas === 'number'
}
