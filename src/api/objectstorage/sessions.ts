import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { ACCOUNT_SESSIONS_MAX, keyState } from '../../contracts/objectstorage.ts'
import type { ActionName } from '../../core/actions.ts'
import { timestamp } from '../../core/clock.ts'
import { PlatformError, refusedFields } from '../../core/errors.ts'
import { PRINCIPAL_INCARNATIONS_ANNOTATION } from '../../core/labels.ts'
import { BucketName, KEY_PERMISSIONS, type KeyPermission, ObjectAccessKey } from '../../crds/objectstorage.ts'
import { principalIncarnations } from '../../crds/principals.ts'
import { isAllowedNow, resourceScope } from '../callers/visibility.ts'
import { created, NO_STORE } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { DateTime } from '../resources/dto.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import { principalLookup } from '../rules/grants.ts'
import { accountOf } from './buckets.ts'
import { issueKey, refuseUnknownBuckets } from './issuing.ts'
import { type AccountObject, COLLECTION } from './record.ts'
import { storeOf } from './store.ts'

const IssueStsRequest = strictRecord('IssueStsRequest', {
  durationSeconds: z.int().min(900).max(43_200).default(3600),
  permission: z.enum(KEY_PERMISSIONS).default('Read'),
  bucket: BucketName.nullish(),
  prefix: ObjectAccessKey.spec.shape.prefix.nullish().describe('Needs bucket'),
  sessionName: z
    .string()
    .regex(/^[\w+=,.@-]{2,64}$/, 'must be 2 to 64 letters, digits or _+=,.@-')
    .optional()
    .describe("The caller's id when absent"),
})
type IssueStsRequest = z.output<typeof IssueStsRequest>

const StsSessionDto = namedRecord('StsSessionDto', {
  accessKeyId: z.string(),
  secretAccessKey: z.string(),
  sessionToken: z.string().describe('Empty if the store needs none: send it only if it is not'),
  expiresAt: DateTime,
  endpoint: z.string(),
  regionName: z.string(),
  permission: z.enum(KEY_PERMISSIONS),
  bucket: z.string().nullable(),
  prefix: z.string().nullable(),
})

const [READ, WRITE] = ['objectbuckets/read', 'objectbuckets/write'] as const
const ACTIONS_BY_PERMISSION: Readonly<Record<KeyPermission, readonly ActionName[]>> = {
  Read: [READ],
  Write: [WRITE],
  ReadWrite: [WRITE, READ],
  Admin: [WRITE, READ],
}

/**
 * Refuses a session with more rights than its caller has on the account.
 * @throws PlatformError FORBIDDEN
 */
async function requirePermission(context: Context, permission: KeyPermission): Promise<void> {
  const { services, caller, parameters } = context
  const { boundaryId = '', resourceGroupName = '', name = '' } = parameters
  const scope = resourceScope(boundaryId, resourceGroupName, COLLECTION, name)
  for (const needed of ACTIONS_BY_PERMISSION[permission]) {
    if (await isAllowedNow(services, caller.principalId, needed, scope)) continue
    throw new PlatformError('FORBIDDEN', `A session with permission ${permission} needs ${needed}.`, { action: needed })
  }
}

/** @throws PlatformError BAD_REQUEST, REFERENCE_NOT_FOUND */
function checkRequest(context: Context, body: IssueStsRequest, account: AccountObject): void {
  const bucket = body.bucket ?? undefined
  if (bucket === undefined && (body.prefix ?? undefined) !== undefined) {
    throw refusedFields([{ field: 'prefix', message: 'needs a bucket: name it in the field bucket' }])
  }
  if (bucket !== undefined) refuseUnknownBuckets(context, account, { field: 'bucket', buckets: [bucket] })
}

/** @throws PlatformError QUOTA_EXCEEDED */
function refuseTooManySessions({ services }: Context, { metadata }: AccountObject): void {
  const now = services.clock.now()
  const used = services.records
    .peekAll(ObjectAccessKey, { namespace: metadata.namespace })
    .filter(
      (key) => key.spec.isSession && key.spec.accountName === metadata.name && keyState(key, now) === 'Active',
    ).length
  if (used < ACCOUNT_SESSIONS_MAX) return
  const extras = { quota: 'sessions', limit: ACCOUNT_SESSIONS_MAX, used, requested: 1 }
  throw new PlatformError('QUOTA_EXCEEDED', `Account "${metadata.name}" already has ${used} sessions.`, extras)
}

/** Records the incarnation of the caller, so that the session ends with them and not with a later holder of the id. */
function callerOf({ services, caller }: Context, namespace: string | undefined): Record<string, string> {
  const incarnations = principalIncarnations(principalLookup(services), [caller.principalId], namespace)
  return incarnations === undefined ? {} : { [PRINCIPAL_INCARNATIONS_ANNOTATION]: incarnations }
}

async function issueSession(context: Context<string, unknown, IssueStsRequest>) {
  const { object: account, ref } = await accountOf(context as Context, 'name')
  const { services, body, caller } = context
  refuseWhileDeleting(account)
  await requirePermission(context as Context, body.permission)
  checkRequest(context as Context, body, account)
  const [bucket, prefix] = [body.bucket ?? undefined, body.prefix ?? undefined]
  const expiresAt = timestamp(services.clock.now() + body.durationSeconds * 1000)
  const spec = {
    accountName: ref.name,
    description: body.sessionName ?? caller.principalId,
    permission: body.permission,
    buckets: bucket === undefined ? undefined : [bucket],
    prefix,
    isSession: true,
    expiresAt,
  }
  const { pair } = await issueKey(context as Context, {
    namespace: ref.namespace,
    name: randomUUID(),
    spec,
    annotations: callerOf(context as Context, ref.namespace),
    owner: `sessions/${ref.name}`,
    refuseOneMore: () => refuseTooManySessions(context as Context, account),
  })
  const { endpoint, publicEndpoint, regionName } = storeOf(services).info
  const session = {
    ...pair,
    sessionToken: '',
    expiresAt,
    endpoint: publicEndpoint ?? endpoint,
    regionName,
    permission: body.permission,
    bucket: bucket ?? null,
    prefix: prefix ?? null,
  }
  return created(session, { headers: NO_STORE })
}

export const sessionRoutes: readonly RouteDraft[] = [
  route('POST', '{RG}/objectstorageaccounts/{name}/sts/sessions', {
    auth: action('objectsts/issue'),
    further: '`objectbuckets/read` or `objectbuckets/write` at the account, as the permission of the session has it',
    summary: 'Short-lived credentials, limited to a permission, a bucket, a prefix',
    body: IssueStsRequest,
    isBodyOptional: false,
    reply: StsSessionDto,
    handler: issueSession,
  }),
]
