import type { KubeObject, Resource } from '../../src/core/object.ts'
import { PlatformCluster } from '../../src/crds/clusters.ts'
import { BoundaryProjection } from '../../src/crds/projections.ts'
import { secret, storageClass } from '../../src/kube/builtin.ts'
import { FAR } from './operator.ts'
import { HOME, OUTER } from './seeds.ts'
import type { World } from './world.ts'

/** The controllers without which nothing runs on the other cluster. */
export const FAR_CONTROLLERS = ['platformcluster', 'boundaryprojection']

/** The other cluster with an agent that stays connected, and the boundary projected on it. */
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

/** The names of what is in a namespace, in order. */
export async function namesIn(server: World['server'], resource: Resource, namespace = HOME): Promise<string[]> {
  return (await server.list(resource, { namespace })).items.map(({ metadata }) => metadata.name).sort()
}

/** What a Secret of the group holds in the other cluster; undefined if there is none. */
export async function dataThere(world: World, name: string): Promise<Record<string, string> | undefined> {
  return (await world.far.peek<KubeObject & { data: Record<string, string> }>(secret, { namespace: HOME, name }))?.data
}

/** A value of a Secret. */
export const decoded = (encoded: string | undefined) => Buffer.from(encoded ?? '', 'base64').toString()
