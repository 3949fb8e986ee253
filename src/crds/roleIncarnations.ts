import { INCARNATION_ANNOTATION, ROLE_INCARNATION_ANNOTATION } from '../core/labels.ts'
import { byAge, type ObjectMeta } from '../core/object.ts'

/**
 * Roles and their incarnations. A custom role that is deleted and recreated under its display name is another role. So
 * assignments, and records that promise one (an invitation, a request, a binding), carry the incarnation of the role
 * that they mean. Built-in roles have one incarnation.
 */

type Annotated = { readonly metadata: Pick<ObjectMeta, 'annotations'> }
type Assignment = Annotated & { readonly spec: { readonly roleDefinitionName: string } }
export type Definition = {
  readonly metadata: Pick<ObjectMeta, 'annotations' | 'name' | 'creationTimestamp'>
  readonly spec: { readonly displayName: string; readonly isBuiltIn: boolean }
}

/** Returns the role of a display name: the built-in one, otherwise the oldest, so that no later one can replace it. */
export function roleNamed<D extends Definition>(definitions: readonly D[], displayName: string): D | undefined {
  let found: D | undefined
  for (const one of definitions) {
    if (one.spec.displayName !== displayName) continue
    if (one.spec.isBuiltIn) return one
    if (found === undefined || byAge(one, found) < 0) found = one
  }
  return found
}

/** Returns the annotation of a record that gives or promises the role of its spec; empty for other records. */
export function roleIncarnationAnnotation(definitions: readonly Definition[], spec: object): Record<string, string> {
  const { roleDefinitionName } = spec as { roleDefinitionName?: unknown }
  if (typeof roleDefinitionName !== 'string') return {}
  const incarnation = incarnationOfRole(definitions, roleDefinitionName)
  return incarnation === undefined ? {} : { [ROLE_INCARNATION_ANNOTATION]: incarnation }
}

/** Returns the incarnation that an assignment was written for; undefined if it applies to any role of that name. */
export function roleIncarnationOf({ metadata }: Annotated): string | undefined {
  return metadata.annotations?.[ROLE_INCARNATION_ANNOTATION]
}

/** Returns the incarnation of the custom role of that name among the definitions; undefined for built-in ones. */
export function incarnationOfRole(definitions: readonly Definition[], displayName: string): string | undefined {
  const role = roleNamed(definitions, displayName)
  return role?.spec.isBuiltIn === true ? undefined : role?.metadata.annotations?.[INCARNATION_ANNOTATION]
}

/** Whether the assignment means the role that has the name now. */
export function namesCurrentRole(definitions: readonly Definition[], assignment: Assignment): boolean {
  const named = roleIncarnationOf(assignment)
  return named === undefined || named === incarnationOfRole(definitions, assignment.spec.roleDefinitionName)
}
