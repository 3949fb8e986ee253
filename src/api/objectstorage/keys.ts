import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { isConsumerKey, keyState, OWNER_KEYS_MAX } from '../../contracts/objectstorage.ts'
import type { ActionName } from '../../core/actions.ts'
import { notFound, PlatformError, refusedFields, unreadableFields } from '../../core/errors.ts'
import { groupNamespace } from '../../core/names.ts'
import { refOf } from '../../core/object.ts'
import { identityIdOf, ManagedIdentity } from '../../crds/managedidentities.ts'
import { BucketName, KEY_PERMISSIONS, ObjectAccessKey, ObjectStorageAccount } from '../../crds/objectstorage.ts'
import { requireActionBelow, resourceScope } from '../callers/visibility.ts'
import { NO_STORE } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { strictRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft } from '../http/route.ts'
import { collection } from '../resources/collection/collection.ts'
import type { CollectionParent } from '../resources/collection/parents.ts'
import type { CreationResult } from '../resources/collection/types.ts'
import { DateTime } from '../resources/dto.ts'
import { findGroup } from '../resources/find.ts'
import { dateTime, enumeration } from '../resources/paging.ts'
import { pollUntilChanged } from '../resources/pollUntilChanged.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import { refusePast } from '../rules/expiry.ts'
import { accountOf } from './buckets.ts'
import { issueKey, refuseUnknownBuckets } from './issuing.ts'
import { AccessKeyDto, type AccountObject, COLLECTION, IssuedAccessKeyDto, type KeyObject, keyDto } from './record.ts'
import { storeOf } from './store.ts'

const IssueAccessKeyRequest = strictRecord('IssueAccessKeyRequest', {
  description: ObjectAccessKey.spec.shape.description.nullish(),
  permission: z.enum(KEY_PERMISSIONS).default('ReadWrite'),
  buckets: z.array(BucketName).min(1).max(100).nullish().describe('Null: every bucket of the account, later ones too'),
  expiresAt: DateTime.nullish(),
  accountName: z.string().max(52).nullish().describe('Where the path names no account'),
})
type IssueAccessKeyRequest = z.output<typeof IssueAccessKeyRequest>

const UpdateAccessKeyStatusRequest = strictRecord('UpdateAccessKeyStatusRequest', {
  status: z.enum(['Active', 'Inactive']),
})
function keysIn(context: Context, namespace: string): KeyObject[] {
  const all = context.services.records.peekAll(ObjectAccessKey, { namespace })
  return all.filter(({ spec }) => !spec.isSession)
}

type Owner = { namespace: string; account: AccountObject; managedIdentityId?: string }

/** @throws PlatformError QUOTA_EXCEEDED */
function refuseTooManyKeys(context: Context, { namespace, account, managedIdentityId }: Owner): void {
  const used = keysIn(context, namespace).filter(
    (key) =>
      !isConsumerKey(key) &&
      key.spec.managedIdentityId === managedIdentityId &&
      (managedIdentityId !== undefined || key.spec.accountName === account.metadata.name),
  ).length
  if (used < OWNER_KEYS_MAX) return
  const extras = { quota: 'accessKeys', limit: OWNER_KEYS_MAX, used, requested: 1 }
  throw new PlatformError('QUOTA_EXCEEDED', `An owner can have at most ${OWNER_KEYS_MAX} access keys.`, extras)
}

async function issue(context: Context<string, unknown, IssueAccessKeyRequest>, owner: Owner) {
  const { services, body } = context
  const { namespace, account, managedIdentityId } = owner
  refuseWhileDeleting(account)
  const now = services.clock.now()
  const expiresAt = body.expiresAt ?? undefined
  refusePast(now, 'expiresAt', body)
  refuseUnknownBuckets(context, account, { field: 'buckets', buckets: body.buckets ?? [] })
  const spec = {
    accountName: account.metadata.name,
    managedIdentityId,
    description: body.description ?? undefined,
    permission: body.permission,
    buckets: body.buckets ?? undefined,
    expiresAt,
  }
  const { object, pair } = await issueKey(context as Context, {
    namespace,
    name: randomUUID(),
    spec,
    owner: managedIdentityId ?? `accounts/${account.metadata.name}`,
    refuseOneMore: () => refuseTooManyKeys(context as Context, owner),
  })
  const { endpoint, publicEndpoint, regionName } = storeOf(services).info
  return {
    object,
    more: { ...pair, endpoint: publicEndpoint ?? endpoint, regionName },
    headers: NO_STORE,
  }
}

type KeyAction = Extract<ActionName, `objectaccesskeys/${string}`>

/** Returns the scope at which rights on keys of an account are checked, whatever the path. */
function scopeOfAccount({ parameters }: Context, accountName: string): string {
  const { boundaryId = '', resourceGroupName = '' } = parameters
  return resourceScope(boundaryId, resourceGroupName, COLLECTION, accountName)
}

/** Checks the account too, because a deny may be at a single one. @throws PlatformError FORBIDDEN */
function requireAtAccount(context: Context, action: KeyAction, accountName: string): Promise<void> {
  return requireActionBelow(context, action, scopeOfAccount(context, accountName))
}

/** Returns the account named in the body. @throws PlatformError MODEL_BINDING_FAILED, FORBIDDEN, REFERENCE_NOT_FOUND */
async function accountOfBody(context: Issue, namespace: string): Promise<AccountObject> {
  const { accountName } = context.body
  if (accountName === undefined || accountName === null)
    throw unreadableFields([{ field: 'accountName', message: 'is required (a string)' }])
  await requireAtAccount(context as Context, 'objectaccesskeys/write', accountName)
  const account = context.services.records.peek(ObjectStorageAccount, { namespace, name: accountName })
  if (account !== undefined) return account
  const message = `The group has no object storage account "${accountName}".`
  throw new PlatformError('REFERENCE_NOT_FOUND', message, { field: 'accountName', value: accountName })
}

/** The keys that a path concerns. */
type KeysParent = CollectionParent & { readonly namespace: string; readonly isOf: (spec: KeyObject['spec']) => boolean }
type Issue = Context<string, unknown, IssueAccessKeyRequest>

/** @throws PlatformError NOT_FOUND */
async function atAccount(context: Context) {
  const { object: account, ref } = await accountOf(context, 'accountName')
  const isOf = ({ accountName }: KeyObject['spec']) => accountName === ref.name
  return { namespace: ref.namespace, account, isOf, errorSuffix: ` of account "${ref.name}"` }
}

/** @throws PlatformError NOT_FOUND */
async function atIdentity(context: Context) {
  const { boundaryId = '', resourceGroupName = '', managedIdentityId = '' } = context.parameters
  await findGroup(context, boundaryId, resourceGroupName)
  const namespace = groupNamespace(boundaryId, resourceGroupName)
  const stored = async (fresh: boolean) => {
    const all = await context.services.records.list(ManagedIdentity, { namespace }, { fresh })
    return all.find((identity) => identityIdOf(identity) === managedIdentityId)
  }
  // If not cached, ask the API server: the identity may have just been created.
  const owner = (await stored(false)) ?? (await stored(true))
  if (owner === undefined) throw notFound(`Managed identity "${managedIdentityId}" in group "${resourceGroupName}"`)
  const { services, caller } = context
  const isShown = ({ accountName }: KeyObject['spec']) =>
    services.access.isAllowed(caller.principalId, 'objectaccesskeys/read', scopeOfAccount(context, accountName))
  const isOf = (spec: KeyObject['spec']) => spec.managedIdentityId === managedIdentityId && isShown(spec)
  return { namespace, owner, managedIdentityId, isOf, errorSuffix: ' of this managed identity' }
}

/** Returns the collection of keys at one of the two paths. */
function keysAt<P extends KeysParent>(options: {
  path: string
  summary: string
  issueSummary: string
  parent: (context: Context) => Promise<P>
  issue: (context: Issue, parent: P) => Promise<CreationResult<typeof ObjectAccessKey>>
}) {
  return collection(ObjectAccessKey, {
    path: options.path,
    item: 'keyId',
    noun: 'Access key',
    parent: options.parent,
    includes: ({ spec }, parent) => !spec.isSession && parent.isOf(spec),
    may: {
      read: action('objectaccesskeys/read'),
      write: action('objectaccesskeys/write'),
      delete: action('objectaccesskeys/delete'),
    },
    dto: AccessKeyDto,
    toDto: (key, { services }) => keyDto(key, services.clock.now()),
    columns: {
      status: enumeration('Status', ['Active', 'Inactive', 'Expired'], { isSorted: false }),
      permission: enumeration('Permission', KEY_PERMISSIONS, { isSorted: false }),
      createdAt: dateTime('Created', { isFiltered: false }),
    },
    sort: '-createdAt',
    list: { summary: options.summary },
    create: {
      summary: options.issueSummary,
      body: IssueAccessKeyRequest,
      reply: IssuedAccessKeyDto,
      make: options.issue,
    },
    patch: {
      summary: 'Set a key active or inactive',
      body: UpdateAccessKeyStatusRequest,
      before: (context, { spec }) => requireAtAccount(context as Context, 'objectaccesskeys/write', spec.accountName),
      toSpec: (stored, { services, body }) => {
        if (keyState(stored, services.clock.now()) !== 'Expired') {
          return { ...stored.spec, isActive: body.status === 'Active' }
        }
        throw new PlatformError('INVALID_STATE', 'The key has expired: issue another one.', {
          status: 'Expired',
          phase: null,
        })
      },
      after: waitUntilApplied,
    },
    remove: {
      summary: 'Withdraw a key at once',
      before: (context, { spec }) => requireAtAccount(context as Context, 'objectaccesskeys/delete', spec.accountName),
      waits: true,
    },
  })
}

/** Waits until the store has applied the change: a response with Inactive means that the key is dead. */
async function waitUntilApplied(context: Context, object: KeyObject): Promise<KeyObject> {
  let current = object
  await pollUntilChanged(context, async () => {
    current = context.services.records.peek(ObjectAccessKey, refOf(object)) ?? current
    return current.status?.state === (object.spec.isActive ? 'Active' : 'Inactive')
  })
  return current
}

const ofAccount = keysAt({
  path: `{RG}/${COLLECTION}/{accountName}/accesskeys`,
  summary: 'The keys to an account',
  issueSummary: 'Issue a key; the answer is the only one with its secret',
  parent: atAccount,
  issue: (context, { namespace, account }) => {
    const { accountName } = context.body
    if (accountName !== undefined && accountName !== null && accountName !== account.metadata.name) {
      const message = 'differs from the path of the request'
      throw refusedFields([{ field: 'accountName', message }])
    }
    return issue(context, { namespace, account })
  },
})

const ofIdentity = keysAt({
  path: '{B}/resourcegroups/{resourceGroupName}/managedidentities/{managedIdentityId}/objectaccesskeys',
  summary: 'The keys of an identity',
  issueSummary: 'Issue a key of the identity; the answer is the only one with its secret',
  parent: atIdentity,
  issue: async (context, { namespace, managedIdentityId }) =>
    issue(context, { namespace, managedIdentityId, account: await accountOfBody(context, namespace) }),
})

export const keyRoutes: readonly RouteDraft[] = [...ofAccount.routes(), ...ofIdentity.routes()]
