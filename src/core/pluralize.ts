/** Returns a number with its noun, such as "1 snapshot" or "3 snapshots". `many` is for plurals without a plain s. */
export function pluralize(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

/** The verb that goes with a number: "1 snapshot is", "3 snapshots are". */
export function pluralizeVerb(count: number, one: string, many: string): string {
  return count === 1 ? one : many
}

/** Says how many are ready: "0 of 1 copy is ready", "1 of 3 copies are ready". Surplus ready ones are not counted. */
export function describeReadyCount(ready: number, wanted: number, one: string, many?: string): string {
  return `${Math.min(ready, wanted)} of ${pluralize(wanted, one, many)} ${pluralizeVerb(wanted, 'is', 'are')} ready`
}
