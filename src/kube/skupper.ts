import type { Resource } from './object.ts'

function optional(kind: string, plural: string): Resource {
  return { group: 'skupper.io', version: 'v2alpha1', plural, kind, namespaced: true, optional: true }
}

/** The kinds of Skupper that the platform writes; a cluster may lack them. */
export const skupperSite = optional('Site', 'sites')
export const skupperAccessGrant = optional('AccessGrant', 'accessgrants')

export const SKUPPER: readonly Resource[] = [skupperSite, skupperAccessGrant]
