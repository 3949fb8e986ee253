import { type Client, PlatformApiError } from '../client/index.ts'
import { isUuid } from '../core/names.ts'
import { suggestion } from '../core/suggestion.ts'
import { findCollection } from './collections.ts'
import type { Context, Input } from './command.ts'
import { CommandFailure, EXIT, usage } from './failure.ts'
import { openSession, selectedScope } from './session.ts'

/** More names would not help the reader. */
const SHOWN_MAX = 10

/** Advice if a boundary is not visible: the platform does not reveal whether it exists. */
export const ASK_AN_OWNER = 'ask one of its Owners for a role in it if it exists'

type VisibleBoundary = { readonly id: string; readonly displayName: string }

/** Lists the boundaries that the caller may see. */
async function listBoundaries(client: Client): Promise<readonly VisibleBoundary[]> {
  return (await client.operations.GetBoundaries({ query: { pageSize: 500 } })).items
}

/** Suggests a boundary by display name or similar id, because people remember names; empty if nothing is similar. */
function suggestBoundary(given: string, boundaries: readonly VisibleBoundary[]): string {
  const [only, ...others] = boundaries.filter(({ displayName }) => displayName.toLowerCase() === given.toLowerCase())
  if (only !== undefined && others.length === 0) return `; did you mean ${only.id} (${only.displayName})?`
  return suggestion(
    given,
    boundaries.map(({ id }) => id),
  )
}

/** Explains that the boundary is unknown, with a suggestion, or with the boundaries that exist. */
export async function explainUnknownBoundary(client: Client, given: string): Promise<string> {
  const boundaries = await listBoundaries(client)
  const meant = suggestBoundary(given, boundaries)
  if (meant !== '') return `There is no boundary "${given}"${meant}`
  const none = isUuid(given)
    ? `Boundary ${given} does not exist, or you may see nothing in it`
    : `There is no boundary "${given}"`
  const choices = boundaries.map(({ id, displayName }) => `${id} (${displayName})`)
  const advice = isUuid(given)
    ? `${ASK_AN_OWNER}, or create one with \`freehold create boundary\`.`
    : '`freehold create boundary` creates one.'
  return `${none}${existingNamesClause(choices, `; ${advice}`)}`
}

/** @param otherwise the end of the sentence if there are no names */
export function existingNamesClause(names: readonly string[], otherwise: string): string {
  if (names.length === 0) return otherwise
  const ellipsis = names.length > SHOWN_MAX ? ', ...' : ''
  return `; there are ${names.slice(0, SHOWN_MAX).join(', ')}${ellipsis}.`
}

/** For commands that do not call the platform. @throws CommandFailure (usage) for a name instead of an id */
export function requireBoundaryId(given: string): void {
  if (isUuid(given)) return
  throw usage(
    `"${given}" is not the id of a boundary, a uuid in lower case: \`freehold get boundaries\` shows ids beside names.`,
  )
}

/** Suggests the id if a failed command named a boundary by its display name; undefined otherwise. */
export async function suggestBoundaryId(error: unknown, input: Input, context: Context): Promise<string | undefined> {
  const isUsage = error instanceof CommandFailure && error.exitCode === EXIT.usage
  if (isUsage || !(error instanceof PlatformApiError || error instanceof CommandFailure)) return undefined
  const { client, settings } = await openSession(context)
  const given = boundaryIn(input, context) ?? selectedScope(input, settings).boundary
  if (given === undefined || given === '' || isUuid(given)) return undefined
  const meant = suggestBoundary(given, await listBoundaries(client))
  return meant === '' ? undefined : `Boundaries are named by their ids${meant}`
}

/** Returns the boundary if it is the NAME argument itself. */
function boundaryIn({ command, positionals }: Input, { collections }: Context): string | undefined {
  if (command.positionals[0] !== 'KIND') return undefined
  const [word = '', name] = positionals
  return findCollection(word, collections).noun === 'boundaries' ? name : undefined
}
