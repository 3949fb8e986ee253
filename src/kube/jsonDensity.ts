import { hasMoreValues } from '../core/jsonValues.ts'

/** Texts with fewer characters or values are never suspect. */
const SUSPECT_MIN = 100_000
/** Fewest characters per value in a real object, with its name and punctuation; most have twenty and more. */
const MIN_CHARACTERS_PER_VALUE = 8

/**
 * Whether a JSON text has more values than a Kubernetes object of its length could have. `[{},{},...` takes three
 * characters per value, and twenty times as much in memory.
 */
export function isDense(json: string): boolean {
  return (
    json.length >= SUSPECT_MIN && hasMoreValues(json, Math.max(SUSPECT_MIN, json.length / MIN_CHARACTERS_PER_VALUE))
  )
}
