import { isDeepStrictEqual } from 'node:util'
import { timestamp } from '../../src/core/clock.ts'
import { sha256 } from '../../src/core/names.ts'
import { type KubeObject, refOf } from '../../src/core/object.ts'
import type { ContainerStatus, LivePod } from '../../src/desired/workload/podProblems.ts'
import { deployment, pod } from '../../src/kube/builtin.ts'
import type { FakeKubeClient } from '../../src/kube/fake.ts'

type Deployment = KubeObject & {
  status?: { observedGeneration?: number; conditions?: object[] }
  spec: {
    replicas: number
    template: { metadata: { labels: Record<string, string> }; spec: { containers: [{ name: string; image: string }] } }
  }
}

const HASH = 'pod-template-hash'

/**
 * Kubernetes' controllers and nodes for Deployments, one step a round: a new pod is created, and an old one deleted
 * when it is ready. An image whose tag is in `FATES` meets that fate.
 */
export async function playDeployments(client: FakeKubeClient): Promise<void> {
  const all = (await client.list<Deployment>(deployment)).items
  const pods = (await client.list<LivePod>(pod)).items.filter(({ metadata }) => metadata.labels?.[HASH] !== undefined)
  for (const each of pods) {
    const isOwned = all.some(({ metadata: { uid } }) => uid === each.metadata.ownerReferences?.[0]?.uid)
    if (!isOwned) await client.remove(pod, refOf(each))
  }
  for (const each of all) {
    if (each.metadata.deletionTimestamp !== undefined) continue
    // Ended pods are kept but do not count.
    const own = pods.filter(
      ({ metadata, status }) => status?.phase !== 'Failed' && metadata.ownerReferences?.[0]?.uid === each.metadata.uid,
    )
    await playDeployment(client, each, own)
  }
}

async function playDeployment(client: FakeKubeClient, each: Deployment, own: readonly LivePod[]): Promise<void> {
  const hash = sha256(JSON.stringify(each.spec.template)).slice(0, 8)
  const { replicas } = each.spec
  const isNew = ({ metadata }: LivePod) => metadata.labels?.[HASH] === hash
  const [current, old] = [own.filter(isNew), own.filter((one) => !isNew(one))]
  const ready = (some: readonly LivePod[]) =>
    some.filter(({ status }) => status?.conditions?.[0]?.status === 'True').length
  const unhealthy = old.find((one) => ready([one]) === 0)
  const surplus = current.length > replicas ? current.at(-1) : ready(own) > replicas ? old[0] : undefined
  // One more than wanted, and never fewer ready ones: of the old ones, those that serve nothing go first.
  const gone = unhealthy ?? (replicas === 0 ? own[0] : surplus)
  if (gone !== undefined) await client.remove(pod, refOf(gone))
  else if (current.length < replicas && own.length < replicas + 1) await makePod(client, each, hash, current.length)
  const status = {
    observedGeneration: each.metadata.generation ?? 1,
    replicas: own.length,
    updatedReplicas: current.length,
    readyReplicas: ready(own),
    availableReplicas: ready(own),
    // The status keeps reporting the failure until the controller has seen the change.
    ...(each.status?.observedGeneration === each.metadata.generation &&
      each.status?.conditions !== undefined && { conditions: each.status.conditions }),
  }
  if (isDeepStrictEqual(status, each.status)) return
  client.edit(deployment, refOf(each), (object) => {
    object.status = status
  })
}

const RUNNING: ContainerStatus = { state: { running: {} }, ready: true, started: true, restartCount: 0 }
const FATES: Readonly<Record<string, ContainerStatus>> = {
  missing: { state: { waiting: { reason: 'ImagePullBackOff' } }, ready: false },
  crashing: {
    state: { waiting: { reason: 'CrashLoopBackOff' } },
    lastState: { terminated: { exitCode: 3, reason: 'Error' } },
    ready: false,
    restartCount: 4,
  },
  hungry: { state: { terminated: { exitCode: 137, reason: 'OOMKilled' } }, ready: false, restartCount: 1 },
  slow: { state: { running: {} }, ready: false, started: true },
}

async function makePod(client: FakeKubeClient, each: Deployment, hash: string, number: number): Promise<void> {
  const { name, namespace = '', uid = '' } = each.metadata
  const { labels } = each.spec.template.metadata
  const [container] = each.spec.template.spec.containers
  const fate = FATES[container.image.split(':').at(-1) ?? '']
  const isLarge = container.image.endsWith(':large')
  const digest = `sha256:${sha256(container.image)}`
  const Ready = { type: 'Ready', status: fate === undefined && !isLarge ? 'True' : 'False' }
  const unscheduled = {
    type: 'PodScheduled',
    status: 'False',
    reason: 'Unschedulable',
    message: '0/1 nodes are available: 1 Insufficient memory.',
  }
  const status = {
    ...(fate ?? RUNNING),
    name: container.name,
    image: container.image,
    imageID: `${container.image}@${digest}`,
  }
  client.seed(pod, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${name}-${hash}-${number}`,
      namespace,
      labels: { ...labels, [HASH]: hash },
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'Deployment', name, uid }],
    },
    spec: { containers: [{ name: container.name, image: container.image }] },
    status: isLarge
      ? { phase: 'Pending', conditions: [Ready, unscheduled] }
      : { phase: 'Running', conditions: [Ready], containerStatuses: [status] },
  } as KubeObject)
}

type Played = {
  readonly server: FakeKubeClient
  readonly clock: { now(): number }
  pass(milliseconds: number): Promise<unknown>
  rest(): Promise<unknown>
}

/**
 * Kubernetes gives up on the new copies of this Deployment.
 *
 * @param ahead milliseconds that the clock of its cluster is ahead of ours
 */
export async function giveUpDeployment(world: Played, ahead = 0): Promise<void> {
  await world.pass(600_000)
  const [found] = (await world.server.list(deployment)).items
  if (found === undefined) throw new Error('There is no Deployment.')
  world.server.edit(deployment, refOf(found), (object) => {
    const lastUpdateTime = timestamp(world.clock.now() + ahead)
    const condition = { type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded', lastUpdateTime }
    object.status = { ...(object.status as object), conditions: [condition] }
  })
  await world.rest()
}
