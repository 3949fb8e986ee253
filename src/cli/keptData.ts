import { PlatformApiError, RESOURCE_KINDS } from '../client/index.ts'
import { quoted } from '../core/shellWord.ts'
import { chooseRoute } from './collections.ts'
import { describeFailure } from './describeFailure.ts'
import { CommandFailure, usage } from './failure.ts'
import { type Prepared, send } from './requests.ts'

const CLAIMS = 'persistentvolumeclaims/'

/** The word and the name of what left a volume, by the name of its claim; undefined where that was cut, or names a part of it. */
export function ownerOfClaim(claim: string): { noun: string; name: string } | undefined {
  for (const { shortNames, ...kind } of RESOURCE_KINDS) {
    const found = new RegExp(`^storage-${shortNames[0]}-(.+)-\\d+$|^${shortNames[0]}-(.+)-\\d+(?:-wal)?$`).exec(claim)
    const name = found?.[1] ?? found?.[2]
    if (name !== undefined && 'collection' in kind && !/-[0-9a-f]{16}$/.test(name))
      return { noun: kind.collection, name }
  }
  return undefined
}

/** The refusal to delete a group with the commands that delete the volumes in it; the error as it is where there are none. */
export function withKeptVolumes(error: unknown, group: string, placed: readonly string[]): unknown {
  if (!(error instanceof PlatformApiError) || error.code !== 'DELETION_PROTECTED') return error
  const { resources = [] } = (error.body ?? {}) as { resources?: unknown }
  const holders = Array.isArray(resources) ? resources.map(String) : []
  const claims = holders.filter((holder) => holder.startsWith(CLAIMS)).map((holder) => holder.slice(CLAIMS.length))
  if (claims.length === 0) return error
  const commands = claims.map((claim) => {
    const { noun, name } = ownerOfClaim(claim) ?? { noun: 'KIND', name: 'NAME' }
    return `  freehold delete ${[noun, name, '-g', group, ...placed].map(quoted).join(' ')} --kept-data`
  })
  const { lines, exitCode } = describeFailure(error)
  const said = 'Volumes that were kept when their resource was deleted go for good with:'
  return new CommandFailure(exitCode, [...lines, said, ...new Set(commands)].join('\n'), { cause: error })
}

/**
 * Takes kept volumes back by a resource of the same kind and name, so that its deletion takes them away.
 *
 * @throws CommandFailure (usage) where there is such a resource, whose data nobody asked to delete
 */
export async function takeBack(reading: Prepared, given: { body: unknown; create: Prepared }): Promise<void> {
  const isThere = await send(reading).then(
    () => true,
    (error: unknown) => {
      if (error instanceof PlatformApiError && error.status === 404) return false
      throw error
    },
  )
  const { noun } = reading.collection
  if (isThere)
    throw usage(`There is such a thing in ${noun}: \`freehold delete\` without --kept-data deletes it with its data.`)
  await send(given.create, given.body).catch((error: unknown) => {
    if (!(error instanceof PlatformApiError) || error.status !== 400) throw error
    const { lines, exitCode } = describeFailure(error)
    const hint = 'The volumes go with a resource that takes them back: say with --data how it is created.'
    throw new CommandFailure(exitCode, [...lines, hint].join('\n'), { cause: error })
  })
}

/** The creation of the thing whose deletion is asked for. @throws CommandFailure (usage) for a kind that has none */
export function creationOf({ collection, target, ...prepared }: Prepared, name: string): Prepared {
  const { boundaryId: boundary, resourceGroupName: group } = target.values
  if (!target.route.query?.includes('keepData')) throw usage(`${collection.noun} keep no data when they are deleted.`)
  return { ...prepared, collection, target: chooseRoute(collection, 'create', { name, boundary, group }), query: {} }
}
