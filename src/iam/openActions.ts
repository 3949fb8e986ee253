import { isKnownAction, OPEN_ACTION_PREFIXES } from '../core/actions.ts'
import type { CompiledPermissions } from './permissions.ts'

/** A segment that no pattern can name. */
const FRESH = '~'

/**
 * Open actions cannot be listed, yet whether one role grants more of them than another must be decided. Patterns tell
 * actions apart by how they begin and how they end only. So one action for each beginning, alone and with each ending,
 * with a segment between that no pattern names, stands for all: roles that agree on these agree on every open action.
 */
export function openActionWitnesses(permissions: readonly CompiledPermissions[]): string[] {
  const heads = new Set<string>(OPEN_ACTION_PREFIXES)
  const tails = new Set<string>([''])
  const witnesses = new Set<string>()
  for (const pattern of permissions.flatMap(({ actions, notActions }) => [...actions, ...notActions])) {
    if (pattern.form === 'prefix') heads.add(pattern.head)
    else if (pattern.form === 'suffix') tails.add(pattern.tail)
    else if (pattern.form === 'exact') witnesses.add(pattern.text)
  }
  for (const head of heads) for (const tail of tails) witnesses.add(`${head}${FRESH}${tail}`)
  return [...witnesses].filter(
    (action) => OPEN_ACTION_PREFIXES.some((prefix) => action.startsWith(prefix)) && !isKnownAction(action),
  )
}
