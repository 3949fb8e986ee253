/** A period in which somebody holds a role, in milliseconds since the epoch; `until` is exclusive. */
export type Tenure = { readonly from: number; readonly until: number }

/** Returns the moments in which somebody holds the role, as periods in order that do not touch each other. */
function heldPeriods(tenures: readonly Tenure[]): Tenure[] {
  const periods: { from: number; until: number }[] = []
  const effective = tenures.filter(({ from, until }) => from < until).sort((one, next) => one.from - next.from)
  for (const { from, until } of effective) {
    const last = periods.at(-1)
    if (last === undefined || last.until < from) periods.push({ from, until })
    else last.until = Math.max(last.until, until)
  }
  return periods
}

/** Returns whether `after` covers every moment of `tenures`. Thousands of people can be behind the Owners of a boundary. */
export function coversTenures(after: readonly Tenure[], tenures: readonly Tenure[]): boolean {
  const covering = heldPeriods(after)
  let next = 0
  return heldPeriods(tenures).every(({ from, until }) => {
    while (next < covering.length && (covering[next] as Tenure).until <= from) next += 1
    const period = covering[next]
    return period !== undefined && period.from <= from && until <= period.until
  })
}

/**
 * Returns whether roles may be removed: others hold each throughout, or at least when its tenure would have ended
 * anyway. The second case prevents the holder of a temporary role from keeping it by denying the people who lent it.
 */
export function mayRemoveRoles(remaining: readonly Tenure[], roles: readonly Tenure[]): boolean {
  const periods = heldPeriods(remaining)
  const isHeld = (at: number) => periods.some(({ from, until }) => from <= at && at < until)
  return roles.every((role) => isHeld(role.until) || coversTenures(periods, [role]))
}
