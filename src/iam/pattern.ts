import { ACTIONS, isActionShaped, isOpenAction, OPEN_ACTION_PREFIXES } from './actions.ts'

/**
 * A pattern of actions as roles, denies and trusts hold them: an action name, or a name whose first or last segment is
 * `*`, which stands for one or more whole segments. With a last star `apps` and its slash cover
 * everything below `apps`; a star alone covers every action.
 */
export type ActionPattern = { readonly text: string } & (
  | { readonly form: 'all' }
  | { readonly form: 'exact' }
  /** `text` without its star, the slash kept: `apps/`. */
  | { readonly form: 'prefix'; readonly head: string }
  /** `text` without its star, the slash kept: `/read`. */
  | { readonly form: 'suffix'; readonly tail: string }
)

/** Thrown by `compilePattern`; the message quotes the refused text, cut to what a person can read. */
export class InvalidActionPattern extends Error {
  readonly pattern: string

  constructor(pattern: unknown) {
    const shown = JSON.stringify(String(pattern).slice(0, 80))
    super(`${shown} is not an action pattern: write an action name, or one with * as its first or last segment.`)
    this.name = 'InvalidActionPattern'
    this.pattern = String(pattern)
  }
}

/**
 * Reads one pattern. Throws InvalidActionPattern for every other form (a star within a segment or in the middle, two
 * stars, empty segments, white space), so that a slip of the pen never widens a role.
 */
export function compilePattern(text: string): ActionPattern {
  if (text === '*') return { text, form: 'all' }
  if (typeof text !== 'string') throw new InvalidActionPattern(text)
  if (isActionShaped(text)) return { text, form: 'exact' }
  // The star is replaced by a plain segment, so that what is left must be shaped like an action.
  if (text.endsWith('/*') && isActionShaped(`${text.slice(0, -1)}a`)) {
    return { text, form: 'prefix', head: text.slice(0, -1) }
  }
  if (text.startsWith('*/') && isActionShaped(`a${text.slice(1)}`)) return { text, form: 'suffix', tail: text.slice(1) }
  throw new InvalidActionPattern(text)
}

/** Whether the pattern covers an action, given by its well-formed name. */
export function matchesPattern(pattern: ActionPattern, action: string): boolean {
  switch (pattern.form) {
    case 'all':
      return true
    case 'exact':
      return action === pattern.text
    case 'prefix':
      return action.length > pattern.head.length && action.startsWith(pattern.head)
    case 'suffix':
      return action.length > pattern.tail.length && action.endsWith(pattern.tail)
  }
}

/**
 * Whether a pattern can ever cover anything: an action of the interface, or one below an open prefix. The facade
 * refuses patterns that cannot (400), because a deny with a slip in it would protect nothing. A
 * first star before a last segment that the interface does not know is a slip too, even though an open action may end so.
 */
export function coversAnyAction(pattern: ActionPattern): boolean {
  if (ACTIONS.some((action) => matchesPattern(pattern, action.name))) return true
  if (pattern.form === 'exact') return isOpenAction(pattern.text)
  return pattern.form === 'prefix' && OPEN_ACTION_PREFIXES.some((prefix) => pattern.head.startsWith(prefix))
}
