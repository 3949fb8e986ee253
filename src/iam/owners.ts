/** A period in which somebody holds a role, in milliseconds since the epoch; `until` is exclusive. */
export type Tenure = { readonly from: number; readonly until: number }

const isHeld = (tenures: readonly Tenure[], at: number) => tenures.some(({ from, until }) => from <= at && at < until)

/** Returns whether `others` cover every moment of `tenures`. */
export function coversTenures(after: readonly Tenure[], tenures: readonly Tenure[]): boolean {
  // Nothing changes between these moments.
  const times = [...after, ...tenures].flatMap(({ from, until }) => [from, until])
  return times.every((at) => !isHeld(tenures, at) || isHeld(after, at))
}

/**
 * Returns whether a role may be removed: others hold it throughout, or at least when this tenure would have ended
 * anyway. The second case prevents the holder of a temporary role from keeping it by denying the people who lent it.
 */
export function mayRemoveRole(remaining: readonly Tenure[], role: Tenure): boolean {
  return coversTenures(remaining, [role]) || isHeld(remaining, role.until)
}
