import { type ImageReferences, type ImageUses, NO_IMAGE_USES } from './retention.ts'

/** Matches the name of one of our images anywhere in a text, by tag or by digest, whatever registry precedes it. */
const IMAGE =
  /([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\/[a-z0-9][a-z0-9-]*){3})(?::([A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(?:@(sha256:[0-9a-f]{64}))?/g

/**
 * Returns the images that objects name anywhere: in a spec, a status, a kept revision. Searches their JSON, so that
 * later kinds are covered without being listed here. An image without tag and digest means `latest`.
 */
export function imagesIn(objects: Iterable<unknown>): ReadonlyMap<string, ImageReferences> {
  const found = new Map<string, { digests: Set<string>; tags: Set<string> }>()
  for (const object of objects) {
    for (const [, repository = '', tag, digest] of JSON.stringify(object, joinImageAndTag).matchAll(IMAGE)) {
      const named = found.get(repository) ?? { digests: new Set(), tags: new Set() }
      found.set(repository, named)
      if (digest !== undefined) named.digests.add(digest)
      if (digest === undefined) named.tags.add(tag ?? 'latest')
    }
  }
  return found
}

/** Returns the names of all our images that objects name, each once. */
export function imageNamesIn(objects: Iterable<unknown>): string[] {
  return [...imagesIn(objects)].flatMap(([repository, { digests, tags }]) => [
    ...[...digests].map((digest) => `${repository}@${digest}`),
    ...[...tags].map((tag) => `${repository}:${tag}`),
  ])
}

/** JSON replacer that joins image and tag in records that keep them apart, as jobs do. */
function joinImageAndTag(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const { image, tag } = value as { image?: unknown; tag?: unknown }
  const isApart = typeof image === 'string' && typeof tag === 'string'
  return isApart ? { ...value, image: `${image}:${tag}` } : value
}

/** Returns what is in use of a repository. @param objects `running` run or would run, `revisions` can be restored */
export function imageUsesIn(objects: Record<keyof ImageUses, Iterable<unknown>>): (repository: string) => ImageUses {
  const [running, revisions] = [imagesIn(objects.running), imagesIn(objects.revisions)]
  return (repository) => ({
    running: running.get(repository) ?? NO_IMAGE_USES.running,
    revisions: revisions.get(repository) ?? NO_IMAGE_USES.revisions,
  })
}
