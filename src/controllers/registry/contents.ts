import type { ImageRegistry } from '../../adapters/registry/port.ts'

/** A manifest that is there, without the times that the registry does not keep. */
export type Held = {
  readonly digest: string
  readonly tags: readonly string[]
  readonly mediaType: string
  readonly sizeBytes: number
  readonly references: readonly string[]
  readonly subject?: string | undefined
}

type Known = { readonly digest: string; readonly mediaType: string; readonly sizeBytes: number } & Partial<Held>

/**
 * What a repository holds now. Manifests never change, so that those that are known are not read again.
 *
 * @param announced digests that may be there without a tag, for registries that tell of tags only
 */
export async function readContents(
  registry: ImageRegistry,
  repository: string,
  { known = [], announced = [] }: { known?: readonly Known[]; announced?: readonly string[] },
): Promise<Held[]> {
  const tagsOf = new Map<string, string[]>()
  for (const tag of await registry.tags(repository)) {
    const digest = await registry.digestOf(repository, tag)
    if (digest !== undefined) tagsOf.set(digest, [...(tagsOf.get(digest) ?? []), tag])
  }
  const listed = await registry.digests(repository)
  const sure = new Set([...tagsOf.keys(), ...(listed ?? [])])
  const before = new Map(known.map((one) => [one.digest, one]))
  const held = new Map<string, Held>()
  const open = [...sure, ...(listed === undefined ? announced : [])]
  for (const digest of open) {
    if (held.has(digest)) continue
    const found = (sure.has(digest) ? before.get(digest) : undefined) ?? (await registry.manifest(repository, digest))
    if (found === undefined) continue
    const { mediaType, sizeBytes, references = [], subject } = found
    const about = subject === undefined ? {} : { subject }
    held.set(digest, { digest, tags: tagsOf.get(digest) ?? [], mediaType, sizeBytes, references, ...about })
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
