import type { StatusOf } from '../../crds/define.ts'
import type { RelationalCluster } from '../../crds/relational.ts'

type Status = StatusOf<typeof RelationalCluster>
type Gaps = NonNullable<Status['archivingGaps']>

/** What CloudNativePG says of a Cluster, as far as anything of ours depends on it. */
export type EngineView = {
  phase: string | undefined
  readyInstances: number
  currentPrimary: string | undefined
  conditions: readonly { type: string; status: string; message?: string; lastTransitionTime?: string }[]
}

export type Recovery = {
  archiving: NonNullable<Status['archiving']>
  archivingMessage: string | undefined
  /** Since when nothing more is archived; undefined while it is. */
  stoppedAt: string | undefined
}

/**
 * Whether the log is archived, from the condition ContinuousArchiving. Suspended is what was asked for, whatever the
 * condition still says; before the first file was archived nothing is known to be wrong.
 */
export function recoveryOf(input: {
  isBackedUp: boolean
  isSuspended: boolean
  engine: EngineView | undefined
  previous: Pick<Status, 'archivingStoppedAt'>
  now: string
}): Recovery {
  const { isBackedUp, isSuspended, engine, previous, now } = input
  if (!isBackedUp) return { archiving: 'Disabled', archivingMessage: undefined, stoppedAt: undefined }
  const since = previous.archivingStoppedAt ?? now
  if (isSuspended) return { archiving: 'Suspended', archivingMessage: undefined, stoppedAt: since }
  const condition = engine?.conditions.find(({ type }) => type === 'ContinuousArchiving')
  if (condition?.status !== 'False') return { archiving: 'Healthy', archivingMessage: undefined, stoppedAt: undefined }
  return {
    archiving: 'Failing',
    archivingMessage: condition.message,
    stoppedAt: condition.lastTransitionTime ?? since,
  }
}

/**
 * Times of which nothing can be restored. One opens when the archive is suspended, and it closes with the first base
 * backup that was begun after the archive went on: the log of before has a hole. Gaps before the window are forgotten.
 */
export function archivingGaps(input: {
  previous: Pick<Status, 'archivingGaps' | 'archivingStoppedAt'>
  isSuspended: boolean
  now: string
  /** When completed base backups began. */
  basesStartedAt: readonly string[]
  firstRecoverableAt: string | undefined
}): Gaps {
  const { previous, isSuspended, now, basesStartedAt, firstRecoverableAt } = input
  const gaps: Gaps = [...(previous.archivingGaps ?? [])]
  const open = gaps.at(-1)
  if (isSuspended && (open === undefined || open.to !== undefined)) gaps.push({ from: now })
  if (!isSuspended && open !== undefined && open.to === undefined) {
    const base = basesStartedAt.filter((time) => Date.parse(time) > Date.parse(open.from)).sort()[0]
    if (base !== undefined) gaps.splice(-1, 1, { from: open.from, to: base })
  }
  const first = firstRecoverableAt === undefined ? Number.NEGATIVE_INFINITY : Date.parse(firstRecoverableAt)
  return gaps.filter(({ to }) => to === undefined || Date.parse(to) > first)
}
