import { optional } from './builtin.ts'
import type { Resource } from './object.ts'

const VERSION = { version: 'v2alpha1' }

export const skupperSite = optional('skupper.io', 'Site', VERSION)
export const skupperAccessGrant = optional('skupper.io', 'AccessGrant', VERSION)

export const SKUPPER: readonly Resource[] = [skupperSite, skupperAccessGrant]
