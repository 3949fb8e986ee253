/** A period in which somebody holds a role, in milliseconds since the epoch; `until` is exclusive. */
export type Tenure = { readonly from: number; readonly until: number }

const isHeld = (tenures: readonly Tenure[], at: number) => tenures.some(({ from, until }) => from <= at && at < until)

/** Returns whether `others` cover every moment of `tenures`. */
export function coversTenures(others: readonly Tenure[], tenures: readonly Tenure[]): boolean {
  // Nothing changes between these moments.
  const moments = [...others, ...tenures].flatMap(({ from, until }) => [from, until])
  return moments.every((at) => !isHeld(tenures, at) || isHeld(others, at))
}

/**
 * Returns whether a role may be removed: others hold it throughout, or at least when this tenure would have ended
 * anyway. The second case prevents the holder of a temporary role from keeping it by denying the people who lent it.
 */
export function mayRemoveRole(others: readonly Tenure[], role: Tenure): boolean {
  return coversTenures(others, [role]) || isHeld(others, role.until)
}
