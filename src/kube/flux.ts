import type { Resource } from './object.ts'

function optional(group: string, version: string, kind: string, plural: string): Resource {
  return { group: `${group}.toolkit.fluxcd.io`, version, plural, kind, namespaced: true, optional: true }
}

/** The kinds of Flux that install charts; a cluster may lack them. */
export const helmRelease = optional('helm', 'v2', 'HelmRelease', 'helmreleases')
export const ociRepository = optional('source', 'v1', 'OCIRepository', 'ocirepositories')

export const FLUX: readonly Resource[] = [helmRelease, ociRepository]
