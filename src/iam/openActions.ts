import { isKnownAction, OPEN_ACTION_PREFIXES } from '../core/actions.ts'
import type { CompiledPermissions } from './permissions.ts'

/** A segment that no pattern can contain. */
const UNMATCHED_SEGMENT = '~'

/**
 * Returns sample actions that decide whether one role grants more open actions than another. Open actions cannot be
 * listed, but patterns distinguish them only by prefix and suffix. So each prefix, alone and with each suffix, around a
 * segment that no pattern contains, represents all: roles that agree on these samples agree on every open action.
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
  for (const head of heads) for (const tail of tails) witnesses.add(`${head}${UNMATCHED_SEGMENT}${tail}`)
  return [...witnesses].filter(
    (action) => OPEN_ACTION_PREFIXES.some((prefix) => action.startsWith(prefix)) && !isKnownAction(action),
  )
}
