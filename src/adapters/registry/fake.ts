import { planSweep, type SweepBounds } from '../../contracts/registry/sweep.ts'
import { sha256 } from '../../core/names.ts'
import { type ImageRegistry, RegistryError, type RegistryManifest } from './port.ts'

type Stored = { manifests: Map<string, RegistryManifest & { blobs: string[] }>; tags: Map<string, string> }
type Blob = { changedAt: number; sizeBytes: number }

/** A registry in memory. Tests put images in as a client would: blobs first, then the manifest. */
export class FakeImageRegistry implements ImageRegistry {
  isDown = false
  /** Manifests that the registry does not remove. */
  readonly stuck = new Set<string>()
  readonly stored = new Map<string, Stored>()
  readonly blobs = new Map<string, Blob>()
  readonly #layers = new Map<string, Map<string, number>>()

  /** @returns the digest of the manifest, which is that of its content */
  push(repository: string, tag: string | undefined, content: PushedImage): string {
    const { blobs = [`${content.text} layer`], now = 0, references = [], subject } = content
    const digests = blobs.map((text) => this.upload(repository, text, now))
    const digest = digestOf(JSON.stringify({ content: content.text, digests, references, subject }))
    this.blobs.set(digest, { changedAt: now, sizeBytes: 100 })
    const manifest = { digest, mediaType: 'application/vnd.oci.image.manifest.v1+json', references, subject }
    const sizeBytes = 100 + blobs.reduce((sum, text) => sum + text.length, 0)
    const place = this.#place(repository)
    const rest = { sizeBytes, platforms: [], configuration: digests[0], blobs: digests }
    place.manifests.set(digest, { ...manifest, ...rest })
    if (tag !== undefined) place.tags.set(tag, digest)
    return digest
  }

  /** An upload whose manifest has not come yet. */
  upload(repository: string, text: string, now: number): string {
    const digest = digestOf(text)
    this.#place(repository)
    if (!this.blobs.has(digest)) this.blobs.set(digest, { changedAt: now, sizeBytes: text.length })
    const layers = this.#layers.get(repository) ?? new Map<string, number>()
    this.#layers.set(repository, layers)
    if (!layers.has(digest)) layers.set(digest, now)
    return digest
  }

  async repositories() {
    this.#answer()
    return [...this.stored.keys()].sort()
  }

  async tags(repository: string) {
    this.#answer()
    return [...(this.stored.get(repository)?.tags.keys() ?? [])].sort()
  }

  async manifest(repository: string, reference: string) {
    this.#answer()
    const place = this.stored.get(repository)
    const found = place?.manifests.get(place.tags.get(reference) ?? reference)
    if (found === undefined) return undefined
    const { blobs: _blobs, ...manifest } = found
    return manifest
  }

  async digestOf(repository: string, tag: string) {
    this.#answer()
    return this.stored.get(repository)?.tags.get(tag)
  }

  async details() {
    return { createdAt: undefined, labels: {}, platform: 'linux/amd64' }
  }

  async digests(repository: string) {
    return [...(this.stored.get(repository)?.manifests.keys() ?? [])].sort()
  }

  async remove(repository: string, digest: string) {
    this.#answer()
    if (this.stuck.has(digest)) throw new RegistryError('Refused', `The registry does not remove ${digest}.`)
    const place = this.stored.get(repository)
    place?.manifests.delete(digest)
    for (const [tag, target] of place?.tags ?? []) if (target === digest) place?.tags.delete(tag)
  }

  async sweep(bounds: SweepBounds) {
    this.#answer()
    const repositories = [...this.stored].map(([name, { manifests }]) => ({
      name,
      manifests: [...manifests.values()].map(({ digest, blobs, references }) => ({
        digest,
        references: [...blobs, ...references],
      })),
      layers: [...(this.#layers.get(name) ?? [])].map(([digest, changedAt]) => ({ digest, changedAt })),
    }))
    const blobs = [...this.blobs].map(([digest, blob]) => ({ digest, ...blob }))
    const plan = planSweep({ repositories, blobs }, bounds)
    for (const { repository, digest } of plan.layers) this.#layers.get(repository)?.delete(digest)
    for (const digest of plan.blobs) this.blobs.delete(digest)
    return { freedBytes: plan.freedBytes }
  }

  #answer(): void {
    if (this.isDown) throw new RegistryError('Unreachable', 'The registry does not answer.')
  }

  #place(repository: string): Stored {
    const place = this.stored.get(repository) ?? { manifests: new Map(), tags: new Map() }
    this.stored.set(repository, place)
    return place
  }
}

export type PushedImage = {
  text: string
  /** Contents of its layers; one of its own if absent. */
  blobs?: readonly string[]
  references?: readonly string[]
  subject?: string | undefined
  /** Milliseconds since the epoch. */
  now?: number
}

const digestOf = (text: string) => `sha256:${sha256(text)}`
