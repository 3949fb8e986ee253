import type { SeededRandom } from '../make/random.ts'
import type { Death, Write } from './life.ts'

/** Who writes, with which verb, to which type of object or engine, and whether to its status; not to which object. */
export function kindOf({ by, what }: Pick<Write, 'by' | 'what'>): string {
  const [verb, type, , part = ''] = what.split(' ')
  return [by, verb, type, part].join(' ')
}

/**
 * One death at each kind of write: what many writes have in common is shown by any of them. Chance picks which it is, and
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
