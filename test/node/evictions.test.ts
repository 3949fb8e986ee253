import { expect } from 'chai'
import { groupNamespace } from '../../src/core/names.ts'
import { apiVersionOf, type KubeObject } from '../../src/core/object.ts'
import { PlatformJob } from '../../src/crds/jobs.ts'
import { event, pod } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { expectCall, makeBoundary, makeGroup, until } from '../worlds/platform.ts'
import { administrator } from '../worlds/tenant.ts'
import { type Pod, pushShell, SHELL_IMAGE } from './shell.ts'

type Reported = { status: string; statusMessage: string | null }
type Event = KubeObject & { regarding?: { kind: string; name: string }; reason?: string; note?: string }

/** More than the platform lets a container write unless its settings say otherwise. */
const TOO_MUCH = 'dd if=/dev/zero of=/tmp/file bs=1M count=4300'

/**
 * A container that writes too much is evicted without others. The kubelet checks every 10 s, and volumes every minute.
 */
describe('container that fills the disk of its node', () => {
  let client: KubeClient
  let namespace: string
  let resources: string

  before(async () => {
    await pushShell()
    client = await administrator()
    const { id } = await makeBoundary()
    const { name } = await makeGroup(id)
    namespace = groupNamespace(id, name)
    resources = `/boundaries/${id}/resourcegroups/${name}/resources`
    await makeInstance('neighbour', 'echo beside > /tmp/file; exec sleep 100000')
    await untilStatus('containerinstances/neighbour', ({ status }) => status === 'Running')
  })
  after(() => client?.close())

  const makeInstance = (name: string, script: string, more: object = {}, volumes: object[] = []) => {
    const command = ['sh', '-c', script]
    const component = { name: 'web', image: SHELL_IMAGE, command, gracePeriodSeconds: 0, ...more }
    const body = { computePlan: 'container-nano', components: [component], volumes }
    return expectCall(201, 'POST', `${resources}/containerinstances/${name}`, body)
  }
  const untilStatus = (path: string, isSo: (said: Reported) => boolean) =>
    until(`${path} says so`, async () => {
      const { body } = await expectCall<Reported>(200, 'GET', `${resources}/${path}`)
      if (isSo(body)) return body
      throw new Error(`${body.status}: ${body.statusMessage}`)
    })
  const podsOf = async (name: string) =>
    (await client.list<Pod>(pod, { namespace, labelSelector: `freehold.dev/owner-name=${name}` })).items
  const isEvicted = ({ status }: Pod) => (status as { reason?: string } | undefined)?.reason === 'Evicted'

  it('is evicted alone, and reported in status and event each time', async () => {
    const [before] = await podsOf('neighbour')
    const volumes = [{ name: 'cache', kind: 'Ephemeral', size: '64Mi' }]
    const script = 'dd if=/dev/zero of=/cache/file bs=1M count=128; exec sleep 100000'
    await makeInstance('filler', script, { mounts: [{ volume: 'cache', path: '/cache' }] }, volumes)
    const words = /A copy of component "web" was evicted at \S+Z: its volume "cache" holds more than 64Mi\./
    const first = await untilStatus('containerinstances/filler', ({ statusMessage }) => words.test(statusMessage ?? ''))
    const [sentence = ''] = words.exec(first.statusMessage ?? '') ?? []
    await until('an event reports it', async () => {
      const { items } = await client.list<Event>(event, { namespace })
      const own = items.filter(
        ({ regarding }) => regarding?.kind === 'ContainerInstance' && regarding.name === 'filler',
      )
      return own.some(({ reason, note }) => reason === 'CrashLooping' && note?.includes(sentence))
    })
    await untilStatus('containerinstances/filler', ({ statusMessage }) => {
      const [again] = words.exec(statusMessage ?? '') ?? []
      return again !== undefined && again !== sentence
    })
    await until('one evicted pod is left', async () => (await podsOf('filler')).filter(isEvicted).length <= 1)

    const [after] = await podsOf('neighbour')
    expect(after?.metadata.uid).to.equal(before?.metadata.uid)
    expect(after?.status?.phase).to.equal('Running')
  })

  it('runs again when it writes less, and stops despite evicted pods', async () => {
    const path = `${resources}/containerinstances/filler`
    const component = { name: 'web', image: SHELL_IMAGE, command: ['sleep', '100000'], gracePeriodSeconds: 0 }
    await expectCall(200, 'PATCH', path, { components: [component] })
    await until('only the new copy runs', async () => {
      const found = (await podsOf('filler')).filter((each) => !isEvicted(each))
      return found.length === 1 && found[0]?.status?.phase === 'Running'
    })
    await untilStatus('containerinstances/filler', ({ status }) => status === 'Running')
    await expectCall(202, 'PUT', `${path}/actions/stop`)
    await untilStatus('containerinstances/filler', ({ status }) => status === 'Stopped')
  })

  it('fails as a job, whose status names the limit', async () => {
    const at = SHELL_IMAGE.lastIndexOf(':')
    await client.create(PlatformJob.resource, {
      apiVersion: apiVersionOf(PlatformJob.resource),
      kind: PlatformJob.kind,
      metadata: { name: 'filler', namespace },
      spec: {
        ...{ image: SHELL_IMAGE.slice(0, at), tag: SHELL_IMAGE.slice(at + 1) },
        command: ['sh', '-c', `${TOO_MUCH}; exec sleep 100000`],
      },
    })
    await until('it has failed', async () => {
      const { body } = await expectCall<Reported>(200, 'GET', `${resources}/jobs/filler`)
      return body.status === 'Failed'
    })
    const job = await client.get<KubeObject>(PlatformJob.resource, { namespace, name: 'filler' })
    expect((job.status as { statusMessage?: string }).statusMessage).to.match(
      /^The job failed\. Its container was evicted at \S+Z: it wrote more to the disk than its limit of 4Gi\.$/,
    )
  })
})
