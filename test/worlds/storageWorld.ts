import type { FakeObjectStore } from '../../src/adapters/objectstorage/fake.ts'
import { type AccessKeyPair, accessKeySecretName, decodeAccessKey } from '../../src/contracts/objectstorage.ts'
import { STORAGE_CONTROLLERS, type StorageOptions } from '../../src/controllers/objectstorage/index.ts'
import { FINALIZER } from '../../src/core/labels.ts'
import { boundaryNamespace } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import type { SecretObject } from '../../src/core/secretData.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { AccountBucket, ObjectAccessKey, ObjectStorageAccount } from '../../src/crds/objectstorage.ts'
import { ResourceGroup } from '../../src/crds/resourcegroups.ts'
import { secret } from '../../src/kube/builtin.ts'
import { BOUNDARY_ID, ControllerBench } from './controllers.ts'

export const USAGE_INTERVAL = 60_000

export type Shown = KubeObject & {
  status?: { status?: string; phase?: string; statusMessage?: string; state?: string }
}

/** The controllers of object storage over an API server in memory, with one group `shop`. */
export class StorageBench {
  readonly bench: ControllerBench
  /** The namespace of the group. */
  readonly space: string

  constructor(options: Omit<StorageOptions, 'usageInterval'>) {
    this.bench = new ControllerBench(
      STORAGE_CONTROLLERS.map((each) => each({ usageInterval: USAGE_INTERVAL, ...options })),
    )
    this.space = this.bench.seedGroup('shop').groupSpace
    this.seed(ResourceGroup, 'shop', {}, boundaryNamespace(BOUNDARY_ID))
  }

  seed(
    kind: AnyKind,
    name: string,
    spec: object,
    namespace = this.space,
    metadata: Partial<KubeObject['metadata']> = {},
  ) {
    const whole = { namespace, creationTimestamp: '2026-01-01T00:00:00Z', ...metadata }
    return this.bench.seed(kind, name, kind.spec.parse(spec) as object, whole)
  }

  account(name = 'media', spec: object = {}): void {
    this.seed(ObjectStorageAccount, name, spec)
  }

  bucket(bucketName = 'one', spec: object = {}, accountName = 'media'): void {
    this.seed(AccountBucket, `${accountName}.${bucketName}`, { accountName, bucketName, ...spec })
  }

  key(name = 'uploader', spec: object = {}, metadata: Partial<KubeObject['metadata']> = {}): void {
    this.seed(ObjectAccessKey, name, { accountName: 'media', ...spec }, this.space, metadata)
  }

  find(kind: AnyKind, name: string): Promise<Shown | undefined> {
    return this.bench.find<Shown>(kind.resource, name, this.space)
  }

  async says(kind: AnyKind, name: string): Promise<(string | undefined)[]> {
    const { status } = (await this.find(kind, name)) ?? {}
    return [status?.status, status?.phase]
  }

  async patch(kind: AnyKind, name: string, spec: object): Promise<void> {
    await this.bench.client.mergePatch(kind.resource, { namespace: this.space, name }, { spec })
    await this.bench.rest()
  }

  async remove(kind: AnyKind, name: string): Promise<void> {
    await this.bench.client.remove(kind.resource, { namespace: this.space, name })
    await this.bench.rest()
  }

  /** The group is being deleted, and waits for its contents. */
  async leaveGroup(): Promise<void> {
    const ref = { namespace: boundaryNamespace(BOUNDARY_ID), name: 'shop' }
    this.bench.client.edit(ResourceGroup.resource, ref, ({ metadata }) => {
      metadata.finalizers = [FINALIZER]
    })
    await this.bench.client.remove(ResourceGroup.resource, ref)
    await this.bench.rest()
  }

  /** The contents of a key's Secret. */
  async pairOf(name = 'uploader'): Promise<AccessKeyPair | undefined> {
    return decodeAccessKey((await this.bench.find<SecretObject>(secret, accessKeySecretName(name), this.space))?.data)
  }
}

/** The test's actions on its current world, and its store's answers to writes. */
export function storageWords(world: () => StorageBench, store: () => FakeObjectStore) {
  const bound = <Name extends 'seed' | 'account' | 'bucket' | 'key' | 'find' | 'says' | 'patch' | 'remove' | 'pairOf'>(
    name: Name,
  ) =>
    ((...given: unknown[]) =>
      (world()[name] as (...all: unknown[]) => unknown).apply(world(), given)) as StorageBench[Name]
  return {
    seed: bound('seed'),
    account: bound('account'),
    bucket: bound('bucket'),
    key: bound('key'),
    find: bound('find'),
    says: bound('says'),
    patch: bound('patch'),
    remove: bound('remove'),
    pairOf: bound('pairOf'),
    write: (pair: AccessKeyPair | undefined, name: string, object = 'a') =>
      store().attempt(pair, 'write', name, object),
  }
}
