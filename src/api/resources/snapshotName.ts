import { timestamp } from '../../core/clock.ts'

/** Returns the default name of a snapshot: the time, with a number if another one of the same second has it. */
export function snapshotName(now: number, taken: readonly string[]): string {
  const wanted = `manual-${timestamp(now)
    .replace(/[^0-9]/g, '')
    .slice(0, 14)}`
  let name = wanted
  for (let count = 2; taken.includes(name); count += 1) name = `${wanted}-${count}`
  return name
}
