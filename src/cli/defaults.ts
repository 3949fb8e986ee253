import { type Client, PlatformApiError } from '../client/index.ts'
import { ASK_AN_OWNER } from './boundaryNames.ts'
import type { Context, Input } from './command.ts'
import { openSession, selectedScope } from './session.ts'
import { findSettings, withoutAbsent, writeSettings } from './settings.ts'

/** Whether the platform knows the resource. 403 counts as known: a caller may work in a place they may not read. */
export async function isKnown(ask: () => Promise<unknown>): Promise<boolean> {
  try {
    await ask()
    return true
  } catch (error) {
    const status = error instanceof PlatformApiError ? error.status : undefined
    if (status === 403) return true
    if (status === 400 || status === 404) return false
    throw error
  }
}

/**
 * Suggests what to do if a command failed because a default no longer exists, or is not visible; undefined if defaults
 * are not the cause.
 */
export async function explainStaleDefault(error: unknown, input: Input, context: Context): Promise<string | undefined> {
  const isRefused = error instanceof PlatformApiError && [403, 404].includes(error.status)
  const usesDefault = input.text('boundary') === undefined || input.text('group') === undefined
  if (!isRefused || !usesDefault) return undefined
  const { client, settings } = await openSession(context)
  const { boundary, group } = selectedScope(input, settings)
  if (boundary === undefined || boundary !== settings.boundary) return undefined
  const missing = await findMissingPlace(client, boundary, input.text('group') === undefined ? group : undefined)
  if (missing === 'boundary')
    return `The default boundary ${boundary} no longer exists, or you may see nothing in it: ${ASK_AN_OWNER}; \`freehold use --boundary ID\` sets another default, and \`freehold use --boundary ''\` clears both.`
  if (missing === 'group')
    return `The default resource group "${group}" no longer exists: \`freehold use --group ''\` clears it, \`freehold use --group NAME\` sets another one.`
  return undefined
}

async function findMissingPlace(client: Client, boundary: string, group: string | undefined) {
  const path = { boundaryId: boundary }
  const { operations } = client
  if (!(await isKnown(async () => operations.ListResourceGroups({ path, query: { pageSize: 1 } })))) return 'boundary'
  if (group === undefined) return undefined
  const groupPath = { ...path, resourceGroupName: group }
  const isThere = await isKnown(async () =>
    operations.GetBoundariesResourcegroupsByResourceGroupName({ path: groupPath }),
  )
  return isThere ? undefined : 'group'
}

/** Clears a default that was just deleted. @returns a message for the user */
export async function clearDeletedDefault(
  { boundaryId, resourceGroupName }: Readonly<Record<string, string>>,
  { paths }: Context,
): Promise<string | undefined> {
  const settings = await findSettings(paths.settings)
  if (settings?.boundary === undefined || settings.boundary !== boundaryId) return undefined
  if (resourceGroupName !== undefined && settings.group !== resourceGroupName) return undefined
  const { boundary, group: _group, ...others } = settings
  const keptBoundary = resourceGroupName === undefined ? undefined : boundary
  await writeSettings(paths.settings, { ...others, ...withoutAbsent({ boundary: keptBoundary }) })
  return resourceGroupName === undefined
    ? 'It was your default boundary: there is none now.'
    : 'It was your default resource group: there is none now.'
}
