const IN_GROUP = '/resources/'
/** No collection begins so. */
const FORMER = `${IN_GROUP}former`

/**
 * Where a deny counts whose resource is gone: beside the resource, in a collection that no kind has. There it reaches
 * nothing that exists, nor what is made anew under the name, but still tells from whom the former one was kept.
 *
 * @param scope the text of a scope
 * @returns undefined for what is no resource: denies at a boundary or a group go with it
 */
export function formerScope(scope: string): string | undefined {
  // The last one: a group may be called so.
  const at = scope.lastIndexOf(IN_GROUP)
  return at < 0 ? undefined : `${scope.slice(0, at)}${FORMER}${scope.slice(at + IN_GROUP.length)}`
}

export const isFormerScope = (scope: string): boolean => scope.includes(FORMER)
