/** A measured value and its goal. `npm run bench` prints one line for each. */
export type Goal = {
  what: string
  unit: string
  /** The side of the goal that meets it. */
  bound: 'at most' | 'at least'
  goal: number
  measured: number
  isMet: boolean
}

/** @param unit as it is printed after the number; empty for a ratio */
export function atMost(what: string, unit: string, goal: number, measured: number): Goal {
  return { what, unit, bound: 'at most', goal, measured: rounded(measured), isMet: measured <= goal }
}

/** @param unit as it is printed after the number; empty for a ratio */
export function atLeast(what: string, unit: string, goal: number, measured: number): Goal {
  return { what, unit, bound: 'at least', goal, measured: rounded(measured), isMet: measured >= goal }
}

const rounded = (value: number) => Math.round(value * 1000) / 1000

export function lineOf({ what, unit, bound, goal, measured, isMet }: Goal): string {
  const of = (value: number) => (unit === '' ? `${value}` : `${value} ${unit}`)
  return `${isMet ? 'met   ' : 'MISSED'} ${what}: ${of(measured)} (goal: ${bound} ${of(goal)})`
}
