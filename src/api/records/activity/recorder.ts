import type { ActivityStore, ResourcePath, Sighting } from '../../../adapters/activity/port.ts'
import type { Clock } from '../../../core/clock.ts'
import { messageOf } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import { recentlyUsed } from '../../../core/recentlyUsed.ts'

/** Milliseconds that entries are gathered: many of one resource cost one write. */
const GATHERED = 1_000
const AGAIN = 5_000
const WAITING_MAX = 20_000
/** Resources that are written at once. */
const AT_ONCE = 4
/** Refusals of one caller at one resource in an hour: others must not push out what was really done. */
const REFUSALS_MAX = 100
const HOUR = 3_600_000

export type { ResourcePath, Sighting }

type Unwritten = { readonly group: readonly Told[]; readonly error: unknown }
export type Told = { readonly resource: ResourcePath; readonly sighting: Sighting }
export type RecorderOptions = { store: ActivityStore; clock: Clock; log: Log }

/** Hands entries on to the store, those of requests a moment later: nobody waits for them. */
export class ActivityRecorder {
  readonly #options: RecorderOptions
  /** What this process tells itself, so that the same from elsewhere is no news; false until it is kept. */
  readonly #own = recentlyUsed<string, boolean>(WAITING_MAX)
  readonly #refusals = recentlyUsed<string, number>(20_000, HOUR)
  #waiting: Told[] = []
  #timer: { cancel(): void } | undefined
  #writing: Promise<void> | undefined

  constructor(options: RecorderOptions) {
    this.#options = options
  }

  /** Without waiting. What a crash takes with it, the audit log of the API server tells, unless it was a refusal. */
  note(told: Told): void {
    if (this.#isTooMuch(told)) return
    if (this.#waiting.length >= WAITING_MAX) {
      this.#options.log.error(
        { resource: told.resource },
        'Too many entries of activity wait to be written: one is lost.',
      )
      return
    }
    this.#own.set(told.sighting.id, false)
    this.#waiting.push(told)
    this.#timer ??= this.#options.clock.setTimeout(() => void this.#flush(), GATHERED)
  }

  /** Returns once all are kept, those too that this process tells itself: it may end at any moment. @throws if they could not be */
  async write(all: readonly Told[]): Promise<void> {
    const isUnwritten = ({ sighting }: Told) => this.#own.get(sighting.id) === false
    if (all.some(isUnwritten)) await this.#flush()
    // One that can never be written must not keep the others from being kept.
    const news = all.filter((told) => !this.#own.has(told.sighting.id) && !this.#isTooMuch(told))
    const [failed] = await this.#append(news)
    if (all.some(isUnwritten)) throw new Error('Entries of requests could not be written yet.')
    if (failed !== undefined) throw failed.error
  }

  /** Resource by resource, some at once. @returns what could not be written */
  async #append(all: readonly Told[]): Promise<Unwritten[]> {
    const groups = Map.groupBy(all, ({ resource }) => JSON.stringify(resource)).values()
    const failed: Unwritten[] = []
    const work = async () => {
      // All work on one iterator, which gives each group to one of them.
      for (const group of groups) {
        const [{ resource }] = group as [Told]
        const sightings = group.map(({ sighting }) => sighting)
        await this.#options.store.append(resource, sightings).catch((error) => failed.push({ group, error }))
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
    return failed
  }

  /** Writes what waits. */
  async stop(): Promise<void> {
    this.#timer?.cancel()
    await this.#writing
    await this.#flush(false)
  }

  #flush(isRepeated = true): Promise<void> {
    // One after the other: what is being written when it is asked for is written when it returns.
    this.#writing = (this.#writing ?? Promise.resolve()).then(() => this.#once(isRepeated))
    return this.#writing
  }

  async #once(isRepeated: boolean): Promise<void> {
    const { clock, log } = this.#options
    const noted = this.#waiting.splice(0)
    const failed = await this.#append(noted)
    const left = new Set(failed.flatMap(({ group }) => group))
    for (const { group, error } of failed)
      log.warn(
        { resource: group[0]?.resource, error: messageOf(error) },
        'Activity could not be written; it is tried again.',
      )
    for (const { sighting } of noted.filter((told) => !left.has(told))) this.#own.set(sighting.id, true)
    this.#waiting.push(...noted.filter((told) => left.has(told)))
    const isAgain = isRepeated && this.#waiting.length > 0
    this.#timer = isAgain ? clock.setTimeout(() => void this.#flush(), AGAIN) : undefined
  }

  #isTooMuch({ resource, sighting: { outcome, actor } }: Told): boolean {
    if (outcome !== 'Refused') return false
    const key = JSON.stringify([resource, actor])
    const count = (this.#refusals.get(key) ?? 0) + 1
    this.#refusals.set(key, count, { noUpdateTTL: true })
    return count > REFUSALS_MAX
  }
}
