import { randomBytes } from 'node:crypto'
import { KEY_BYTES } from '../../contracts/vaults/envelope.ts'
import { MemoryKeyRing } from './memoryKeyRing.ts'
import type { PlatformKeys } from './port.ts'

/** Platform keys in memory, which tests add and retire. */
export class FakePlatformKeys extends MemoryKeyRing implements PlatformKeys {
  constructor(...ids: string[]) {
    super()
    for (const id of ids) this.add(id)
  }

  async refresh(): Promise<void> {}

  stop(): void {}

  add(id: string): void {
    this.replace([...this.keys, { id, bytes: randomBytes(KEY_BYTES) }])
  }

  retire(id: string): void {
    this.replace(this.keys.filter((key) => key.id !== id))
  }
}
