/** Finds the data of a registry that nothing needs any more. Pure; the adapter reads the disk and deletes. */

export type SweepBlob = { readonly digest: string; readonly changedAt: number; readonly sizeBytes: number }
export type SweepInventory = {
  readonly repositories: readonly {
    readonly name: string
    readonly manifests: readonly { readonly digest: string; readonly references: readonly string[] }[]
    /** Blobs linked to the repository, and since when: uploaded, mounted, or pulled in by a manifest. */
    readonly layers: readonly Pick<SweepBlob, 'digest' | 'changedAt'>[]
  }[]
  readonly blobs: readonly SweepBlob[]
}

export type SweepBounds = {
  /** Repositories that somebody may be pushing to: everything linked to them stays. */
  readonly busy: ReadonlySet<string>
  /** Milliseconds since the epoch; whatever changed since then stays. */
  readonly before: number
}

/**
 * An upload sends its blobs first and the manifest that needs them last, so that until then nothing refers to them. A
 * repository for which a push token is valid is therefore left as it is, and everything recent stays everywhere, even a
 * blob that a pusher found in place and did not send.
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
