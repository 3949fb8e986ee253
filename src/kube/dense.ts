import { hasMoreValues } from '../core/jsonValues.ts'

/** Values of a text that is never looked at: they are few. */
const FEW = 100_000
/** Fewest characters of a value of a real object, with its name and what stands between: most have twenty and more. */
const SPARSE = 8

/**
 * Whether a text of JSON has more values than an object of Kubernetes of its length could have. `[{},{},...` takes three
 * characters for each, and in memory twenty times as much.
 */
export function isDense(json: string): boolean {
  return json.length >= FEW && hasMoreValues(json, Math.max(FEW, json.length / SPARSE))
}
