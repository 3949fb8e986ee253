import { RETAINED_ENGINE_ANNOTATION } from '../../core/labels.ts'
import type { StatefulPass } from './pass.ts'
import type { Claim } from './types.ts'

/** What reads and writes the files on a volume. */
export type Engine = {
  /** As the spec or the vendor spells it. */
  name: string
  /** Numbers with dots between. */
  version: string
  /** The field of the spec that sets the version. */
  field: string
}

/** The engine of a resource, as its spec has it; `claims` are its volumes. */
export type EngineOf<P extends StatefulPass> = (pass: P, claims: readonly Claim[]) => Engine

/** Negative, zero or positive as version `a` is lower than, the same as or higher than `b`, number by number. */
export function compareEngineVersions(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true })
}

export function engineText({ name, version }: Pick<Engine, 'name' | 'version'>): string {
  return `${name} ${version}`
}

/** Which engine wrote a volume last, where the volume was kept; undefined for one that never was. */
export function keptEngine({ metadata }: Claim): Pick<Engine, 'name' | 'version'> | undefined {
  const [name, version] = metadata.annotations?.[RETAINED_ENGINE_ANNOTATION]?.split(' ') ?? []
  return name === undefined || version === undefined ? undefined : { name, version }
}

/**
 * Why an engine must not start on a kept volume; undefined if it may. An older one does not read what a newer one wrote,
 * and another one may take the files for damage and begin anew.
 */
export function engineObstacle(claim: Claim, wanted: Engine): string | undefined {
  const kept = keptEngine(claim)
  if (kept === undefined) return undefined
  const what = `Volume claim "${claim.metadata.name}" holds the files of ${engineText(kept)}, which ${engineText(wanted)} cannot read.`
  const instead = 'or delete the claim, and the files with it.'
  if (kept.name !== wanted.name) return `${what} Delete this resource and create it with ${kept.name}, ${instead}`
  if (compareEngineVersions(kept.version, wanted.version) <= 0) return undefined
  return `${what} Set ${wanted.field} to at least ${kept.version}, ${instead}`
}
