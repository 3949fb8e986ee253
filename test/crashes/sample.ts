import type { SeededRandom } from '../make/random.ts'
import type { Death, Write } from './life.ts'

/** The writer, the verb, and the type of object or engine, and whether it is a status; not the object. */
export function kindOf({ by, what }: Pick<Write, 'by' | 'what'>): string {
  const [verb, type, , part = ''] = what.split(' ')
  return [by, verb, type, part].join(' ')
}

/**
 * One death at each kind of write: any of them shows what they have in common. It is chosen at random, and so is
 * whether the operator dies before or after it.
 */
export function sampleOf(deaths: readonly Death[], writes: readonly Write[], random: SeededRandom): Death[] {
  const kinds = Object.values(
    Object.groupBy(deaths, ({ at }) => {
      const write = writes[at - 1]
      if (write === undefined) throw new RangeError(`There is no write ${at}.`)
      return kindOf(write)
    }),
  )
  return kinds.map((alike = []) => random.pick(alike)).toSorted((one, other) => one.at - other.at)
}
