import { PlatformCluster } from '../../src/crds/clusters.ts'
import { BoundaryProjection } from '../../src/crds/projections.ts'
import { storageClass } from '../../src/kube/builtin.ts'
import { FAR } from './operator.ts'
import { OUTER } from './seeds.ts'
import type { World } from './world.ts'

/** The controllers without which nothing runs on the other cluster. */
export const FAR_CONTROLLERS = ['platformcluster', 'boundaryprojection']

/** The other cluster as it is with an agent that stays connected, and the boundary on it. */
export async function joinFar(world: World): Promise<void> {
  const standard = { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: { name: 'standard' } }
  world.far.seed(storageClass, { ...standard, allowVolumeExpansion: true, provisioner: 'disks.example.com' })
  await world.make(PlatformCluster, FAR, { displayName: 'Far', domain: 'far.example.org' })
  const at = new Date(world.clock.now()).toISOString()
  const status = { agent: { joinedAt: at, connectedAt: at, lastSeenAt: at, connection: 'one' } }
  await world.server.mergePatch(PlatformCluster.resource, { name: FAR }, { status }, { subresource: 'status' })
  await world.make(BoundaryProjection, FAR, { clusterId: FAR }, OUTER)
  await world.until('the boundary is there', () => world.isReady(BoundaryProjection, FAR, OUTER))
}
