/** A number with its noun, such as "1 snapshot" and "3 snapshots". Nouns whose plural takes more than an s name it. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}
