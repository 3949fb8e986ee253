/** A write of the operator, to the API server or to an engine. */
export type Write = {
  by: string
  what: string
  /** Counts what others did meanwhile: users, the cluster, time. */
  moment: number
  /** Whether it was sent while others were in progress. */
  isAmongOthers: boolean
}

/** Where an operator dies: before its n-th write is sent, or after it was done and before its answer arrives. */
export type Death = { at: number; when: 'before' | 'after' }

/** A new one for each waiting call: a shared one would keep every waiting process in memory. */
const never = () => new Promise<never>(() => {})

/**
 * The outgoing calls of one operator process, and its end. Calls that await an answer when the process ends wait
 * forever: no code of it runs any more, not even clean-up.
 */
export class Life {
  readonly died: Promise<void>
  readonly writes: Write[] = []
  readonly #death: Death | undefined
  readonly #moment: () => number
  readonly #atDeath: () => void
  #isOver = false
  #underWay = 0

  constructor(death: Death | undefined, moment: () => number) {
    this.#death = death
    this.#moment = moment
    const { promise, resolve } = Promise.withResolvers<void>()
    this.died = promise
    this.#atDeath = resolve
  }

  get isOver(): boolean {
    return this.#isOver
  }

  async read<T>(ask: () => Promise<T>): Promise<T> {
    if (this.#isOver) return never()
    // A dead process receives neither answers nor errors.
    const answer = await ask().catch((error: unknown) => (this.#isOver ? never() : Promise.reject(error)))
    return this.#isOver ? never() : answer
  }

  async write<T>(by: string, what: string, send: () => Promise<T>): Promise<T> {
    if (this.#isOver) return never()
    this.writes.push({ by, what, moment: this.#moment(), isAmongOthers: this.#underWay > 0 })
    const isLast = this.#death?.at === this.writes.length
    if (isLast && this.#death?.when === 'before') return this.#end()
    this.#underWay += 1
    const answer = send().finally(() => {
      this.#underWay -= 1
    })
    if (!isLast) return this.read(() => answer)
    await answer.catch(() => {})
    return this.#end()
  }

  #end(): Promise<never> {
    this.#isOver = true
    this.#atDeath()
    return never()
  }
}

/**
 * All deaths that the flow can distinguish. Of a death after a write and one before the next, the second is omitted if
 * nothing happened in between and nothing was in progress: the state is the same.
 */
export function deathsOf(writes: readonly Write[]): Death[] {
  return writes.flatMap(({ moment, isAmongOthers }, index): Death[] => {
    const isNew = isAmongOthers || writes[index - 1]?.moment !== moment
    return [...(isNew ? [{ at: index + 1, when: 'before' as const }] : []), { at: index + 1, when: 'after' }]
  })
}

/** The same object for a process that may die at each of these calls; all other calls only read. */
export function mortal<T extends object>(thing: T, mutations: Mutations<T>, by: string, life: Life): T {
  return new Proxy(thing, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target)
      if (typeof value !== 'function') return value
      const call = value.bind(target) as (...args: unknown[]) => unknown
      const naming = (mutations as Record<string, ((...args: unknown[]) => string) | undefined>)[String(property)]
      if (naming === undefined) {
        return (...args: unknown[]) => {
          const answer = call(...args)
          if (!(answer instanceof Promise)) return answer
          // Failures in a dead process are not reported.
          answer.catch(() => {})
          return life.read(() => answer)
        }
      }
      return (...args: unknown[]) => life.write(by, `${String(property)} ${naming(...args)}`, async () => call(...args))
    },
  })
}

/** The description of each changing call in a report. */
export type Mutations<T> = {
  [K in keyof T]?: T[K] extends (...args: infer A) => Promise<unknown> ? (...args: A) => string : never
}
