import type { ImageRegistry } from '../../adapters/registry/port.ts'
import type { RegistryRepository } from '../../crds/registry.ts'

type Shown = NonNullable<NonNullable<RegistryRepository['status']>['digests']>[number]
/** A manifest that is there, without the times that the registry does not keep. */
export type Held = Omit<Shown, 'pushedAt' | 'lastPulledAt'>

/**
 * What a repository holds now. Manifests never change, so that those that are known are not read again. What was
 * announced may be there without a tag, for registries that tell of tags only.
 */
export async function readContents(
  registry: ImageRegistry,
  repository: string,
  stored: Pick<RegistryRepository, 'spec' | 'status'> | undefined,
): Promise<Held[]> {
  const tagsOf = new Map<string, string[]>()
  for (const tag of await registry.tags(repository)) {
    const digest = await registry.digestOf(repository, tag)
    if (digest !== undefined) tagsOf.set(digest, [...(tagsOf.get(digest) ?? []), tag])
  }
  const listed = await registry.digests(repository)
  const sure = new Set([...tagsOf.keys(), ...(listed ?? [])])
  const known = new Map(stored?.status?.digests?.map((one) => [one.digest, one]))
  const held = new Map<string, Held>()
  const open = [...sure, ...(listed === undefined ? Object.keys(stored?.spec.digests ?? {}) : [])]
  for (const digest of open) {
    if (held.has(digest)) continue
    const found = (sure.has(digest) ? known.get(digest) : undefined) ?? (await registry.manifest(repository, digest))
    if (found === undefined) continue
    const { mediaType, sizeBytes, subject } = found
    const [tags, references] = [tagsOf.get(digest) ?? [], [...found.references]]
    held.set(digest, { digest, tags, mediaType, sizeBytes, references, ...(subject !== undefined && { subject }) })
    open.push(...references)
  }
  return [...held.values()].sort((one, other) => (one.digest < other.digest ? -1 : 1))
}

/** Milliseconds after a push in which a tag may still be written. */
const TAGGING = 10_000

/**
 * Whether a manifest without a tag may get one at any moment: the registry tells of a manifest before it writes its tag,
 * and tells nothing afterwards. What an index refers to needs none.
 */
export function awaitsTag(held: readonly Held[], pushedAt: (digest: string) => string | undefined, now: number) {
  const referred = new Set(held.flatMap(({ references }) => references))
  return held.some(
    ({ digest, tags }) =>
      tags.length === 0 && !referred.has(digest) && now - Date.parse(pushedAt(digest) ?? '') < TAGGING,
  )
}
