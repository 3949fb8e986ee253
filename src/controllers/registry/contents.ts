import type { ImageRegistry } from '../../adapters/registry/port.ts'
import { compareTexts } from '../../core/textOrder.ts'
import type { RegistryRepository } from '../../crds/registry.ts'

type Shown = NonNullable<NonNullable<RegistryRepository['status']>['digests']>[number]
/** A manifest in the registry, without times, which the registry does not record. */
export type UntimedManifest = Omit<Shown, 'pushedAt' | 'lastPulledAt'>

/**
 * Reads the contents of a repository. Manifests are immutable, so known ones are not read again. Announced digests may
 * exist without a tag, for registries that only list tags.
 *
 * @param changedTags the only tags that may point elsewhere than before; absent if any may
 */
export async function readContents(
  registry: ImageRegistry,
  repository: string,
  stored: Pick<RegistryRepository, 'spec' | 'status'> | undefined,
  changedTags?: readonly string[],
): Promise<UntimedManifest[]> {
  const tagsOf = new Map<string, string[]>()
  const unchanged = changedTags === undefined ? new Map<string, string>() : unchangedTags(stored, changedTags)
  for (const tag of await registry.tags(repository)) {
    const digest = unchanged.get(tag) ?? (await registry.digestOf(repository, tag))
    if (digest !== undefined) tagsOf.set(digest, [...(tagsOf.get(digest) ?? []), tag])
  }
  const listed = await registry.digests(repository)
  const sure = new Set([...tagsOf.keys(), ...(listed ?? [])])
  const known = new Map(stored?.status?.digests?.map((one) => [one.digest, one]))
  const held = new Map<string, UntimedManifest>()
  const pending = [...sure, ...(listed === undefined ? Object.keys(stored?.spec.digests ?? {}) : [])]
  for (const digest of pending) {
    if (held.has(digest)) continue
    const found = (sure.has(digest) ? known.get(digest) : undefined) ?? (await registry.manifest(repository, digest))
    if (found === undefined) continue
    const { mediaType, sizeBytes, subject } = found
    const [tags, references] = [tagsOf.get(digest) ?? [], [...found.references]]
    held.set(digest, { digest, tags, mediaType, sizeBytes, references, ...(subject !== undefined && { subject }) })
    pending.push(...references)
  }
  return [...held.values()].sort((one, other) => compareTexts(one.digest, other.digest))
}

/** Returns the tags that still point to the digest that they were read with. */
function unchangedTags(
  stored: Pick<RegistryRepository, 'status'> | undefined,
  changedTags: readonly string[],
): Map<string, string> {
  const changed = new Set(changedTags)
  const pairs = stored?.status?.digests?.flatMap(({ digest, tags }) => tags.map((tag) => [tag, digest] as const)) ?? []
  return new Map(pairs.filter(([tag]) => !changed.has(tag)))
}

/** Milliseconds after a push within which its tag may still be written. */
const TAG_GRACE_MS = 10_000

/**
 * Whether an untagged manifest may get its tag at any moment: the registry announces a manifest before it writes the
 * tag, and announces nothing afterwards. Manifests that an index refers to need no tag.
 */
export function awaitsTag(
  held: readonly UntimedManifest[],
  pushedAt: (digest: string) => string | undefined,
  now: number,
) {
  const referred = new Set(held.flatMap(({ references }) => references))
  return held.some(
    ({ digest, tags }) =>
      tags.length === 0 && !referred.has(digest) && now - Date.parse(pushedAt(digest) ?? '') < TAG_GRACE_MS,
  )
}
