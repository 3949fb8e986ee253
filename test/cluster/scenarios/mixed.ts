import { expect } from 'chai'
import {
  type AccessKeyPair,
  accessKeySecretName,
  decodeAccessKey,
  storeBucketName,
} from '../../../src/contracts/objectstorage.ts'
import { entryName } from '../../../src/contracts/vaults/names.ts'
import type { KubeObject } from '../../../src/core/object.ts'
import type { SecretData } from '../../../src/core/secretData.ts'
import { AccountBucket, ObjectAccessKey, ObjectStorageAccount } from '../../../src/crds/objectstorage.ts'
import { SqlInstance } from '../../../src/crds/sql.ts'
import { SecretVault, VaultEntry } from '../../../src/crds/vaults.ts'
import { secret } from '../../../src/kube/builtin.ts'
import { clientOf } from '../../make/s3Client.ts'
import { until } from '../../make/until.ts'
import { type Scenario, type Stage, WAIT } from '../crashes.ts'

type Shown = KubeObject & { spec: Record<string, unknown>; status?: Record<string, unknown> }

function tools({ own: { admin }, home }: Stage) {
  const find = (resource: typeof secret, name: string) =>
    admin.get<Shown>(resource, { namespace: home, name }).catch(() => undefined)
  return {
    find,
    gone: (resource: typeof secret, name: string) =>
      until(`${name} is gone`, async () => (await find(resource, name)) === undefined, WAIT),
    change: (resource: typeof secret, name: string, spec: object) =>
      admin.mergePatch(resource, { namespace: home, name }, { spec }),
    pair: async (name: string): Promise<AccessKeyPair | undefined> => {
      const found = await find(secret, accessKeySecretName(name))
      return decodeAccessKey(found?.data as SecretData | undefined)
    },
  }
}

/** A value as kubectl writes it: a Secret that the entry follows. */
async function write(stage: Stage, value: string): Promise<void> {
  const { own, home, suffix, create, untilReady } = stage
  const { find } = tools(stage)
  const vaultName = `safe-${suffix}`
  const name = entryName(vaultName, 'Password')
  const source = await own.admin.apply(secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'incoming', namespace: home },
    type: 'Opaque',
    stringData: { value },
  } as KubeObject)
  const valueFrom = { secretName: 'incoming', key: 'value' }
  if ((await find(VaultEntry.resource, name)) === undefined) {
    await create(VaultEntry, name, { vaultName, secretName: 'Password', valueFrom })
  }
  const taken = (entry: KubeObject | undefined) =>
    (entry as unknown as VaultEntry | undefined)?.spec.history?.source?.resourceVersion
  await until('the value is stored', async () => {
    return taken(await find(VaultEntry.resource, name)) === source.metadata.resourceVersion
  })
  await untilReady(VaultEntry, name)
}

/** An account whose key is lost, recreated, and disabled: the store must agree with the objects. */
async function useStore(stage: Stage): Promise<void> {
  const { own, home, suffix, create, untilReady } = stage
  const { find, change, pair } = tools(stage)
  const account = `media-${suffix}`
  const bucket = `${account}.one`
  await create(ObjectStorageAccount, account, {})
  await create(AccountBucket, bucket, { accountName: account, bucketName: 'one' })
  await create(ObjectAccessKey, 'uploader', { accountName: account })
  await untilReady(AccountBucket, bucket)
  await untilReady(ObjectAccessKey, 'uploader')
  const endpoint = (await find(ObjectStorageAccount.resource, account))?.status?.endpoint as string
  const attempt = async (what: 'write' | 'read', as: AccessKeyPair | undefined) =>
    clientOf(endpoint)(as, what, storeBucketName(account, 'one'), 'object')
  const opens = (expected: number) =>
    until(
      `the key is answered ${expected}`,
      async () => (await attempt('write', await pair('uploader'))) === expected,
      WAIT,
    )
  await opens(200)
  const first = await pair('uploader')
  await own.admin.remove(secret, { namespace: home, name: accessKeySecretName('uploader') })
  await until('the key pair is stored again', async () => (await pair('uploader')) !== undefined, WAIT)
  await opens(200)
  // A pass in progress restores the same pair; otherwise it is a new one, and the lost pair no longer works.
  const now = await pair('uploader')
  const isSame = now?.accessKeyId === first?.accessKeyId
  expect(await attempt('read', first), 'the lost key').to.equal(isSame ? 200 : 403)
  await change(ObjectAccessKey.resource, 'uploader', { isActive: false })
  await opens(403)
  await until(
    'the key says so',
    async () => (await find(ObjectAccessKey.resource, 'uploader'))?.status?.state === 'Inactive',
    WAIT,
  )
}

/** A SQL instance, a vault and an object store are used, and most of it is deleted or revoked. */
export const mixed: Scenario = async (stage) => {
  const { own, home, suffix, create, untilReady } = stage
  const { find, change, gone } = tools(stage)
  await create(SqlInstance, 'books', { engine: 'MariaDb', computePlan: 'sql-dev', onDelete: 'Retain' })
  await create(SecretVault, `safe-${suffix}`, {})
  await untilReady(SecretVault, `safe-${suffix}`)
  await write(stage, 'one')
  // If the store cannot be built, only the others are killed.
  if (own.hasStore) await useStore(stage)
  await write(stage, 'two')
  await change(VaultEntry.resource, entryName(`safe-${suffix}`, 'Password'), { state: 'Deleted' })
  await untilReady(SqlInstance, 'books')
  await own.admin.remove(SqlInstance.resource, { namespace: home, name: 'books' })
  await gone(SqlInstance.resource, 'books')
  await create(SqlInstance, 'books', { engine: 'MariaDb', computePlan: 'sql-dev', onDelete: 'Retain' })
  await untilReady(SqlInstance, 'books')
  await untilReady(VaultEntry, entryName(`safe-${suffix}`, 'Password'))
  await until(
    'the vault has counted',
    async () => (await find(SecretVault.resource, `safe-${suffix}`))?.status?.deletedCount === 1,
    WAIT,
  )
}
