import { optionalResource } from './builtin.ts'

/** A cluster of the SeaweedFS operator, which the platform reads and never writes; a cluster may lack the type. */
export const seaweed = optionalResource('seaweed.seaweedfs.com', 'Seaweed')
