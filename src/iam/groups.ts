/** The member ids of each group, by group id: people, service accounts and other groups. */
export type Memberships = ReadonlyMap<string, readonly string[]>

/** The deepest allowed nesting of groups. Deeper nesting is hard to understand. */
export const GROUP_DEPTH_MAX = 5

/** Returns the id and, if it is a group, all direct and nested members. Cycles are safe. */
export function expandMembers(id: string, groups: Memberships): Set<string> {
  const found = new Set([id])
  for (const next of found) for (const member of groups.get(next) ?? []) found.add(member)
  return found
}

/** The groups that name each member: an index of memberships, made once for many questions. */
export type GroupsOfMember = ReadonlyMap<string, readonly string[]>

export function groupsOfMembers(groups: Memberships): GroupsOfMember {
  const parents = new Map<string, string[]>()
  for (const [group, members] of groups)
    for (const member of members) {
      const known = parents.get(member)
      if (known === undefined) parents.set(member, [group])
      else known.push(group)
    }
  return parents
}

/** Returns the groups that contain the id, directly or through other groups. */
export function groupsContaining(id: string, parents: GroupsOfMember): Set<string> {
  const found = new Set([id])
  for (const next of found) for (const group of parents.get(next) ?? []) found.add(group)
  found.delete(id)
  return found
}

/** Returns why a group may not have these members: it would contain itself, or the nesting would be too deep. */
export function nestingViolationOf(
  id: string,
  memberIds: readonly string[],
  groups: Memberships,
): 'Cycle' | 'TooDeep' | undefined {
  const next = new Map(groups).set(id, memberIds)
  const parents = groupsOfMembers(next)
  const around = groupsContaining(id, parents)
  if (memberIds.some((member) => member === id || around.has(member))) return 'Cycle'
  const height = longestPath(id, (group) => parents.get(group) ?? [])
  const depth = longestPath(id, (group) => (next.get(group) ?? []).filter((member) => next.has(member)))
  return height + depth + 1 > GROUP_DEPTH_MAX ? 'TooDeep' : undefined
}

/** Returns the length of the longest path from a group, counting no further than the first depth that is too deep. */
function longestPath(id: string, nextOf: (id: string) => readonly string[]): number {
  let level = new Set([id])
  for (let steps = 0; steps <= GROUP_DEPTH_MAX; steps += 1) {
    level = new Set([...level].flatMap(nextOf))
    if (level.size === 0) return steps
  }
  return GROUP_DEPTH_MAX + 1
}
