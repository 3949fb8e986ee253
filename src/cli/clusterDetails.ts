import { OPERATIONS, PlatformApiError, pathOf, RESOURCE_KINDS } from '../client/index.ts'
import { functionObjectName } from '../contracts/functions.ts'
import { entryName } from '../contracts/vaults/names.ts'
import { boundaryNamespace, groupNamespace } from '../core/names.ts'
import { parseJsonAnswer } from './answers.ts'
import { literalsOf } from './collections.ts'
import type { Context } from './command.ts'
import { accessOfSession, openKubernetes, type SendToKubernetes } from './kubernetes.ts'
import { type ClusterDetails, type ObjectLocation, readClusterDetails, statusOfObject } from './kubernetesDetails.ts'
import { lacksReason } from './recordStatus.ts'
import type { PreparedRequest } from './requests.ts'
import { openSession } from './session.ts'

/** Reads what the API server tells about a resource, if `setup` named one. */
export async function clusterDetailsFor(
  { collection, target }: PreparedRequest,
  name: string,
  context: Context,
): Promise<ClusterDetails | undefined> {
  const access = accessOfSession(await openSession(context))
  const location = objectLocationOf({ collection, target }, name)
  if (access === undefined || location === undefined) return undefined
  return readClusterDetails(location, await openKubernetes(access, context.signal))
}

/**
 * Returns a function that adds the reason for its status to a record without such a field, such as a job or a vault.
 * The reason comes from the boundary's list of resources, otherwise from the API server, if `setup` named one and the
 * caller may read there.
 */
export function reasonReader(
  prepared: PreparedRequest,
  name: string,
  context: Context,
): (record: unknown) => Promise<unknown> {
  let send: Promise<SendToKubernetes | undefined> | undefined
  return async (record) => {
    if (!lacksReason(record)) return record
    const listed = await listedReason(prepared, name)
    if (listed !== undefined) return { ...(record as object), statusMessage: listed }
    const location = objectLocationOf(prepared, name)
    if (location === undefined) return record
    send ??= senderFor(context)
    const ask = await send
    const statusMessage = ask === undefined ? undefined : (await statusOfObject(location, ask))?.statusMessage
    return statusMessage === undefined ? record : { ...(record as object), statusMessage }
  }
}

type Listed = { name?: unknown; collection?: unknown; resourceGroup?: unknown; statusMessage?: unknown }

/** Reads the reason from the list of resources; undefined if it is not listed, or the list is not readable. */
async function listedReason(
  { client, collection, target }: PreparedRequest,
  name: string,
): Promise<string | undefined> {
  const { boundaryId, resourceGroupName: group } = target.values
  if (boundaryId === undefined || group === undefined) return undefined
  const filter = [`name:eq:${name}`, `collection:eq:${collection.noun}`, `resourceGroup:eq:${group}`]
  const path = pathOf(OPERATIONS.GetBoundariesBoundaryIdResources.path, { boundaryId }, { filter })
  try {
    const { items = [] } = parseJsonAnswer(await client.request({ method: 'GET', path })) as { items?: Listed[] }
    const isResource = (item: Listed) =>
      item.name === name && item.collection === collection.noun && item.resourceGroup === group
    const message = items.find(isResource)?.statusMessage
    return typeof message === 'string' && message !== '' ? message : undefined
  } catch (error) {
    if (error instanceof PlatformApiError && error.status < 500) return undefined
    throw error
  }
}

async function senderFor(context: Context): Promise<SendToKubernetes | undefined> {
  const access = accessOfSession(await openSession(context))
  return access === undefined ? undefined : openKubernetes(access, context.signal)
}

/** Returns the object behind a request; undefined if there is none. */
function objectLocationOf(
  prepared: Pick<PreparedRequest, 'collection' | 'target'>,
  name: string,
): ObjectLocation | undefined {
  const kind = kindOf(prepared)
  if (kind === undefined) return undefined
  const { boundaryId = '', resourceGroupName: group = '', ...parents } = prepared.target.values
  const { placement } = kind
  const inBoundary = placement === 'boundary' ? boundaryNamespace(boundaryId) : undefined
  const namespace = placement === 'group' ? groupNamespace(boundaryId, group) : inBoundary
  return { ...kind, namespace, name: NESTED_NAMES[kind.kind]?.(parents, name) ?? name }
}

/** The object names of nested resources contain the name of their parent. */
const NESTED_NAMES: Readonly<Record<string, (parents: Readonly<Record<string, string>>, name: string) => string>> = {
  ServerlessFunction: ({ namespaceName = '' }, name) => functionObjectName(namespaceName, name),
  AccountBucket: ({ accountName = '' }, name) => `${accountName}.${name}`,
  VaultEntry: ({ resourceName = '' }, name) => entryName(resourceName, name),
}

/** Returns the kind of the objects behind a request; undefined if there is none. */
export const kindOf = ({ collection, target }: Pick<PreparedRequest, 'collection' | 'target'>) =>
  RESOURCE_KINDS.find((each) => 'collection' in each && isIn(each.collection, collection.noun, target.route.path))

/** Whether a path belongs to a collection: `blueprints/sources` is not `sources`. */
function isIn(parents: string, noun: string, path: string): boolean {
  const [last, ...below] = parents.split('/').reverse()
  return last === noun && below.every((word, at) => literalsOf(path)[at] === word.toLowerCase())
}
