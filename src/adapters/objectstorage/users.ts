import {
  type AccessKeyMetadata,
  CreateAccessKeyCommand,
  CreateUserCommand,
  DeleteAccessKeyCommand,
  DeleteUserCommand,
  GetAccessKeyLastUsedCommand,
  GetUserCommand,
  ListAccessKeysCommand,
  ListUsersCommand,
  UpdateAccessKeyCommand,
} from '@aws-sdk/client-iam'
import { type AccessKeyPair, isStoreUserName } from '../../contracts/objectstorage.ts'
import { changePolicy } from './bucketPolicies.ts'
import type { Clients } from './calls.ts'
import { attempt } from './failures.ts'
import { withGrant } from './policies.ts'
import { type KeyRequest, type ObjectStore, StoreError } from './port.ts'

const ABSENT = ['NoSuchEntity']

/** Users, keys and grants, through the IAM API (AWS IAM API reference, version 2010-05-08). */
export function userCalls(clients: Clients): Pick<ObjectStore, 'ensureKey' | 'removeKey' | 'otherKeys' | 'lastUsed'> {
  const { iam } = clients
  return {
    async ensureKey(request) {
      const arn = await ensureUser(clients, request.user)
      const pair = await ensurePair(clients, request)
      await ensureGrants(clients, request, arn)
      return pair
    },
    async removeKey(user, among) {
      for (const { AccessKeyId } of await keysOf(clients, user)) {
        await deleteKey(clients, user, AccessKeyId)
      }
      // Before the user: stores refuse a policy that names a missing user, even in a change that concerns another.
      for (const bucket of among) {
        await changePolicy(clients.s3, bucket, (policy) => withGrant(policy, { user, principal: user }, undefined))
      }
      const what = `User "${user}" could not be deleted`
      await attempt(what, () => iam.send(new DeleteUserCommand({ UserName: user })), ABSENT)
    },
    async otherKeys(users) {
      const found: string[] = []
      for await (const name of usersOf(clients)) {
        if (!isStoreUserName(name) || users.has(name)) continue
        if ((await keysOf(clients, name)).length > 0) found.push(name)
      }
      return found
    },
    async lastUsed(accessKeyId) {
      const answer = await attempt(
        'The last use of a key could not be read',
        () => iam.send(new GetAccessKeyLastUsedCommand({ AccessKeyId: accessKeyId })),
        [...ABSENT, 'AccessDenied', 'NotImplemented', 'InvalidAction'],
      )
      return answer?.AccessKeyLastUsed?.LastUsedDate?.toISOString()
    },
  }
}

/** Creates the user if needed. Returns the ARN. */
async function ensureUser({ iam }: Clients, user: string): Promise<string> {
  const what = `User "${user}" could not be created`
  const made = await attempt(what, () => iam.send(new CreateUserCommand({ UserName: user })), ['EntityAlreadyExists'])
  const found = made ?? (await attempt(what, () => iam.send(new GetUserCommand({ UserName: user }))))
  return found?.User?.Arn ?? `arn:aws:iam:::user/${user}`
}

async function* usersOf({ iam }: Clients): AsyncGenerator<string> {
  let Marker: string | undefined
  do {
    const list = new ListUsersCommand({ Marker })
    const answer = await attempt('The users of the store could not be listed', () => iam.send(list))
    for (const { UserName } of answer?.Users ?? []) if (UserName !== undefined) yield UserName
    Marker = answer?.IsTruncated === true ? answer.Marker : undefined
  } while (Marker !== undefined)
}

async function keysOf({ iam }: Clients, user: string): Promise<AccessKeyMetadata[]> {
  const what = `The keys of user "${user}" could not be listed`
  const answer = await attempt(what, () => iam.send(new ListAccessKeysCommand({ UserName: user })), ABSENT)
  return answer?.AccessKeyMetadata ?? []
}

async function deleteKey({ iam }: Clients, user: string, id: string | undefined): Promise<void> {
  if (id === undefined) return
  await attempt(
    `A key of user "${user}" could not be deleted`,
    () => iam.send(new DeleteAccessKeyCommand({ UserName: user, AccessKeyId: id })),
    ABSENT,
  )
}

async function ensurePair(clients: Clients, request: KeyRequest): Promise<AccessKeyPair> {
  const { user, known, isActive } = request
  let present: AccessKeyMetadata | undefined
  for (const key of await keysOf(clients, user)) {
    if (known !== undefined && key.AccessKeyId === known.accessKeyId) present = key
    else await deleteKey(clients, user, key.AccessKeyId)
  }
  if (known !== undefined && present !== undefined) {
    if ((present.Status === 'Active') !== isActive) await setActive(clients, user, known.accessKeyId, isActive)
    return known
  }
  const pair = await createPair(clients, user)
  await request.keep(pair)
  if (!isActive) await setActive(clients, user, pair.accessKeyId, false)
  return pair
}

async function createPair({ iam }: Clients, user: string): Promise<AccessKeyPair> {
  const what = `A key of user "${user}" could not be created`
  const answer = await attempt(what, () => iam.send(new CreateAccessKeyCommand({ UserName: user })))
  const { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey } = answer?.AccessKey ?? {}
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    throw new StoreError('Refused', `${what}: the answer of the store had no key pair.`)
  }
  return { accessKeyId, secretAccessKey }
}

async function setActive({ iam }: Clients, user: string, id: string, isActive: boolean) {
  const Status = isActive ? 'Active' : 'Inactive'
  await attempt(`A key of user "${user}" could not be set ${Status}`, () =>
    iam.send(new UpdateAccessKeyCommand({ UserName: user, AccessKeyId: id, Status })),
  )
}

async function ensureGrants(clients: Clients, request: KeyRequest, principal: string): Promise<void> {
  const { user, grants, among } = request
  const byBucket = new Map(grants.map((grant) => [grant.bucket, grant]))
  for (const bucket of new Set([...among, ...byBucket.keys()])) {
    const grant = byBucket.get(bucket)
    await changePolicy(clients.s3, bucket, (policy) => withGrant(policy, { user, principal }, grant))
  }
}
