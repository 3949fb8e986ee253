import { PlatformApiError, RESOURCE_KINDS } from '../client/index.ts'
import { boundaryNamespace } from '../core/names.ts'
import { quoteShellWord } from '../core/shellWord.ts'
import { activityOf } from './activity.ts'
import { kindOf } from './clusterDetails.ts'
import { chooseRoute } from './collections.ts'
import type { Context } from './command.ts'
import { describeFailure } from './describeFailure.ts'
import { CommandFailure, usage } from './failure.ts'
import { accessOfSession, openKubernetes } from './kubernetes.ts'
import { type PreparedRequest, send } from './requests.ts'
import { openSession } from './session.ts'

const CLAIMS = 'persistentvolumeclaims/'

/** Returns the resource that a claim belonged to; undefined if the claim's name was shortened or has another form. */
export function ownerOfClaim(claim: string): { noun: string; name: string } | undefined {
  for (const { shortNames, ...kind } of RESOURCE_KINDS) {
    const found = new RegExp(`^storage-${shortNames[0]}-(.+)-\\d+$|^${shortNames[0]}-(.+)-\\d+(?:-wal)?$`).exec(claim)
    const name = found?.[1] ?? found?.[2]
    if (name !== undefined && 'collection' in kind && !/-[0-9a-f]{16}$/.test(name))
      return { noun: kind.collection, name }
  }
  return undefined
}

/** Adds the commands that delete the kept volumes to the refusal to delete a group; unchanged if there are none. */
export function withKeptVolumes(error: unknown, group: string, placeOptions: readonly string[]): unknown {
  if (!(error instanceof PlatformApiError) || error.code !== 'DELETION_PROTECTED') return error
  const { resources = [] } = (error.body ?? {}) as { resources?: unknown }
  const holders = Array.isArray(resources) ? resources.map(String) : []
  const claims = holders.filter((holder) => holder.startsWith(CLAIMS)).map((holder) => holder.slice(CLAIMS.length))
  if (claims.length === 0) return error
  const commands = claims.map((held) => {
    // On another cluster, the entry also names the cluster: a resource there takes the volume over.
    const [claim = '', clusterId] = held.split('/').reverse()
    const { noun, name } = ownerOfClaim(claim) ?? { noun: 'KIND', name: 'NAME' }
    const clusterOptions = clusterId === undefined ? [] : ['-d', JSON.stringify({ clusterId })]
    return `  freehold delete ${[noun, name, '-g', group, ...placeOptions, ...clusterOptions].map(quoteShellWord).join(' ')} --kept-data`
  })
  const { lines, exitCode } = describeFailure(error)
  const intro = 'Volumes that were kept when their resource was deleted go for good with:'
  return new CommandFailure(exitCode, [...lines, intro, ...new Set(commands)].join('\n'), { cause: error })
}

/**
 * Recreates the resource of the same kind and name, so that deleting it also deletes its kept volumes.
 *
 * @throws CommandFailure (usage) if the resource still exists, or never existed
 */
export async function recreateDeleted(
  reading: PreparedRequest,
  creation: { body: unknown; create: PreparedRequest; name: string },
  context: Context,
): Promise<void> {
  const isThere = await send(reading).then(
    () => true,
    (error: unknown) => {
      if (error instanceof PlatformApiError && error.status === 404) return false
      throw error
    },
  )
  const { noun } = reading.collection
  if (isThere)
    throw usage(`It still exists in ${noun}: \`freehold delete\` without --kept-data deletes it with its data.`)
  await requireFormerResource(reading, creation.name, context)
  await send(creation.create, creation.body).catch((error: unknown) => {
    if (!(error instanceof PlatformApiError) || error.status !== 400) throw error
    const { lines, exitCode } = describeFailure(error)
    const hint = 'The volumes are deleted with a resource that takes them back: say with --data how it is created.'
    throw new CommandFailure(exitCode, [...lines, hint].join('\n'), { cause: error })
  })
}

/**
 * Guards against a mistyped name: nothing is created unless the resource once existed.
 *
 * @throws CommandFailure (usage) if neither the group lists kept volumes for it, nor its activity log has an entry
 */
async function requireFormerResource(reading: PreparedRequest, name: string, context: Context): Promise<void> {
  if (await isListedByGroup(reading, name, context)) return
  const done = await activityOf(reading, ENTRIES_MAX).catch((error: unknown) => {
    // A name that was never used has no activity. A caller without the permission gets the error.
    if (error instanceof PlatformApiError && error.status === 404) return []
    throw error
  })
  if (done?.some(({ outcome, channel }) => outcome === 'Succeeded' && channel !== 'Reported') === true) return
  const { noun } = reading.collection
  throw usage(
    `There was no "${name}" of ${noun} in the last 90 days, and the group knows no volume of it: check the name. Nothing was created or deleted.`,
  )
}

const ENTRIES_MAX = 100

/** Whether the group's status, as read from the API server if known, lists volumes kept for this resource. */
async function isListedByGroup(
  { target, collection }: PreparedRequest,
  name: string,
  context: Context,
): Promise<boolean> {
  const access = accessOfSession(await openSession(context))
  const kind = kindOf({ target, collection })
  const { boundaryId = '', resourceGroupName: group = '' } = target.values
  if (access === undefined || kind === undefined) return false
  const { apiVersion, plural } = GROUPS
  const path = `/apis/${apiVersion}/namespaces/${boundaryNamespace(boundaryId)}/${plural}/${encodeURIComponent(group)}`
  try {
    const { body } = await (await openKubernetes(access, context.signal))(path)
    const { retainedStorage = [] } = (body.status ?? {}) as { retainedStorage?: { kind: string; name: string }[] }
    return retainedStorage.some((retained) => retained.kind === kind.kind && retained.name === name)
  } catch (error) {
    if (error instanceof CommandFailure) return false
    throw error
  }
}

const GROUPS = RESOURCE_KINDS.find(({ kind }) => kind === 'ResourceGroup') as (typeof RESOURCE_KINDS)[number]

/** Prepares the creation of the resource to be deleted. @throws CommandFailure (usage) if its kind keeps no data */
export function prepareRecreation({ collection, target, ...prepared }: PreparedRequest, name: string): PreparedRequest {
  const { boundaryId: boundary, resourceGroupName: group } = target.values
  if (!target.route.query?.includes('keepData')) throw usage(`${collection.noun} keep no data when they are deleted.`)
  return { ...prepared, collection, target: chooseRoute(collection, 'create', { name, boundary, group }), query: {} }
}
