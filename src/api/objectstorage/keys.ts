import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { accessKeyId, KEYS_OF_ONE_OWNER, keyState } from '../../contracts/objectstorage.ts'
import { badRequest, notFound, PlatformError } from '../../core/errors.ts'
import { idOf } from '../../core/ids.ts'
import { groupNamespace } from '../../core/names.ts'
import { ManagedIdentity } from '../../crds/managedidentities.ts'
import { BucketName, KEY_PERMISSIONS, ObjectAccessKey, ObjectStorageAccount } from '../../crds/objectstorage.ts'
import { acceptedEmpty, created, noContent, ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { DateTime, pagedListOf } from '../resources/dto.ts'
import { pagedParts } from '../resources/pages.ts'
import { type ListShape, parseDateTime } from '../resources/paging.ts'
import { findGroup } from '../resources/places.ts'
import { untilChanged } from '../resources/untilChanged.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import { accountOf } from './buckets.ts'
import { issueKey, refuseUnknownBuckets } from './issuing.ts'
import { AccessKeyDto, type AccountObject, IssuedAccessKeyDto, type KeyObject, keyDto } from './record.ts'
import { storeOf } from './store.ts'

const OF_ACCOUNT = '{RG}/objectstorageaccounts/{accountName}/accesskeys'
const OF_IDENTITY = '{B}/resourcegroups/{resourceGroupName}/managedidentities/{managedIdentityId}/objectaccesskeys'

const IssueAccessKeyRequest = z
  .strictObject({
    description: z.string().max(128).nullish(),
    permission: z.enum(KEY_PERMISSIONS).default('ReadWrite'),
    buckets: z
      .array(BucketName)
      .min(1)
      .max(100)
      .nullish()
      .describe('Null: every bucket of the account, later ones too'),
    expiresAt: DateTime.nullish(),
    accountName: z.string().max(52).nullish().describe('Where the path names no account'),
  })
  .meta({ id: 'IssueAccessKeyRequest' })
type IssueAccessKeyRequest = z.output<typeof IssueAccessKeyRequest>

const UpdateAccessKeyStatusRequest = z
  .strictObject({ status: z.enum(['Active', 'Inactive']) })
  .meta({ id: 'UpdateAccessKeyStatusRequest' })
type UpdateAccessKeyStatusRequest = z.output<typeof UpdateAccessKeyStatusRequest>

function shapeAt(now: number): ListShape<KeyObject> {
  return {
    fields: {
      status: {
        title: 'Status',
        type: 'enumeration',
        values: ['Active', 'Inactive', 'Expired'],
        of: (key) => keyState(key, now),
        isSorted: false,
      },
      permission: {
        title: 'Permission',
        type: 'enumeration',
        values: KEY_PERMISSIONS,
        of: ({ spec }) => spec.permission,
        isSorted: false,
      },
      createdAt: {
        title: 'Created',
        type: 'dateTime',
        of: ({ metadata }) => metadata.creationTimestamp,
        isFiltered: false,
      },
    },
    defaultSort: '-createdAt',
    nameOf: ({ metadata }) => metadata.name,
    idOf: ({ metadata }) => metadata.name,
  }
}

function keysIn(context: Context, namespace: string): KeyObject[] {
  const all = context.services.records.peekAll(ObjectAccessKey, { namespace })
  return all.filter(({ spec }) => !spec.isSession)
}

function listed(context: Context, keys: readonly KeyObject[]) {
  const now = context.services.clock.now()
  return pagedParts(keys, context.list, shapeAt(now), (key) => keyDto(key, now))
}

/** The namespace of the group, where the identity of the path is. @throws PlatformError NOT_FOUND */
async function identityPlace(context: Context<'managedIdentityId'>) {
  const { boundaryId = '', resourceGroupName = '', managedIdentityId } = context.parameters as Record<string, string>
  await findGroup(context, boundaryId, resourceGroupName)
  const namespace = groupNamespace(boundaryId, resourceGroupName)
  const identity = context.services.records
    .peekAll(ManagedIdentity, { namespace })
    .find(
      ({ metadata }) =>
        idOf({ group: 'iam.freehold.dev', kind: 'ManagedIdentity', name: metadata.name }) === managedIdentityId,
    )
  if (identity === undefined) throw notFound(`Managed identity "${managedIdentityId}" in group "${resourceGroupName}"`)
  return { namespace, identity, managedIdentityId: managedIdentityId ?? '' }
}

/** A key of the identity. @throws PlatformError NOT_FOUND */
async function findKey(context: Context<'managedIdentityId' | 'keyId'>): Promise<KeyObject> {
  const { namespace, managedIdentityId } = await identityPlace(context)
  const { keyId } = context.parameters
  const found = keysIn(context as Context, namespace).find(
    ({ metadata, spec }) =>
      spec.managedIdentityId === managedIdentityId && accessKeyId(metadata.namespace, metadata.name) === keyId,
  )
  if (found === undefined) throw notFound(`Access key "${keyId}" of this managed identity`)
  return found
}

/** A key to the account of the path, whoever owns it. @throws PlatformError NOT_FOUND */
async function findKeyOfAccount(context: Context<'keyId'>): Promise<KeyObject> {
  const { ref } = await accountOf(context as Context, 'accountName')
  const { keyId } = context.parameters
  const found = keysIn(context as Context, ref.namespace).find(
    ({ metadata, spec }) => spec.accountName === ref.name && accessKeyId(metadata.namespace, metadata.name) === keyId,
  )
  if (found === undefined) throw notFound(`Access key "${keyId}" of account "${ref.name}"`)
  return found
}

type Owner = { namespace: string; account: AccountObject; managedIdentityId?: string }

async function issue(context: Context<string, unknown, IssueAccessKeyRequest>, owner: Owner) {
  const { services, body } = context
  const { namespace, account, managedIdentityId } = owner
  refuseWhileDeleting(account)
  const now = services.clock.now()
  const expiresAt = body.expiresAt ?? undefined
  if (expiresAt !== undefined && (parseDateTime(expiresAt) ?? 0) <= now) {
    throw badRequest('The key would be expired already.', [{ field: 'expiresAt', message: 'must lie in the future' }])
  }
  refuseUnknownBuckets(context, account, { field: 'buckets', buckets: body.buckets ?? [] })
  const used = keysIn(context as Context, namespace).filter(
    ({ spec }) =>
      spec.managedIdentityId === managedIdentityId &&
      (managedIdentityId !== undefined || spec.accountName === account.metadata.name),
  ).length
  if (used >= KEYS_OF_ONE_OWNER) {
    const extras = { quota: 'accessKeys', limit: KEYS_OF_ONE_OWNER, used, requested: 1 }
    throw new PlatformError('QUOTA_EXCEEDED', `An owner has at most ${KEYS_OF_ONE_OWNER} access keys.`, extras)
  }
  const spec = {
    accountName: account.metadata.name,
    managedIdentityId,
    description: body.description ?? undefined,
    permission: body.permission,
    buckets: body.buckets ?? undefined,
    expiresAt,
  }
  const { object, pair } = await issueKey(context as Context, { namespace, name: randomUUID(), spec })
  const { endpoint, publicEndpoint, regionName } = storeOf(services).info
  return created(
    {
      ...keyDto(object, now),
      accessKeyId: pair.accessKeyId,
      secretAccessKey: pair.secretAccessKey,
      endpoint: publicEndpoint ?? endpoint,
      regionName,
    },
    // Secrets must not stay in caches on the way.
    { headers: { 'cache-control': 'no-store' }, etag: etagOf(object) },
  )
}

/** The account of the body. @throws PlatformError MODEL_BINDING_FAILED, REFERENCE_NOT_FOUND */
function accountOfBody(context: Context<string, unknown, IssueAccessKeyRequest>, namespace: string): AccountObject {
  const { accountName } = context.body
  if (accountName === undefined || accountName === null) {
    throw new PlatformError('MODEL_BINDING_FAILED', 'The field "accountName" is required.', {
      errors: [{ field: 'accountName', message: 'is required (string)' }],
    })
  }
  const account = context.services.records.peek(ObjectStorageAccount, { namespace, name: accountName })
  if (account !== undefined) return account
  const message = `The group has no object storage account "${accountName}".`
  throw new PlatformError('REFERENCE_NOT_FOUND', message, { field: 'accountName', value: accountName })
}

/** Answers when the store has it: an answer that says Inactive means that the key opens nothing any more. */
async function setStatus(context: Context<string, unknown, UpdateAccessKeyStatusRequest>, found: KeyObject) {
  const { services, caller, ifMatch, body } = context
  const { namespace, name } = found.metadata
  const ref = { namespace, name }
  const { object } = await services.records.update(ObjectAccessKey, ref, {
    caller,
    ifMatch,
    change: (stored) => {
      refuseWhileDeleting(stored)
      if (keyState(stored, services.clock.now()) === 'Expired') {
        throw new PlatformError('INVALID_STATE', 'The key has expired: issue another one.', { status: 'Expired' })
      }
      return { ...stored.spec, isActive: body.status === 'Active' }
    },
  })
  let seen = object
  await untilChanged(context as Context, async () => {
    seen = services.records.peek(ObjectAccessKey, ref) ?? seen
    return seen.status?.state === body.status
  })
  return ok(keyDto(seen, services.clock.now()), { etag: etagOf(seen) })
}

async function remove(context: Context, { metadata }: KeyObject) {
  const { records } = context.services
  const ref = { namespace: metadata.namespace, name: metadata.name }
  const { isGone } = await records.remove(ObjectAccessKey, ref, { caller: context.caller, ifMatch: context.ifMatch })
  if (isGone) return noContent()
  const look = async () => records.peek(ObjectAccessKey, ref)?.metadata.uid !== metadata.uid
  return (await untilChanged(context as Context, look)) ? noContent() : acceptedEmpty()
}

const list = shapeAt(0) as never
const page = pagedListOf(AccessKeyDto)

export const keyRoutes: readonly RouteDraft[] = [
  route(
    'GET',
    OF_ACCOUNT,
    { auth: action('objectaccesskeys/read'), summary: 'The keys to an account', list, reply: page, answers: [200] },
    async (context) => {
      const { ref } = await accountOf(context, 'accountName')
      return listed(
        context,
        keysIn(context, ref.namespace).filter(({ spec }) => spec.accountName === ref.name),
      )
    },
  ),
  route(
    'POST',
    OF_ACCOUNT,
    {
      auth: action('objectaccesskeys/write'),
      summary: 'Issue a key; the answer is the only one with its secret',
      body: IssueAccessKeyRequest,
      reply: IssuedAccessKeyDto,
      answers: [200, 201, 422],
    },
    async (context) => {
      const { object: account, ref } = await accountOf(context as Context, 'accountName')
      const { accountName } = context.body
      if (accountName !== undefined && accountName !== null && accountName !== ref.name) {
        const message = 'differs from the path of the request'
        throw badRequest('The body speaks of another account than the path.', [{ field: 'accountName', message }])
      }
      return issue(context, { namespace: ref.namespace, account })
    },
  ),
  route(
    'GET',
    OF_IDENTITY,
    { auth: action('objectaccesskeys/read'), summary: 'The keys of an identity', list, reply: page, answers: [200] },
    async (context) => {
      const { namespace, managedIdentityId } = await identityPlace(context)
      const mine = keysIn(context, namespace).filter(({ spec }) => spec.managedIdentityId === managedIdentityId)
      return listed(context, mine)
    },
  ),
  route(
    'POST',
    OF_IDENTITY,
    {
      auth: action('objectaccesskeys/write'),
      summary: 'Issue a key of the identity; the answer is the only one with its secret',
      body: IssueAccessKeyRequest,
      reply: IssuedAccessKeyDto,
      answers: [200, 201, 422],
    },
    async (context) => {
      const { namespace, identity, managedIdentityId } = await identityPlace(context as Context<'managedIdentityId'>)
      refuseWhileDeleting(identity)
      return issue(context, { namespace, managedIdentityId, account: accountOfBody(context, namespace) })
    },
  ),
  ...oneKey(`${OF_IDENTITY}/{keyId}`, (context) => findKey(context as Context<'managedIdentityId' | 'keyId'>)),
]

/** What the interface lacks: a key of an account can be issued there, and not be withdrawn. */
export const additionalKeyRoutes: readonly RouteDraft[] = oneKey(`${OF_ACCOUNT}/{keyId}`, (context) =>
  findKeyOfAccount(context as Context<'keyId'>),
)

function oneKey(path: string, find: (context: Context) => Promise<KeyObject>): RouteDraft[] {
  return [
    route(
      'DELETE',
      path,
      { auth: action('objectaccesskeys/delete'), summary: 'Withdraw a key at once', answers: [200, 202, 204] },
      async (context) => remove(context, await find(context)),
    ),
    route(
      'PATCH',
      path,
      {
        auth: action('objectaccesskeys/write'),
        summary: 'Set a key active or inactive',
        body: UpdateAccessKeyStatusRequest,
        mediaTypes: ['application/json', 'application/merge-patch+json'],
        reply: AccessKeyDto,
        answers: [200, 409],
      },
      async (context) => setStatus(context, await find(context as Context)),
    ),
  ]
}
