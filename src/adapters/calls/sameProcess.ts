import type { CountedCalls } from '../../contracts/functionCalls.ts'
import type { CallFigures } from './port.ts'

/** What an activator counts, by key. */
export type Counting = { of(key: string): CountedCalls }

/** @param counting what the activator of this process counts; undefined as long as it does not work */
export function sameProcessCallFigures(counting: () => Counting | undefined): CallFigures {
  return { of: async (namespace, name) => counting()?.of(`${namespace}/${name}`) }
}
