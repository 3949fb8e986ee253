/** A figure beside what it should be. `npm run bench` prints one line for each. */
export type Goal = { what: string; unit: string; goal: number; measured: number; isMet: boolean }

/** @param unit as it is printed after the number; empty for a ratio */
export function atMost(what: string, unit: string, goal: number, measured: number): Goal {
  return { what, unit, goal, measured: Math.round(measured * 1000) / 1000, isMet: measured <= goal }
}

export function lineOf({ what, unit, goal, measured, isMet }: Goal): string {
  const of = (value: number) => (unit === '' ? `${value}` : `${value} ${unit}`)
  return `${isMet ? 'met   ' : 'MISSED'} ${what}: ${of(measured)} (goal: at most ${of(goal)})`
}
