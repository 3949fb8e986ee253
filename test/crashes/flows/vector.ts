import { decodeVectorKeys, vectorNames } from '../../../src/contracts/vector.ts'
import { VectorCluster } from '../../../src/crds/vector.ts'
import { KEY_ANNOTATION } from '../../../src/desired/vector/index.ts'
import { pod, statefulSet } from '../../../src/kube/builtin.ts'
import type { Workload } from '../../worlds/kubernetesPlay.ts'
import type { Flow, Step } from '../flow.ts'
import type { World } from '../world.ts'

const NAME = 'products'
const isReady = (world: World) => world.isReady(VectorCluster, NAME)
const isGone = (world: World) => world.isGone(VectorCluster, NAME)
const change = (user: string, spec: object): Step => ({
  user,
  act: (world) => world.change(VectorCluster, NAME, spec),
  until: isReady,
})
const make = (spec: object = {}): Step => ({
  user: 'makes a vector database',
  act: (world) => world.make(VectorCluster, NAME, { computePlan: 'vector-medium', ...spec }),
  until: isReady,
})
const fill: Step = {
  user: 'stores points',
  act: ({ engines: { vector } }) =>
    vector.fill('docs', 10, [['vc-products-2'], ['vc-products-1'], ['vc-products-0', 'vc-products-2']]),
}

/** Whether every peer accepts the stored key, and where the points are. */
async function facts(world: World): Promise<object> {
  const keys = decodeVectorKeys(await world.secret(vectorNames(NAME).keys))
  const { items: pods } = await world.server.list(pod)
  const accepted = pods.map(({ metadata }) => world.kubernetes.workloads.accepted.get(metadata.name) ?? [])
  const current = keys?.current?.apiKey
  const workload = await world.find<Workload>(statefulSet, `vc-${NAME}`)
  return {
    peers: pods.map(({ metadata }) => metadata.name).sort(),
    currentKeyWorks: current === undefined ? 'none' : accepted.every((taken) => taken.includes(current)),
    otherKeys: [keys?.pending, keys?.retired].map((key) => key !== undefined),
    version: keys?.current?.version,
    broken: world.kubernetes.workloads.broken,
    holders: world.engines.vector.holders('docs'),
    snapshots: world.engines.vector.stored,
    podsAreOfCurrentKey: workload?.spec.template.metadata.annotations[KEY_ANNOTATION] === keys?.current?.id,
  }
}

const common = { controllers: ['vectorcluster'], facts }

export const vectorFlows: readonly Flow[] = [
  {
    ...common,
    title: 'a vector database with a load balancer is created, and grows from one peer to three',
    steps: [
      make({ computePlan: 'vector-small', enableLoadBalancer: true, replicas: 1 }),
      change('asks for three peers', { replicas: 3 }),
    ],
  },
  {
    ...common,
    title: 'a vector database with points shrinks from three peers to one',
    given: [make(), fill],
    steps: [change('asks for one peer', { replicas: 1 })],
  },
  {
    ...common,
    title: 'a vector database shrinks, and grows again while a shard is being moved',
    given: [
      make(),
      fill,
      {
        user: 'has much data',
        act: ({ engines: { vector } }) => {
          vector.settles = false
        },
      },
    ],
    steps: [
      {
        user: 'asks for two peers',
        act: (world) => world.change(VectorCluster, NAME, { replicas: 2 }),
        until: ({ engines: { vector } }) => vector.orders.length > 0,
      },
      { user: 'asks for three again', act: (world) => world.change(VectorCluster, NAME, { replicas: 3 }) },
      { user: 'waits until the shard is moved', act: ({ engines: { vector } }) => vector.settle(), until: isReady },
    ],
  },
  {
    ...common,
    title: 'a vector database gets another key twice at once',
    given: [make()],
    steps: [
      { user: 'rotates the key', act: (world) => world.change(VectorCluster, NAME, { apiKeyVersion: 2 }) },
      change('rotates it again', { apiKeyVersion: 3 }),
    ],
  },
  {
    ...common,
    title: 'a vector database grows and is stopped before the volumes have grown',
    given: [make()],
    steps: [
      { user: 'asks for more', act: (world) => world.change(VectorCluster, NAME, { storageSize: '900Gi' }) },
      { user: 'stops it', act: (world) => world.change(VectorCluster, NAME, { running: false }), until: isStopped },
    ],
  },
  {
    ...common,
    title: 'a vector database gets another key, twice',
    given: [make()],
    steps: [change('rotates the key', { apiKeyVersion: 2 }), change('rotates it again', { apiKeyVersion: 3 })],
  },
  {
    ...common,
    title: 'a vector database gets a larger plan and larger volumes',
    given: [make()],
    steps: [change('asks for more', { computePlan: 'vector-large', storageSize: '500Gi' })],
  },
  {
    ...common,
    title: 'a snapshot of a vector database is deleted while the next one is taken',
    given: [make(), fill],
    steps: [
      {
        user: 'asks for a snapshot',
        act: (world) => world.change(VectorCluster, NAME, { snapshots: [{ name: 'first' }] }),
        until: (world) => hasTaken(world, 'first'),
      },
      {
        user: 'asks for another in its place',
        act: (world) => world.change(VectorCluster, NAME, { snapshots: [{ name: 'second' }] }),
        until: (world) => hasTaken(world, 'second'),
      },
    ],
  },
  {
    ...common,
    title: 'a vector database is stopped and started',
    given: [make()],
    steps: [
      {
        user: 'stops it',
        act: (world) => world.change(VectorCluster, NAME, { running: false }),
        until: isStopped,
      },
      change('starts it', { running: true }),
    ],
  },
  {
    ...common,
    title: 'a vector database is deleted with its data',
    given: [make()],
    steps: [{ user: 'deletes it', act: (world) => world.remove(VectorCluster, NAME), until: isGone }],
  },
  {
    ...common,
    title: 'a vector database is deleted without its data, and created again with it',
    given: [make({ onDelete: 'Retain' })],
    steps: [
      { user: 'deletes it', act: (world) => world.remove(VectorCluster, NAME), until: isGone },
      make({ onDelete: 'Retain' }),
    ],
  },
]

/** It alone. */
async function hasTaken(world: World, name: string): Promise<boolean> {
  const { status } = (await world.find<VectorCluster & { [key: string]: unknown }>(VectorCluster.resource, NAME)) ?? {}
  const [taken, ...others] = status?.snapshots ?? []
  return taken?.name === name && taken.completedAt !== undefined && others.length === 0
}

async function isStopped(world: World): Promise<boolean> {
  const found = await world.find(VectorCluster.resource, NAME)
  return (found?.status as { status?: string } | undefined)?.status === 'Stopped'
}
