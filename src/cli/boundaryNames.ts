import { type Client, PlatformApiError } from '../client/index.ts'
import { isUuid } from '../core/names.ts'
import { suggestion } from '../core/suggestion.ts'
import { findCollection } from './collections.ts'
import type { Context, Input } from './command.ts'
import { CommandFailure, EXIT, usage } from './failure.ts'
import { openSession, placeOf } from './session.ts'

/** More names than a person reads are no help. */
const MOST_SHOWN = 10

/** Whom to ask who may see nothing of a boundary: the platform tells them no more of it than of one that is not there. */
export const ASK_AN_OWNER = 'ask one of its Owners for a role in it if it exists'

type Seen = { readonly id: string; readonly displayName: string }

/** The boundaries that the caller sees. */
async function boundariesSeen(client: Client): Promise<readonly Seen[]> {
  return (await client.operations.GetBoundaries({ query: { pageSize: 500 } })).items
}

/** People remember the name that they see, and boundaries are named by their ids. Empty where nothing is near. */
function meantBy(said: string, seen: readonly Seen[]): string {
  const [only, ...others] = seen.filter(({ displayName }) => displayName.toLowerCase() === said.toLowerCase())
  if (only !== undefined && others.length === 0) return `; did you mean ${only.id} (${only.displayName})?`
  return suggestion(
    said,
    seen.map(({ id }) => id),
  )
}

/** The sentence about a boundary that is not there for the caller, with what was meant, or what there is. */
export async function unknownBoundary(client: Client, said: string): Promise<string> {
  const seen = await boundariesSeen(client)
  const meant = meantBy(said, seen)
  if (meant !== '') return `There is no boundary "${said}"${meant}`
  const none = isUuid(said)
    ? `Boundary ${said} does not exist, or you may see nothing in it`
    : `There is no boundary "${said}"`
  const shown = seen.map(({ id, displayName }) => `${id} (${displayName})`)
  const asked = isUuid(said)
    ? `${ASK_AN_OWNER}, or create one with \`freehold create boundary\`.`
    : '`freehold create boundary` creates one.'
  return `${none}${existing(shown, `; ${asked}`)}`
}

/** @param otherwise the end of the sentence where there are none */
export function existing(names: readonly string[], otherwise: string): string {
  if (names.length === 0) return otherwise
  const more = names.length > MOST_SHOWN ? ', ...' : ''
  return `; there are ${names.slice(0, MOST_SHOWN).join(', ')}${more}.`
}

/** @throws CommandFailure (usage) where a command that asks nobody is given a name instead of an id */
export function requireBoundaryId(said: string): void {
  if (isUuid(said)) return
  throw usage(
    `"${said}" is not the id of a boundary, a uuid in lower case: \`freehold get boundaries\` shows ids beside names.`,
  )
}

/**
 * Which boundary was meant, where a command failed that named it as people see it; undefined where names are not to blame.
 */
export async function misnamedBoundary(error: unknown, input: Input, context: Context): Promise<string | undefined> {
  const isUsage = error instanceof CommandFailure && error.exitCode === EXIT.usage
  if (isUsage || !(error instanceof PlatformApiError || error instanceof CommandFailure)) return undefined
  const { client, settings } = await openSession(context)
  const said = boundaryIn(input, context) ?? placeOf(input, settings).boundary
  if (said === undefined || said === '' || isUuid(said)) return undefined
  const meant = meantBy(said, await boundariesSeen(client))
  return meant === '' ? undefined : `Boundaries are named by their ids${meant}`
}

/** The boundary that is the NAME of a command itself. */
function boundaryIn({ command, positionals }: Input, { collections }: Context): string | undefined {
  if (command.positionals[0] !== 'KIND') return undefined
  const [word = '', name] = positionals
  return findCollection(word, collections).noun === 'boundaries' ? name : undefined
}
