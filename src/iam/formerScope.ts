const IN_GROUP = '/resources/'
/** No collection name starts with this prefix. */
const FORMER = `${IN_GROUP}former`

/**
 * Returns the scope to which a deny moves when its resource is deleted: beside the resource, in a collection that no
 * kind has. There the deny affects nothing that exists and no new resource of the same name, but still records who was
 * denied access to the deleted one.
 * @param scope the text of a scope
 * @returns undefined unless the scope is a resource: denies at a boundary or a group are deleted with it
 */
export function formerScope(scope: string): string | undefined {
  // Use the last match, because a group may be called `resources` too.
  const at = scope.lastIndexOf(IN_GROUP)
  return at < 0 ? undefined : `${scope.slice(0, at)}${FORMER}${scope.slice(at + IN_GROUP.length)}`
}

export const isFormerScope = (scope: string): boolean => scope.includes(FORMER)
