import { COMPONENT_LABEL } from '../../contracts/containerinstances.ts'
import { timestamp } from '../../core/clock.ts'
import { createdAtOf } from '../../core/object.ts'
import { degraded, type Outcome } from '../../core/outcome.ts'
import { isReady, type LivePod, newestPod, templateOf } from './podProblems.ts'

/**
 * Evicted pods. An evicted pod never restarts: its controller replaces it at once, even if the replacement fills its
 * disk again within seconds, and Kubernetes keeps thousands of them.
 */

/** Milliseconds for which an eviction is reported. */
const EVICTION_SHOWN_MS = 3_600_000

/** An ended pod is no replica, and no longer uses the Secrets it read. */
export const hasEnded = ({ status }: LivePod): boolean => status?.phase === 'Failed' || status?.phase === 'Succeeded'

export const isEvicted = ({ status }: LivePod): boolean => status?.phase === 'Failed' && status.reason === 'Evicted'

/** Returns the ended pods to delete: all but the last eviction of each component while it is reported. */
export function endedPodsToDelete(ended: readonly LivePod[], now: number): LivePod[] {
  const shown = new Map<string, LivePod>()
  for (const each of ended) {
    if (!isEvicted(each) || now - endOf(each) >= EVICTION_SHOWN_MS) continue
    const component = each.metadata.labels?.[COMPONENT_LABEL] ?? ''
    const before = shown.get(component)
    if (before === undefined || endOf(before) <= endOf(each)) shown.set(component, each)
  }
  const kept = new Set(shown.values())
  return ended.filter((each) => !kept.has(each) && each.metadata.deletionTimestamp === undefined)
}

export type EvictionNote = { reason: 'CrashLooping' | 'PartiallyAvailable'; message: string; remainingMs: number }

/**
 * Reports the last eviction while it is recent, with the milliseconds until it no longer is.
 *
 * @param subject such as `component "web"`
 */
export function evictionNotes(subject: string, ended: readonly LivePod[], now: number): EvictionNote[] {
  const last = lastEvicted(ended.filter(isEvicted))
  const remainingMs = last === undefined ? 0 : endOf(last) + EVICTION_SHOWN_MS - now
  if (last === undefined || remainingMs <= 0) return []
  return [{ reason: reasonOf(last), message: describeEviction(`A copy of ${subject}`, last), remainingMs }]
}

/** Returns the last eviction if nothing ready has replaced it; during a rollout only the newest template counts. */
export function findEvictionProblem(
  subject: string,
  pods: readonly LivePod[],
  ended: readonly LivePod[],
): Outcome | undefined {
  const last = lastEvicted(ended.filter(isEvicted))
  if (last === undefined) return undefined
  const newest = newestPod(pods) ?? last
  const isBack = pods.some((each) => isReady(each) && Date.parse(createdAtOf(each.metadata)) >= endOf(last))
  if (isBack || templateOf(newest) !== templateOf(last)) return undefined
  return degraded(reasonOf(last), describeEviction(`A copy of ${subject}`, last))
}

function endOf({ status, metadata }: LivePod): number {
  const changed = status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime
  return Date.parse(changed ?? status?.startTime ?? metadata.creationTimestamp ?? '') || 0
}

const lastEvicted = (evicted: readonly LivePod[]) => evicted.toSorted((one, other) => endOf(one) - endOf(other)).at(-1)

const AMOUNT = '"?([0-9][0-9.]*[A-Za-z]*)'
const OVER_LIMIT = new RegExp(
  `exceeds the total limit of containers ${AMOUNT}|exceeded its local ephemeral storage limit ${AMOUNT}`,
)
const OVER_VOLUME = new RegExp(`EmptyDir volume "([a-z0-9-]+)" exceeds the limit ${AMOUNT}`)

/** Whether the pod exceeded its own limit, or its node ran short. */
const reasonOf = ({ status }: LivePod) => (/exceed/.test(status?.message ?? '') ? 'CrashLooping' : 'PartiallyAvailable')

/**
 * Returns when and why a pod was evicted, in our words: the kubelet's message reveals what other pods on the node use.
 *
 * @param subject start of the sentence, such as `Its container`
 */
export function describeEviction(subject: string, pod: LivePod): string {
  return `${subject} was evicted at ${timestamp(endOf(pod))}: ${causeOf(pod.status?.message ?? '')}.`
}

function causeOf(message: string): string {
  const [, volume, size] = OVER_VOLUME.exec(message) ?? []
  if (volume !== undefined) return `its volume "${volume}" holds more than ${size}`
  const [, ofPod, ofContainer] = OVER_LIMIT.exec(message) ?? []
  if (ofPod !== undefined || ofContainer !== undefined)
    return `it wrote more to the disk than its limit of ${ofPod ?? ofContainer}`
  if (message.includes('low on resource: memory')) return 'its node ran short of memory'
  if (/low on resource: (ephemeral-storage|inodes)/.test(message)) return 'the disk of its node is full'
  return 'its node could not keep it'
}
