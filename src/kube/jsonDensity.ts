import { hasMoreValues } from '../core/jsonValues.ts'

/** Texts with fewer characters or values are never suspect. */
const FEW = 100_000
/** Fewest characters per value in a real object, with its name and punctuation; most have twenty and more. */
const SPARSE = 8

/**
 * Whether a JSON text has more values than a Kubernetes object of its length could have. `[{},{},...` takes three
 * characters per value, and twenty times as much in memory.
 */
export function isDense(json: string): boolean {
  return json.length >= FEW && hasMoreValues(json, Math.max(FEW, json.length / SPARSE))
}
