/** Groups by id with the ids that they list: people, service accounts and other groups. */
export type Memberships = ReadonlyMap<string, readonly string[]>

/** Groups in groups may go this deep; deeper ones nobody understands any more. */
export const GROUP_DEPTH_MAX = 5

/** Everybody in a group however deep, itself included; of anybody else only themselves. A loop ends where it closes. */
export function everyoneIn(id: string, groups: Memberships): Set<string> {
  const found = new Set([id])
  for (const next of found) for (const member of groups.get(next) ?? []) found.add(member)
  return found
}

/** The groups that hold somebody, directly or through groups. */
export function groupsAround(id: string, groups: Memberships): Set<string> {
  const found = new Set([id])
  for (const next of found) for (const [group, members] of groups) if (members.includes(next)) found.add(group)
  found.delete(id)
  return found
}

/** Why a group may not have these members: it would be in itself, or groups would go too deep. */
export function brokenNesting(
  id: string,
  memberIds: readonly string[],
  groups: Memberships,
): 'Cycle' | 'TooDeep' | undefined {
  const next = new Map(groups).set(id, memberIds)
  if (memberIds.some((member) => everyoneIn(member, next).has(id))) return 'Cycle'
  const above = longestWay(id, (group) => parentsOf(group, next))
  const below = longestWay(id, (group) => (next.get(group) ?? []).filter((member) => next.has(member)))
  return above + below + 1 > GROUP_DEPTH_MAX ? 'TooDeep' : undefined
}

function parentsOf(id: string, groups: Memberships): string[] {
  return [...groups].flatMap(([group, members]) => (members.includes(id) ? [group] : []))
}

/** Steps from a group to the farthest one, counted no further than what is too deep anyway. */
function longestWay(id: string, onward: (id: string) => readonly string[]): number {
  let level = new Set([id])
  for (let steps = 0; steps <= GROUP_DEPTH_MAX; steps += 1) {
    level = new Set([...level].flatMap(onward))
    if (level.size === 0) return steps
  }
  return GROUP_DEPTH_MAX + 1
}
