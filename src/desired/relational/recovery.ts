import type { StatusOf } from '../../crds/define.ts'
import type { RelationalCluster } from '../../crds/relational.ts'

type Status = StatusOf<typeof RelationalCluster>
type Gaps = NonNullable<Status['archivingGaps']>

/** The fields of a CloudNativePG Cluster that are read. */
export type EngineView = {
  phase: string | undefined
  readyInstances: number
  currentPrimary: string | undefined
  conditions: readonly { type: string; status: string; message?: string; lastTransitionTime?: string }[]
}

export type Recovery = {
  archiving: NonNullable<Status['archiving']>
  archivingMessage: string | undefined
  /** Since when WAL archiving is interrupted; undefined while it works. */
  stoppedAt: string | undefined
}

/**
 * Judges WAL archiving by the condition ContinuousArchiving. A requested suspension wins over the condition. Before the
 * first file is archived, archiving counts as healthy.
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
 * Tracks periods that cannot be restored. A gap opens when archiving is suspended, and closes with the first base
 * backup begun after archiving resumed, because the WAL before has a hole. Gaps before the recovery window are dropped.
 */
export function archivingGaps(input: {
  previous: Pick<Status, 'archivingGaps' | 'archivingStoppedAt'>
  isSuspended: boolean
  now: string
  /** Start times of completed base backups. */
  basesStartedAt: readonly string[]
  firstRecoverableAt: string | undefined
}): Gaps {
  const { previous, isSuspended, now, basesStartedAt, firstRecoverableAt } = input
  const gaps: Gaps = [...(previous.archivingGaps ?? [])]
  const openGap = gaps.at(-1)
  if (isSuspended && (openGap === undefined || openGap.to !== undefined)) gaps.push({ from: now })
  if (!isSuspended && openGap !== undefined && openGap.to === undefined) {
    const base = basesStartedAt.filter((time) => Date.parse(time) > Date.parse(openGap.from)).sort()[0]
    if (base !== undefined) gaps.splice(-1, 1, { from: openGap.from, to: base })
  }
  const first = firstRecoverableAt === undefined ? Number.NEGATIVE_INFINITY : Date.parse(firstRecoverableAt)
  return gaps.filter(({ to }) => to === undefined || Date.parse(to) > first)
}
