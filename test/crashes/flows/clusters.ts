import { PlatformCluster } from '../../../src/crds/clusters.ts'
import { BoundaryProjection } from '../../../src/crds/projections.ts'
import { namespace, networkPolicy, roleBinding } from '../../../src/kube/builtin.ts'
import type { Flow, Step } from '../flow.ts'
import { FAR } from '../operator.ts'
import { OUTER } from '../seeds.ts'
import type { World } from '../world.ts'

/** As the agents' port does it: this process is no agent. */
async function seesAgent(world: World): Promise<void> {
  const at = new Date(world.clock.now()).toISOString()
  const status = { agent: { joinedAt: '2025-12-31T00:00:00Z', lastSeenAt: at } }
  await world.server.mergePatch(PlatformCluster.resource, { name: FAR }, { status }, { subresource: 'status' })
}

const register: Step = {
  user: 'registers a cluster, which an agent joins',
  act: async (world) => {
    await world.make(PlatformCluster, FAR, { displayName: 'Far', domain: 'far.example.org' })
    await seesAgent(world)
  },
  until: async (world) => {
    const found = await world.find<PlatformCluster & { [key: string]: unknown }>(PlatformCluster.resource, FAR)
    return found?.status?.state === 'Online'
  },
}

const project: Step = {
  user: 'projects the boundary on it',
  act: (world) => world.make(BoundaryProjection, FAR, { clusterId: FAR }, OUTER),
  until: async (world) => (await world.isReady(BoundaryProjection, FAR, OUTER)) || (await again(world)),
}

/** Time passes while the world waits, and the agent stays alive. */
async function again(world: World): Promise<false> {
  await seesAgent(world)
  return false
}

async function facts({ far }: World) {
  const names = async (resource: typeof namespace) =>
    (await far.list(resource)).items.map(({ metadata }) => `${metadata.namespace ?? ''}/${metadata.name}`).sort()
  return {
    namespaces: await names(namespace),
    bindings: await names(roleBinding),
    policies: await names(networkPolicy),
  }
}

/** What administrators do with clusters, and owners with projections. */
export const clusterFlows: readonly Flow[] = [
  {
    title: 'a boundary is projected to another cluster, with all objects of its namespaces',
    controllers: ['platformcluster', 'boundaryprojection'],
    facts,
    given: [register],
    steps: [project],
  },
  {
    title: 'a boundary is removed from a cluster, and the cluster is deleted',
    controllers: ['platformcluster', 'boundaryprojection'],
    facts,
    given: [register, project],
    steps: [
      {
        user: 'deletes the projection',
        act: async (world) => {
          await seesAgent(world)
          await world.remove(BoundaryProjection, FAR, OUTER)
        },
        until: async (world) => (await world.isGone(BoundaryProjection, FAR, OUTER)) || (await again(world)),
      },
      {
        user: 'deletes the record',
        act: (world) => world.remove(PlatformCluster, FAR),
        until: (world) => world.isGone(PlatformCluster, FAR),
      },
    ],
  },
]
