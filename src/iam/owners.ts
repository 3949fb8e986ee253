/** An assignment of the role that keeps a scope governable. */
export type OwnerAssignment = {
  readonly id: string
  readonly principalId: string
  readonly expiresAt: number | undefined
}

/**
 * Whether taking these assignments away leaves nobody who governs the scope. Only those count that have not expired and
 * whose principal `canAct`. An owner whose role ends does not count: a permanent assignment may go only while another permanent one
 * stays; one that expires may go while any stays.
 */
export function leavesNoOwner(
  owners: readonly OwnerAssignment[],
  removed: ReadonlySet<string>,
  now: number,
  canAct: (principalId: string) => boolean,
): boolean {
  const active = owners.filter(({ expiresAt }) => expiresAt === undefined || expiresAt > now)
  const going = active.filter(({ id }) => removed.has(id))
  if (going.length === 0) return false
  const takesPermanent = going.some(({ expiresAt }) => expiresAt === undefined)
  const staying = active.filter(({ id, principalId }) => !removed.has(id) && canAct(principalId))
  return !staying.some(({ expiresAt }) => !takesPermanent || expiresAt === undefined)
}
