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
  const prefixes = new Set<string>(OPEN_ACTION_PREFIXES)
  const suffixes = new Set<string>([''])
  const samples = new Set<string>()
  for (const pattern of permissions.flatMap(({ actions, notActions }) => [...actions, ...notActions])) {
    if (pattern.form === 'prefix') prefixes.add(pattern.head)
    else if (pattern.form === 'suffix') suffixes.add(pattern.tail)
    else if (pattern.form === 'exact') samples.add(pattern.text)
  }
  for (const prefix of prefixes) for (const suffix of suffixes) samples.add(`${prefix}${UNMATCHED_SEGMENT}${suffix}`)
  return [...samples].filter(
    (action) => OPEN_ACTION_PREFIXES.some((prefix) => action.startsWith(prefix)) && !isKnownAction(action),
  )
}
