import { planSweep, type SweepBlob, type SweepBounds } from '../../contracts/registry/sweep.ts'
import { sha256 } from '../../core/names.ts'
import type { ImageRegistry, RegistryManifest } from './port.ts'

type Stored = { manifests: Map<string, RegistryManifest>; tags: Map<string, string>; layers: Map<string, SweepBlob> }

/** A registry in memory, of images that have one layer each. */
export class FakeImageRegistry implements ImageRegistry {
  readonly blobs = new Map<string, SweepBlob>()
  readonly #stored = new Map<string, Stored>()

  /**
   * Pushes an image as a client would: its layer first, then the manifest.
   *
   * @param now milliseconds since the epoch
   * @returns the digest of the manifest
   */
  push(repository: string, tag: string | undefined, { text, now = 0 }: { text: string; now?: number }): string {
    const place = this.#stored.get(repository) ?? { manifests: new Map(), tags: new Map(), layers: new Map() }
    this.#stored.set(repository, place)
    const content = `${text} layer`
    const layer = { digest: digestOf(content), changedAt: now, sizeBytes: content.length }
    const digest = digestOf(`${text} manifest`)
    if (!this.blobs.has(layer.digest)) this.blobs.set(layer.digest, layer)
    if (!place.layers.has(layer.digest)) place.layers.set(layer.digest, layer)
    this.blobs.set(digest, { digest, changedAt: now, sizeBytes: 100 })
    place.manifests.set(digest, {
      ...{ digest, mediaType: 'application/vnd.oci.image.manifest.v1+json', sizeBytes: 100 + content.length },
      ...{ references: [], subject: undefined, platforms: [], configuration: layer.digest },
    })
    if (tag !== undefined) place.tags.set(tag, digest)
    return digest
  }

  async repositories(folder?: string) {
    return [...this.#stored.keys()].filter((name) => folder === undefined || name.startsWith(`${folder}/`)).sort()
  }

  async tags(repository: string) {
    return [...(this.#stored.get(repository)?.tags.keys() ?? [])].sort()
  }

  async manifest(repository: string, reference: string) {
    const place = this.#stored.get(repository)
    return place?.manifests.get(place.tags.get(reference) ?? reference)
  }

  async digestOf(repository: string, tag: string) {
    return this.#stored.get(repository)?.tags.get(tag)
  }

  async details() {
    return { createdAt: undefined, labels: {}, platform: 'linux/amd64' }
  }

  async digests(repository: string) {
    return [...(this.#stored.get(repository)?.manifests.keys() ?? [])].sort()
  }

  async remove(repository: string, digest: string) {
    const place = this.#stored.get(repository)
    place?.manifests.delete(digest)
    for (const [tag, target] of place?.tags ?? []) if (target === digest) place?.tags.delete(tag)
  }

  async bytesOf(folder: string) {
    const held = new Map<string, number>()
    for (const name of await this.repositories(folder)) {
      for (const { digest, sizeBytes } of this.#stored.get(name)?.layers.values() ?? []) held.set(digest, sizeBytes)
      for (const digest of this.#stored.get(name)?.manifests.keys() ?? []) held.set(digest, 100)
    }
    return [...held.values()].reduce((sum, bytes) => sum + bytes, 0)
  }

  async sweep(bounds: SweepBounds) {
    const repositories = [...this.#stored].map(([name, { manifests, layers }]) => ({
      name,
      manifests: [...manifests.values()].map(({ digest, configuration = '' }) => ({
        digest,
        references: [configuration],
      })),
      layers: [...layers.values()],
    }))
    const plan = planSweep({ repositories, blobs: [...this.blobs.values()] }, bounds)
    for (const { repository, digest } of plan.layers) this.#stored.get(repository)?.layers.delete(digest)
    for (const digest of plan.blobs) this.blobs.delete(digest)
    return { freedBytes: plan.freedBytes }
  }
}

const digestOf = (text: string) => `sha256:${sha256(text)}`
