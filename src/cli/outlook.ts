/** What a record says of its own future: whether waiting for it has an end. */
export type Outlook = 'settled' | 'underWay' | 'failed'

const UNDER_WAY = [
  ...['Queued', 'Pending', 'Provisioning', 'Installing', 'Updating', 'Upgrading', 'Deleting'],
  'Degraded',
]
const FAILED = ['Failed', 'PartiallyFailed', 'TimedOut']

/**
 * Things without a status are as they are. What ends by itself, such as a job, is under way until it has ended, or waits for
 * somebody.
 */
export function outlookOf(record: unknown): Outlook {
  const { completedAt, finishedAt } = (record ?? {}) as Record<string, unknown>
  const status = statusOf(record)
  if (status === undefined) return 'settled'
  if (FAILED.includes(status)) return 'failed'
  if (status === 'Paused') return 'settled'
  return UNDER_WAY.includes(status) || completedAt === null || finishedAt === null ? 'underWay' : 'settled'
}

/** What most records call their status, and rollouts their state. */
export function statusOf(record: unknown): string | undefined {
  const { status, state } = (record ?? {}) as { status?: unknown; state?: unknown }
  return [status, state].find((word) => typeof word === 'string')
}

/** `Updating: Two of three peers are ready.`, and of what says no more than its phase, `Failed: NameOccupied`. */
export function statusLine(record: unknown): string {
  const status = statusOf(record) ?? 'there'
  const { statusMessage, phase } = (record ?? {}) as { statusMessage?: unknown; phase?: unknown }
  const isFine = ['Running', 'Succeeded', status].includes(String(phase)) || phase === 'Available'
  const reason = [statusMessage, isFine ? undefined : phase].find((text) => typeof text === 'string' && text !== '')
  return reason === undefined ? status : `${status}: ${reason}`
}

/** Whether the record of a thing that is not well has no field that would say why. */
export function lacksReason(record: unknown): boolean {
  if (typeof record !== 'object' || record === null || 'statusMessage' in record) return false
  const status = statusOf(record)
  return status !== undefined && !['Running', 'Succeeded', 'Stopped'].includes(status)
}

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000 }

/** Milliseconds of `90s`, `10m` or `1h`; undefined for anything else. */
export function duration(text: string): number | undefined {
  const [, count, unit = ''] = /^([1-9]\d{0,5})([smh])$/.exec(text) ?? []
  return count === undefined ? undefined : Number(count) * (UNITS[unit] ?? 0)
}

/** Whether its copies are a field of its own, as those of an app are. */
export function hasReplicas(record: unknown): boolean {
  return typeof ((record ?? {}) as { replicas?: unknown }).replicas === 'number'
}

/** `web 2`: of what is made of components, each of which has copies of its own. */
export function replicasOfComponents(record: unknown): string[] {
  const { components } = (record ?? {}) as { components?: unknown }
  if (!Array.isArray(components)) return []
  return components.flatMap(({ name, replicas }) => (typeof replicas === 'number' ? [`${name} ${replicas}`] : []))
}

/** Whether an autoscaler decides on the copies. */
export function isAutoscaled(record: unknown): boolean {
  return typeof ((record ?? {}) as { minReplicas?: unknown }).minReplicas === 'number'
}
