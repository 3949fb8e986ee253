/** Which data of a registry nothing needs any more. Pure; the adapter reads the disk and removes. */

export type SweepBlob = { readonly digest: string; readonly changedAt: number; readonly sizeBytes: number }
export type SweepInventory = {
  readonly repositories: readonly {
    readonly name: string
    readonly manifests: readonly { readonly digest: string; readonly references: readonly string[] }[]
    /** Blobs that the repository says it has, since when: uploaded, mounted, or pulled in by a manifest. */
    readonly layers: readonly Pick<SweepBlob, 'digest' | 'changedAt'>[]
  }[]
  readonly blobs: readonly SweepBlob[]
}

export type SweepBounds = {
  /** Repositories that somebody may be pushing to: all that they say they have stays. */
  readonly busy: ReadonlySet<string>
  /** Milliseconds since the epoch; what changed since then stays, whoever needs it. */
  readonly before: number
}

/**
 * An upload puts its blobs first and the manifest that needs them last. Until then nothing refers to them, so that
 * collecting what has no reference would eat them. A repository that somebody holds a token to push to is therefore
 * left as it is, and what is new everywhere: also a blob that a pusher only found there and did not send.
 */
export function planSweep({ repositories, blobs }: SweepInventory, { busy, before }: SweepBounds) {
  const needed = new Set<string>()
  const layers: { repository: string; digest: string }[] = []
  for (const { name, manifests, layers: links } of repositories) {
    const own = new Set(manifests.flatMap(({ digest, references }) => [digest, ...references]))
    for (const digest of own) needed.add(digest)
    for (const { digest, changedAt } of links) {
      if (own.has(digest)) continue
      if (busy.has(name) || changedAt >= before) needed.add(digest)
      else layers.push({ repository: name, digest })
    }
  }
  const unneeded = blobs.filter(({ digest, changedAt }) => !needed.has(digest) && changedAt < before)
  return {
    layers,
    blobs: unneeded.map(({ digest }) => digest),
    freedBytes: unneeded.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
  }
}
