/** When somebody holds something: milliseconds since the epoch, `until` not included. */
export type Tenure = { readonly from: number; readonly until: number }

const isHeld = (tenures: readonly Tenure[], at: number) => tenures.some(({ from, until }) => from <= at && at < until)

/** Whether at each moment of some tenures there is one of the others. */
export function covers(others: readonly Tenure[], tenures: readonly Tenure[]): boolean {
  // Nothing changes between these moments.
  const moments = [...others, ...tenures].flatMap(({ from, until }) => [from, until])
  return moments.every((at) => !isHeld(tenures, at) || isHeld(others, at))
}

/**
 * Whether a role may be taken away: others govern all the while, or when it would have ended by itself. So whoever was
 * lent a role cannot keep it by denying those who lent it something until then.
 */
export function mayGo(others: readonly Tenure[], role: Tenure): boolean {
  return covers(others, [role]) || isHeld(others, role.until)
}
