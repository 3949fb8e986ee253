import { RETAINED_ENGINE_ANNOTATION } from '../../core/labels.ts'
import type { StatefulPass } from './pass.ts'
import type { Claim } from './types.ts'

/** The engine whose files are on a volume. */
export type Engine = {
  /** As in the spec or the vendor's name. */
  name: string
  /** Numbers separated by dots. */
  version: string
  /** The field of the spec that sets the version. */
  field: string
}

/** Returns a resource's engine from its spec; `claims` are its volumes. */
export type EngineOf<P extends StatefulPass> = (pass: P, claims: readonly Claim[]) => Engine

/** Compares two versions number by number; negative if `a` is lower than `b`. */
export function compareEngineVersions(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true })
}

export function engineText({ name, version }: Pick<Engine, 'name' | 'version'>): string {
  return `${name} ${version}`
}

/** Returns the engine that last wrote to a retained volume; undefined if it was never retained. */
export function retainedEngine({ metadata }: Claim): Pick<Engine, 'name' | 'version'> | undefined {
  const [name, version] = metadata.annotations?.[RETAINED_ENGINE_ANNOTATION]?.split(' ') ?? []
  return name === undefined || version === undefined ? undefined : { name, version }
}

/**
 * Returns why an engine must not start on a retained volume; undefined if it may. An older version cannot read files of
 * a newer one, and another engine may take the files for damage and start over.
 */
export function engineObstacle(claim: Claim, wanted: Engine): string | undefined {
  const kept = retainedEngine(claim)
  if (kept === undefined) return undefined
  const finding = `Volume claim "${claim.metadata.name}" holds the files of ${engineText(kept)}, which ${engineText(wanted)} cannot read.`
  const alternative = 'or delete the claim, and the files with it.'
  if (kept.name !== wanted.name)
    return `${finding} Delete this resource and create it with ${kept.name}, ${alternative}`
  if (compareEngineVersions(kept.version, wanted.version) <= 0) return undefined
  return `${finding} Set ${wanted.field} to at least ${kept.version}, ${alternative}`
}
