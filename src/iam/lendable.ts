import { actionNames, compilePermissions } from './permissions.ts'
import { BUILT_IN_ROLES } from './roles.ts'

/** The actions that a trust can lend: those of Reader, and pulling images. */
export const LENDABLE: ReadonlySet<string> = new Set([
  ...BUILT_IN_ROLES.filter(({ displayName }) => displayName === 'Reader').flatMap((role) =>
    actionNames(compilePermissions(role).belowRoot),
  ),
  'registry/pull',
])

export const NOT_LENDABLE = 'is not an action that a trust can lend'
