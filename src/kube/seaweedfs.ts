import type { Resource } from './object.ts'

/** A cluster of the SeaweedFS operator, which the platform reads and never writes; a cluster may lack the type. */
export const seaweed: Resource = {
  group: 'seaweed.seaweedfs.com',
  version: 'v1',
  plural: 'seaweeds',
  kind: 'Seaweed',
  namespaced: true,
  optional: true,
}
