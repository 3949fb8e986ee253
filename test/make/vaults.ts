import { FakePlatformKeys } from '../../src/adapters/platformkeys/fake.ts'
import type { Vaults } from '../../src/api/vaults/keys.ts'
import type { ValueStore } from '../../src/api/vaults/values.ts'
import { decodeJwe, decodeNewestValue, encodeNewestValue } from '../../src/contracts/vaults/valueSecret.ts'
import type { KubeObject } from '../../src/core/object.ts'
import type { SecretData } from '../../src/core/secretData.ts'

/** Secrets with vault values in memory. */
export class MemoryValues implements ValueStore {
  readonly objects = new Map<string, KubeObject>()

  async read(namespace: string, name: string): Promise<string | undefined> {
    return decodeJwe(this.objects.get(`${namespace}/${name}`)?.data as SecretData | undefined)
  }

  async readKey(namespace: string, name: string) {
    const data = this.objects.get(`${namespace}/${name}`)?.data as SecretData | undefined
    const wrapped = decodeJwe(data)
    return wrapped === undefined ? undefined : { wrapped, newest: decodeNewestValue(data) }
  }

  async keepNewest(namespace: string, name: string, sealed: string): Promise<void> {
    const data = this.objects.get(`${namespace}/${name}`)?.data as SecretData | undefined
    if (data !== undefined) Object.assign(data, encodeNewestValue(sealed))
  }

  async create(object: KubeObject): Promise<boolean> {
    const key = `${object.metadata.namespace}/${object.metadata.name}`
    if (this.objects.has(key)) return false
    this.objects.set(key, object)
    return true
  }

  async wipe(namespace: string, name: string): Promise<void> {
    const object = this.objects.get(`${namespace}/${name}`)
    if (object !== undefined) delete object.data
  }
}

/** The dependencies of the vault routes, in memory. */
export function makeVaults(): Vaults & { keys: FakePlatformKeys; values: MemoryValues } {
  return { keys: new FakePlatformKeys('first'), values: new MemoryValues(), baseUrl: 'https://platform.test' }
}
