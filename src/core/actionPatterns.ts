import { ACTIONS, isActionShaped, MAX_ACTION_LENGTH, OPEN_ACTION_PREFIXES } from './actions.ts'

/**
 * A pattern of actions in roles, denies and trusts: an action name, or a name whose first or last segment is `*`, which
 * stands for one or more segments. A star after `apps/` covers everything below `apps`; a lone star covers every
 * action.
 */
export type ActionPattern = { readonly text: string } & (
  | { readonly form: 'all' }
  | { readonly form: 'exact' }
  /** `text` without its star, the slash kept: `apps/`. */
  | { readonly form: 'prefix'; readonly head: string }
  /** `text` without its star, the slash kept: `/read`. */
  | { readonly form: 'suffix'; readonly tail: string }
)

/** Thrown by `compilePattern`; the message quotes at most the first 80 characters of the refused text. */
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
 * Compiles a pattern. Throws InvalidActionPattern for any other form (a star within a segment or in the middle, two
 * stars, empty segments, white space), so that a typo never widens a role.
 */
export function compilePattern(text: string): ActionPattern {
  if (text === '*') return { text, form: 'all' }
  if (typeof text !== 'string') throw new InvalidActionPattern(text)
  if (isActionShaped(text)) return { text, form: 'exact' }
  // With a plain segment in place of the star, the text must have the shape of an action.
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
      return action.startsWith(pattern.head)
    case 'suffix':
      return action.endsWith(pattern.tail)
  }
}

/** Whether a list of patterns applies to control actions or to data actions. */
export type ActionPlane = 'control' | 'data'

const actionsOfPlane = (nature: ActionPlane) => ACTIONS.filter(({ isData }) => isData === (nature === 'data'))

/** Returns every pattern that covers an action of the interface, sorted. Patterns below open prefixes are unbounded. */
export function knownPatterns(nature: ActionPlane): readonly string[] {
  const patterns = new Set(['*'])
  for (const { name } of actionsOfPlane(nature)) {
    const segments = name.split('/')
    patterns.add(name)
    for (let cut = 1; cut < segments.length; cut += 1) {
      patterns.add(`${segments.slice(0, cut).join('/')}/*`)
      patterns.add(`*/${segments.slice(cut).join('/')}`)
    }
  }
  return [...patterns].sort()
}

const KNOWN: Readonly<Record<ActionPlane, ReadonlySet<string>>> = {
  control: new Set(knownPatterns('control')),
  data: new Set(knownPatterns('data')),
}

/** Matches an action or a trailing-star pattern below an open prefix. Valid in RE2 and in JavaScript. */
export const OPEN_PATTERN = `^(${OPEN_ACTION_PREFIXES.map((prefix) => prefix.slice(0, -1)).join('|')})(/[a-z][A-Za-z0-9]*)*/([a-z][A-Za-z0-9]*|[*])$`

const OPEN = new RegExp(OPEN_PATTERN)

/** The message for a pattern that covers nothing, in REST, admission and conditions alike. */
export function unmatchedPatternMessage(nature: ActionPlane): string {
  return `matches no ${nature === 'data' ? 'data action' : 'action'} of the platform`
}

/**
 * Whether a pattern can cover anything: an action of the interface, or one below an open prefix. A pattern that cannot
 * is refused wherever it is written, because a deny with a typo would protect nothing. A leading star before a last
 * segment that the interface does not know is a typo too, even though an open action may end that way.
 */
export function coversAnyAction(text: string, nature: ActionPlane): boolean {
  return KNOWN[nature].has(text) || (nature === 'control' && text.length <= MAX_ACTION_LENGTH && OPEN.test(text))
}

/** The lists of patterns that a role or a deny has. */
export type PatternLists = {
  readonly actions: readonly string[]
  readonly dataActions: readonly string[]
  readonly notActions?: readonly string[] | undefined
  readonly notDataActions?: readonly string[] | undefined
}

export const PLANE_OF_LIST = {
  actions: 'control',
  notActions: 'control',
  dataActions: 'data',
  notDataActions: 'data',
} as const satisfies Record<keyof PatternLists, ActionPlane>

/** A pattern that covers nothing, and its path in the lists, such as `actions.1`. */
export type PatternFault = { readonly field: string; readonly pattern: string; readonly message: string }

export function patternFaults(lists: PatternLists): PatternFault[] {
  return Object.entries(PLANE_OF_LIST).flatMap(([list, nature]) =>
    (lists[list as keyof PatternLists] ?? []).flatMap((pattern, index) =>
      coversAnyAction(pattern, nature)
        ? []
        : [{ field: `${list}.${index}`, pattern, message: unmatchedPatternMessage(nature) }],
    ),
  )
}

/** The faults as one sentence, for conditions; undefined if there are none. */
export function faultsSentence(lists: PatternLists): string | undefined {
  const faults = patternFaults(lists)
  if (faults.length === 0) return undefined
  const described = faults
    .slice(0, 5)
    .map(({ field, pattern, message }) => `${field} "${pattern.slice(0, 80)}" ${message}`)
  return `${described.join('; ')}${faults.length > 5 ? `; and ${faults.length - 5} more` : ''}.`
}

/** Whether every pattern is syntactically valid, even if it covers nothing. */
export function arePatternsValid(lists: PatternLists): boolean {
  return Object.keys(PLANE_OF_LIST).every((list) => (lists[list as keyof PatternLists] ?? []).every(isPattern))
}

/** The valid patterns of a list. A deny applies its valid patterns; a role with an invalid one grants nothing. */
export function validPatterns(patterns: readonly string[]): readonly string[] {
  return patterns.filter(isPattern)
}

function isPattern(text: string): boolean {
  try {
    compilePattern(text)
    return true
  } catch {
    return false
  }
}
