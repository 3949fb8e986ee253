/** A number with its noun, such as "1 snapshot" and "3 snapshots". Nouns whose plural takes more than an s name it. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

/** The verb that goes with a number: "1 snapshot is", "3 snapshots are". */
export function agreed(count: number, one: string, many: string): string {
  return count === 1 ? one : many
}

/** How many of the wanted ones are ready: "0 of 1 copy is ready", "1 of 3 copies are ready"; those beyond them do not count. */
export function readyOf(ready: number, wanted: number, one: string, many?: string): string {
  return `${Math.min(ready, wanted)} of ${counted(wanted, one, many)} ${agreed(wanted, 'is', 'are')} ready`
}
