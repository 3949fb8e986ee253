import { imagesIn, type Named } from './images.ts'
import { UNUSED, type Uses } from './retention.ts'

/** What names images: `running` runs or would run, `revisions` can be brought back. */
export type Naming = { readonly running: Iterable<unknown>; readonly revisions: Iterable<unknown> }

const NOTHING: Named = { digests: new Set(), tags: new Set() }

/** By repository, what is in use of it. */
export function usesIn({ running, revisions }: Naming): (repository: string) => Uses {
  const [run, kept] = [imagesIn(running), imagesIn(revisions)]
  return (repository) =>
    run.has(repository) || kept.has(repository)
      ? { running: run.get(repository) ?? NOTHING, revisions: kept.get(repository) ?? NOTHING }
      : UNUSED
}
