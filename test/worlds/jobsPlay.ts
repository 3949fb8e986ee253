import type { FakePodLogs } from '../../src/adapters/podlogs/fake.ts'
import { JOB_CONTAINER } from '../../src/contracts/jobs.ts'
import { type KubeObject, refOf } from '../../src/core/object.ts'
import { job, pod, secret } from '../../src/kube/builtin.ts'
import type { FakeKubeClient } from '../../src/kube/fake.ts'

type Variable = { name: string; value?: string; valueFrom?: { secretKeyRef: { name: string; key: string } } }
type Job = KubeObject & {
  spec: {
    backoffLimit: number
    suspend?: boolean
    template: { metadata: object; spec: { containers: [{ image?: string; args?: string[]; env?: Variable[] }] } }
  }
  status?: { conditions?: object[]; failed?: number }
}

/** The output of containers, and which have run. */
type Node = { podLogs: FakePodLogs; startedJobs: string[] }

/**
 * The Job controller and a node for batch Jobs, one step a round: a pod, its run, its end. The container's last
 * argument is its exit code; with `forever` it does not end. It writes its environment to its log.
 */
export async function playJobs(client: FakeKubeClient, node: Node, now: string): Promise<void> {
  const jobs = (await client.list<Job>(job)).items
  const pods = (await client.list(pod)).items.filter(
    ({ metadata }) => metadata.labels?.['batch.kubernetes.io/job-name'],
  )
  const isOwned = ({ metadata }: KubeObject) =>
    jobs.some(({ metadata: { uid } }) => uid === metadata.ownerReferences?.[0]?.uid)
  for (const each of pods) if (!isOwned(each)) await client.remove(pod, refOf(each))
  for (const each of jobs) {
    const ended =
      each.spec.suspend === true ||
      each.status?.conditions !== undefined ||
      each.metadata.deletionTimestamp !== undefined
    if (!ended) await playJob(client, node, each, pods.filter(isOwned), now)
  }
}

async function playJob(
  client: FakeKubeClient,
  node: Node,
  each: Job,
  pods: readonly KubeObject[],
  now: string,
): Promise<void> {
  const { name, namespace = '', uid = '' } = each.metadata
  const failed = each.status?.failed ?? 0
  const ref = { namespace, name: `${name}-run${failed}` }
  const { labels } = each.spec.template.metadata as { labels: Record<string, string> }
  const [container] = each.spec.template.spec.containers
  const current = pods.find(({ metadata }) => metadata.name === ref.name)
  if (current === undefined) {
    const owner = { apiVersion: 'batch/v1', kind: 'Job', name, uid }
    const metadata = {
      ...ref,
      labels: { ...labels, 'batch.kubernetes.io/job-name': name },
      ownerReferences: [owner],
      creationTimestamp: new Date(Date.parse(now) + failed).toISOString(),
    }
    client.seed(pod, { apiVersion: 'v1', kind: 'Pod', metadata, spec: {}, status: { phase: 'Pending' } })
    return
  }
  if ((current.status as { phase: string }).phase === 'Pending') {
    if (container.image?.endsWith(':missing')) {
      client.edit(pod, refOf(current), (object) => {
        const state = { waiting: { reason: 'ImagePullBackOff' } }
        object.status = { phase: 'Pending', containerStatuses: [{ state, ready: false }] }
      })
      return
    }
    const source = { namespace, pod: ref.name, container: JOB_CONTAINER }
    node.startedJobs.push(ref.name)
    for (const line of await environmentOf(client, namespace, container.env ?? []))
      node.podLogs.write(source, `${now} ${line}\n`)
    client.edit(pod, refOf(current), (object) => {
      object.status = { phase: 'Running', startTime: now, containerStatuses: [{ state: { running: {} } }] }
    })
    return
  }
  if (container.args?.at(-1) === 'forever') return
  const exitCode = Number(container.args?.at(-1) ?? 0)
  client.edit(pod, refOf(current), (object) => {
    const terminated = { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error' }
    const phase = exitCode === 0 ? 'Succeeded' : 'Failed'
    object.status = { phase, startTime: now, containerStatuses: [{ state: { terminated } }] }
  })
  client.edit(job, refOf(each), (object) => {
    const failures = exitCode === 0 ? failed : failed + 1
    const type = exitCode === 0 ? 'Complete' : 'Failed'
    const isOver = exitCode === 0 || failures > each.spec.backoffLimit
    const condition = { type, status: 'True', lastTransitionTime: now, reason: 'BackoffLimitExceeded' }
    object.status = { startTime: now, failed: failures, ...(isOver && { conditions: [condition] }) }
  })
}

async function environmentOf(client: FakeKubeClient, namespace: string, env: readonly Variable[]): Promise<string[]> {
  return Promise.all(
    env.map(async ({ name, value, valueFrom }) => {
      if (valueFrom === undefined) return `${name}=${value}`
      const { name: from, key } = valueFrom.secretKeyRef
      const { data } = (await client.get(secret, { namespace, name: from })) as { data?: Record<string, string> }
      return `${name}=${Buffer.from(data?.[key] ?? '', 'base64').toString()}`
    }),
  )
}
