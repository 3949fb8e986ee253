import { timestamp } from '../../core/clock.ts'

/** What a snapshot is called that nobody names: of the time, with a number if another of the same second has it. */
export function snapshotName(now: number, taken: readonly string[]): string {
  const wanted = `manual-${timestamp(now)
    .replace(/[^0-9]/g, '')
    .slice(0, 14)}`
  let name = wanted
  for (let count = 2; taken.includes(name); count += 1) name = `${wanted}-${count}`
  return name
}
