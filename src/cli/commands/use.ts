import { type Client, PlatformApiError } from '../../client/index.ts'
import { suggestion } from '../../core/suggestion.ts'
import { existingNamesClause, explainUnknownBoundary } from '../boundaryNames.ts'
import type { Command } from '../command.ts'
import { isKnown } from '../defaults.ts'
import { usage } from '../failure.ts'
import { openSession } from '../session.ts'
import { readSettings, withoutAbsent, writeSettings } from '../settings.ts'

export const use: Command = {
  name: 'use',
  summary: 'Set the default boundary and resource group',
  options: [
    { long: 'boundary', short: 'b', value: 'ID', summary: 'Default boundary; an empty text clears both defaults' },
    { long: 'group', short: 'g', value: 'NAME', summary: 'Default resource group; an empty text clears it' },
  ],
  details:
    'Both must exist: they are looked up before they are stored. A group that you may not see is stored unchecked.',
  async run(input, context) {
    const { paths, terminal } = context
    const { boundary, group, ...settings } = await readSettings(paths.settings)
    const [newBoundary, newGroup] = [input.text('boundary'), input.text('group')]
    const nextBoundary = (newBoundary ?? boundary) || undefined
    // A group belongs to one boundary, so another boundary clears it.
    const keptGroup = nextBoundary === boundary ? group : undefined
    const nextGroup = (newGroup ?? keptGroup) || undefined
    if (nextGroup !== undefined && nextBoundary === undefined) throw usage('--group needs --boundary.')
    const { client } = newBoundary || newGroup ? await openSession(context) : {}
    const warning = client && (await lookUp(client, nextBoundary ?? '', newGroup ?? ''))
    const next = { ...settings, ...withoutAbsent({ boundary: nextBoundary, group: nextGroup }) }
    if (newBoundary !== undefined || newGroup !== undefined) await writeSettings(paths.settings, next)
    if (warning !== undefined) terminal.err(`${warning}\n`)
    terminal.err(`Boundary ${nextBoundary ?? 'none'}, resource group ${nextGroup ?? 'none'}.\n`)
  },
}

/**
 * @param group empty if none was given
 * @returns a warning if the group cannot be checked, because the caller has no role in it
 * @throws CommandFailure (usage) with the existing names
 */
async function lookUp(client: Client, boundary: string, group: string): Promise<string | undefined> {
  const path = { boundaryId: boundary }
  // Listing groups needs no role in the boundary itself: a role in one group is enough.
  const names: string[] = []
  const isBoundary = await isKnown(async () => {
    const { items } = await client.operations.ListResourceGroups({ path, query: { pageSize: 500 } })
    names.push(...items.map(({ name }) => name))
  })
  if (!isBoundary) throw usage(await explainUnknownBoundary(client, boundary))
  if (group === '' || names.includes(group)) return undefined
  const groupPath = { ...path, resourceGroupName: group }
  let isHidden = false
  const readGroup = () => client.operations.GetBoundariesResourcegroupsByResourceGroupName({ path: groupPath })
  const isThere = await isKnown(() =>
    readGroup().catch((error: unknown) => {
      isHidden = error instanceof PlatformApiError && error.status === 403
      throw error
    }),
  )
  if (isThere && !isHidden) return undefined
  if (isThere) return `You may not see whether there is a resource group "${group}": it is stored unchecked.`
  const create = `; \`freehold create resourcegroup ${group} --boundary ${boundary}\` creates it.`
  const hint = suggestion(group, names) || existingNamesClause(names, create)
  throw usage(`There is no resource group "${group}" in boundary ${boundary}${hint}`)
}
