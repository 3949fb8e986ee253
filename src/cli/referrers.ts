import { PlatformApiError, pagesOf, type QueryValue } from '../client/index.ts'
import { parseVaultReference } from '../contracts/jobs.ts'
import { OUTPUT_COLLECTIONS } from '../contracts/references.ts'
import { isRecord } from '../core/isRecord.ts'
import type { Collection, CollectionRoute } from './collection.ts'
import { nameFieldOf, normalizedPath } from './collections.ts'
import { type PreparedRequest, send } from './requests.ts'

/** A resource that others may refer to, and its parent, if it has one. */
export type Referred = { readonly noun: string; readonly name: string; readonly parent: string | undefined }

const VAULTS = 'secretvaults'
const SECRETS = 'secrets'
const ACCOUNTS = 'objectstorageaccounts'
const BUCKETS = 'buckets'
const REFERABLE_COLLECTIONS: readonly string[] = [VAULTS, SECRETS, BUCKETS, ...OUTPUT_COLLECTIONS]

/** Path of resources that may refer to others. Functions are one level deeper. */
const GROUP = '/boundaries/{}/resourcegroups/{}/resources/'
const FUNCTIONS = 'functions'

/** Whether a record refers to the resource anywhere: in variables, volumes, triggers. */
export function refersTo(record: unknown, referred: Referred): boolean {
  if (typeof record === 'string') return isTextFor(record, referred)
  if (Array.isArray(record)) return record.some((item) => refersTo(item, referred))
  if (!isRecord(record)) return false
  return isReference(record, referred) || Object.values(record).some((item) => refersTo(item, referred))
}

function isTextFor(text: string, { noun, name, parent }: Referred): boolean {
  const found = parseVaultReference(text)
  if (noun === VAULTS) return found?.vault === name
  return noun === SECRETS && found?.vault === parent && found?.secret.toLowerCase() === name.toLowerCase()
}

function isReference(fields: Readonly<Record<string, unknown>>, { noun, name, parent }: Referred): boolean {
  const { vaultName, secretName, accountName, bucketName, collection } = fields
  if (collection === noun && fields.name === name) return true
  if (noun === VAULTS) return vaultName === name
  if (noun === SECRETS) return vaultName === parent && String(secretName).toLowerCase() === name.toLowerCase()
  if (noun === ACCOUNTS) return accountName === name && bucketName !== undefined
  return noun === BUCKETS && accountName === parent && bucketName === name
}

/**
 * Lists what refers to a resource that is about to be deleted (`apps shop`), as far as the caller may read. Makes no
 * requests for kinds that nothing can refer to.
 */
export async function referrersOf(prepared: PreparedRequest, collections: readonly Collection[]): Promise<string[]> {
  const { noun } = prepared.collection
  const { values, route } = prepared.target
  const names = route.parameters.slice(2).map((parameter) => values[parameter] ?? '')
  const [name, parent] = [names.at(-1), names.at(-2)]
  if (!REFERABLE_COLLECTIONS.includes(noun) || name === undefined || !normalizedPath(route).startsWith(GROUP)) return []
  const functions = collections.find((each) => each.noun === FUNCTIONS)
  const search = { prepared, referred: { noun, name, parent }, functions }
  const found = collections.flatMap((collection) => {
    const list = collection.routes.find(isInGroup)
    return list === undefined ? [] : [findReferring({ list, collection }, search)]
  })
  return (await Promise.all(found)).flat().sort()
}

const isInGroup = (route: CollectionRoute) => {
  const path = normalizedPath(route)
  const isDirect = path.startsWith(GROUP) && !path.slice(GROUP.length).includes('/')
  return isDirect && route.verb === 'list'
}

type Search = {
  readonly prepared: PreparedRequest
  readonly referred: Referred
  readonly functions: Collection | undefined
}

async function findReferring({ list, collection }: Listed, search: Search): Promise<string[]> {
  const { prepared, referred, functions } = search
  const { noun } = collection
  const items = await itemsAt(prepared, list, prepared.target.values)
  const nameOf = (item: unknown) => String((item as Record<string, unknown>)[nameFieldOf(collection)] ?? '')
  const direct = items
    .filter((item) => !(noun === referred.noun && nameOf(item) === referred.name) && refersTo(item, referred))
    .map((item) => `${noun} ${nameOf(item)}`)
  const functionRoute = functions?.routes.find((route) => isListBelow(route, list))
  if (functionRoute === undefined) return direct
  const found = items.map(async (item) => {
    const values = { ...prepared.target.values, [functionRoute.parameters.at(-1) ?? '']: nameOf(item) }
    const below = (await itemsAt(prepared, functionRoute, values)).filter((each) => refersTo(each, referred))
    return below.map((each) => `${FUNCTIONS} ${nameOf(each)}`)
  })
  return [...direct, ...(await Promise.all(found)).flat()]
}

type Listed = { readonly list: CollectionRoute; readonly collection: Collection }

const isListBelow = (route: CollectionRoute, list: CollectionRoute) =>
  route.verb === 'list' && normalizedPath(route) === `${normalizedPath(list)}/{}/${FUNCTIONS}`

/** Returns no items if the caller may not list them. */
async function itemsAt(
  prepared: PreparedRequest,
  route: CollectionRoute,
  parentValues: Record<string, string>,
): Promise<unknown[]> {
  const [boundaryId = '', group = ''] = [
    parentValues.boundaryId,
    parentValues.resourceGroupName ?? parentValues.resourceGroup,
  ]
  const values = { ...parentValues, boundaryId, resourceGroupName: group, resourceGroup: group }
  const items: unknown[] = []
  try {
    const page = (query: Record<string, QueryValue>) =>
      send({ ...prepared, target: { route, values }, query: route.paged === true ? { pageSize: 500, ...query } : {} })
    for await (const item of pagesOf(page, {})) items.push(item)
    return items
  } catch (error) {
    if (error instanceof PlatformApiError && error.status !== 401) return []
    throw error
  }
}
