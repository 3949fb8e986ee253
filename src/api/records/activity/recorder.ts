import type { ActivityStore, ObservedAction, ResourcePath } from '../../../adapters/activity/port.ts'
import type { Clock } from '../../../core/clock.ts'
import { messageOf } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import { createLruCache } from '../../../core/lruCache.ts'
import { mapConcurrently } from '../../../core/mapConcurrently.ts'
import { SharedSlots } from '../../../core/sharedSlots.ts'

/** Milliseconds for which entries are gathered: many of one resource cost one write. */
const FLUSH_DELAY_MS = 1_000
const RETRY_DELAY_MS = 5_000
/** Entries that may wait. A boundary may have as many as it leaves to all others. */
const WAITING_MAX = 20_000
/** Entries that are written before boundaries take turns again. */
const BATCH_MAX = 256
/** How many resources are written concurrently. */
const CONCURRENCY_MAX = 4
/** Recorded refusals per caller, resource and hour: refusals must not push out what was really done. */
const REFUSALS_MAX = 100
const HOUR_MS = 3_600_000

export type { ObservedAction, ResourcePath }

type FailedWrite = { readonly group: readonly ActivityReport[]; readonly error: unknown }
export type ActivityReport = { readonly resource: ResourcePath; readonly observed: ObservedAction }
export type RecorderOptions = { store: ActivityStore; clock: Clock; log: Log }

/** Passes entries on to the store; those of requests a moment later, so that no request waits. */
export class ActivityRecorder {
  readonly #options: RecorderOptions
  /** Ids of entries that this process recorded itself, so that the audit log does not repeat them; true if stored. */
  readonly #ownIds = createLruCache<string, boolean>(WAITING_MAX)
  readonly #refusals = createLruCache<string, number>(20_000, HOUR_MS)
  /** By boundary, in the order of their turns. */
  readonly #waiting = new Map<string, ActivityReport[]>()
  readonly #slots = new SharedSlots(WAITING_MAX)
  #timer: { cancel(): void } | undefined
  #writing: Promise<void> | undefined

  constructor(options: RecorderOptions) {
    this.#options = options
  }

  /** Does not wait. Entries lost in a crash are restored from the audit log of the API server, except refusals. */
  note(report: ActivityReport): void {
    if (this.#isOverLimit(report)) return
    if (this.#slots.isFullFor(report.resource.boundaryId)) {
      this.#options.log.error(
        { resource: report.resource },
        'Too many entries of activity wait to be written: one is lost.',
      )
      return
    }
    this.#ownIds.set(report.observed.id, false)
    this.#slots.take(report.resource.boundaryId)
    this.#add(report)
    this.#timer ??= this.#options.clock.setTimeout(() => void this.#flush(), FLUSH_DELAY_MS)
  }

  #add(report: ActivityReport): void {
    const { boundaryId } = report.resource
    const others = this.#waiting.get(boundaryId)
    if (others === undefined) this.#waiting.set(boundaryId, [report])
    else others.push(report)
  }

  /** Returns once all are stored, also those that this process holds itself: it may end at any time. @throws if not */
  async write(all: readonly ActivityReport[]): Promise<void> {
    const isUnwritten = ({ observed }: ActivityReport) => this.#ownIds.get(observed.id) === false
    if (all.some(isUnwritten)) await this.#flush()
    // An entry that can never be written must not block the others.
    const unrecorded = all.filter((report) => !this.#ownIds.has(report.observed.id) && !this.#isOverLimit(report))
    const [failed] = await this.#append(unrecorded)
    if (all.some(isUnwritten)) throw new Error('Entries of requests could not be written yet.')
    if (failed !== undefined) throw failed.error
  }

  /** Appends the entries by resource, a few resources concurrently. @returns what could not be written */
  async #append(all: readonly ActivityReport[]): Promise<FailedWrite[]> {
    const groups = [...Map.groupBy(all, ({ resource }) => JSON.stringify(resource)).values()]
    const failed: FailedWrite[] = []
    await mapConcurrently(CONCURRENCY_MAX, groups, async (group) => {
      const [{ resource }] = group as [ActivityReport]
      const actions = group.map(({ observed }) => observed)
      await this.#options.store.append(resource, actions).catch((error) => failed.push({ group, error }))
    })
    return failed
  }

  /** Writes the waiting entries, without retries. */
  async stop(): Promise<void> {
    this.#timer?.cancel()
    await this.#writing
    await this.#flush(false)
  }

  #flush(isRepeated = true): Promise<void> {
    // Flushes run one after another, so that the promise also covers a write in progress.
    this.#writing = (this.#writing ?? Promise.resolve()).then(() => this.#writeWaiting(isRepeated))
    return this.#writing
  }

  /** Writes as many entries as wait now; those that arrive meanwhile take turns with them. */
  async #writeWaiting(isRepeated: boolean): Promise<void> {
    const { clock } = this.#options
    const failed: ActivityReport[] = []
    for (let left = WAITING_MAX - this.#slots.left; left > 0 && this.#waiting.size > 0; left -= BATCH_MAX)
      failed.push(...(await this.#writeBatch(this.#takeBatch())))
    for (const report of failed) this.#add(report)
    const isAgain = isRepeated && this.#waiting.size > 0
    const delay = failed.length > 0 ? RETRY_DELAY_MS : 0
    this.#timer = isAgain ? clock.setTimeout(() => void this.#flush(), delay) : undefined
  }

  #takeBatch(): ActivityReport[] {
    const batch: ActivityReport[] = []
    while (batch.length < BATCH_MAX && this.#waiting.size > 0)
      for (const [boundaryId, reports] of this.#waiting) {
        batch.push(...reports.splice(0, 1))
        if (reports.length === 0) this.#waiting.delete(boundaryId)
      }
    return batch
  }

  /** @returns the entries that could not be written, which wait again */
  async #writeBatch(batch: readonly ActivityReport[]): Promise<ActivityReport[]> {
    const failed = await this.#append(batch)
    for (const { group, error } of failed)
      this.#options.log.warn(
        { resource: group[0]?.resource, error: messageOf(error) },
        'Activity could not be written; it is tried again.',
      )
    const left = new Set(failed.flatMap(({ group }) => group))
    for (const { resource, observed } of batch.filter((report) => !left.has(report))) {
      this.#ownIds.set(observed.id, true)
      this.#slots.free(resource.boundaryId)
    }
    return [...left]
  }

  #isOverLimit({ resource, observed: { outcome, actor } }: ActivityReport): boolean {
    if (outcome !== 'Refused') return false
    const key = JSON.stringify([resource, actor])
    const count = (this.#refusals.get(key) ?? 0) + 1
    this.#refusals.set(key, count, { noUpdateTTL: true })
    return count > REFUSALS_MAX
  }
}
