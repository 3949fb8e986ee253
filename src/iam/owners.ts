/** When somebody holds something: milliseconds since the epoch, `until` not included. */
export type Tenure = { readonly from: number; readonly until: number }

/** Whether at each moment of some tenures there is one of the others. */
export function covers(others: readonly Tenure[], tenures: readonly Tenure[]): boolean {
  const isHeld = (all: readonly Tenure[], at: number) => all.some(({ from, until }) => from <= at && at < until)
  // Nothing changes between these moments.
  const moments = [...others, ...tenures].flatMap(({ from, until }) => [from, until])
  return moments.every((at) => !isHeld(tenures, at) || isHeld(others, at))
}
