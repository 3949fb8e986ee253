import { type ImageRegistry, isRegistryError } from '../../adapters/registry/port.ts'
import { PlatformError } from '../../core/errors.ts'
import { createLruCache } from '../../core/lruCache.ts'

/** Milliseconds for which a size is known: measuring it reads the folders of all repositories of a boundary. */
const SIZE_TTL_MS = 30_000

/** How many bytes of images a boundary may hold, where the platform can measure them. */
export class BoundarySpace {
  readonly #registry: Pick<ImageRegistry, 'bytesOf'>
  readonly #limit: number
  readonly #sizes = createLruCache<string, Promise<number | undefined>>(10_000, SIZE_TTL_MS)

  /** @param limit in bytes */
  constructor(registry: Pick<ImageRegistry, 'bytesOf'>, limit: number) {
    this.#registry = registry
    this.#limit = limit
  }

  /** Must be called before a push is permitted. @throws PlatformError QUOTA_EXCEEDED, in the format of registry clients too */
  async refuseIfFull(boundaryId: string): Promise<void> {
    const used = (await this.#sizeOf(boundaryId)) ?? 0
    const limit = this.#limit
    if (used < limit) return
    const message = `The images of this boundary have ${used} of ${limit} bytes. Delete pins and resource groups that are not needed: their images are removed by the next retention runs.`
    const errors = [{ code: 'DENIED', message }]
    throw new PlatformError('QUOTA_EXCEEDED', message, { quota: 'images', limit, used, requested: 1, errors })
  }

  /** A disk that cannot be read must not stop pushes: the limit is for tenants, not for administrators. */
  #sizeOf(boundaryId: string): Promise<number | undefined> {
    const known = this.#sizes.get(boundaryId)
    if (known !== undefined) return known
    const size = this.#registry.bytesOf(boundaryId).catch((error: unknown) => {
      if (!isRegistryError(error)) throw error
      return undefined
    })
    this.#sizes.set(boundaryId, size)
    size.catch(() => this.#sizes.delete(boundaryId))
    return size
  }
}
