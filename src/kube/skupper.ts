import { optionalResource } from './builtin.ts'
import type { Resource } from './object.ts'

const VERSION = { version: 'v2alpha1' }

export const skupperSite = optionalResource('skupper.io', 'Site', VERSION)
export const skupperAccessGrant = optionalResource('skupper.io', 'AccessGrant', VERSION)

export const SKUPPER_RESOURCES: readonly Resource[] = [skupperSite, skupperAccessGrant]
