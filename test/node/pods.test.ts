import { expect } from 'chai'
import { silentProgress } from '../../scripts/controlplane/index.ts'
import { NODE_ADDRESS, REGISTRY } from '../../scripts/node/addresses.ts'
import { packageImage, pushInto } from '../../scripts/node/images.ts'
import { runningNamespaces } from '../../scripts/node/namespaces.ts'
import { groupNamespace } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { PlatformJob } from '../../src/crds/jobs.ts'
import { persistentVolume, persistentVolumeClaim, pod } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import { expectCall, makeBoundary, makeGroup, uniqueName, until } from '../worlds/platform.ts'
import { administrator, testPlatform } from '../worlds/tenant.ts'
import { SHELL, SHELL_IMAGE, shellPod } from './shell.ts'

type Pod = KubeObject & {
  status?: {
    phase?: string
    podIP?: string
    containerStatuses?: { state?: { terminated?: { exitCode: number } } }[]
  }
}

describe('pods on a node', function () {
  this.timeout(120_000)
  let client: KubeClient
  /** Two groups of one boundary, and one of another. */
  let homes: { boundaryId: string; group: string; namespace: string }[]

  before(async () => {
    client = await administrator()
    const node = await runningNamespaces(testPlatform().folder)
    if (node === undefined) throw new Error('The platform of these tests has no node: run `npm run test:node`.')
    const search = { progress: silentProgress, signal: undefined }
    await pushInto(node, [await packageImage(SHELL, search)])
    const [first, second] = await Promise.all([makeBoundary(), makeBoundary()])
    homes = await Promise.all(
      [first, first, second].map(async ({ id }) => {
        const { name } = await makeGroup(id)
        return { boundaryId: id, group: name, namespace: groupNamespace(id, name) }
      }),
    )
  })
  after(() => client.close())

  const home = (index = 0) => homes[index] as (typeof homes)[number]
  const run = async (namespace: string, command: string, more: object = {}) => {
    const made = shellPod(uniqueName('shell'), namespace, command, more)
    await client.create(pod, made)
    return { namespace, name: made.metadata.name }
  }
  const phase = (ref: { namespace: string; name: string }, ...wanted: string[]) =>
    until(`${ref.name} is ${wanted.join(' or ')}`, async () => {
      const found = await client.get<Pod>(pod, ref)
      if (!wanted.includes(found.status?.phase ?? '')) throw new Error(JSON.stringify(found.status))
      return found
    })
  const exitCode = async (ref: { namespace: string; name: string }) =>
    (await phase(ref, 'Succeeded', 'Failed')).status?.containerStatuses?.[0]?.state?.terminated?.exitCode
  /** Whether a connection from a new pod of the group succeeds at any time in its first seconds. */
  const reaches = async (from: number, address: string, port: number) => {
    const attempt = `busybox nc -w 1 ${address} ${port} < /dev/null && exit 0`
    const command = `for n in 1 2 3 4 5 6; do ${attempt}; sleep 0.5; done; exit 1`
    return (await exitCode(await run(home(from).namespace, command))) === 0
  }

  it('run a job to its end, with its own exit code and log, which outlive the pod', async () => {
    const { boundaryId, group, namespace } = home()
    const path = `/boundaries/${boundaryId}/resourcegroups/${group}/resources/jobs/${uniqueName('job')}`
    const name = path.split('/').at(-1) ?? ''
    const { apiVersion, kind } = PlatformJob
    const [image = '', tag = ''] = SHELL_IMAGE.split(/:(?=[^:]*$)/)
    const command = ['sh', '-c', 'echo one; echo two >&2; exit 3']
    const spec = { image, tag, command, retries: 0, runAsUser: 65_532 }
    await client.create(PlatformJob.resource, { apiVersion, kind, metadata: { name, namespace }, spec })
    await until('the job has failed', async () => {
      const { body } = await expectCall<{ status: string }>(200, 'GET', path)
      return body.status === 'Failed'
    })
    const { status } = (await client.get(PlatformJob.resource, { namespace, name })) as unknown as PlatformJob
    expect(status?.statusMessage).to.equal('The job failed. Its last exit code is 3.')
    const log = await until('both lines are there', async () => {
      const { text } = await expectCall(200, 'GET', `${path}/logs`)
      return text.includes('two') && text
    })
    expect(log).to.equal('one\ntwo\n')
    const { items } = await client.list(pod, { namespace })
    const own = items.filter(({ metadata }) => metadata.name.includes(name))
    await Promise.all(own.map(({ metadata }) => client.remove(pod, { namespace, name: metadata.name })))
    expect((await expectCall(200, 'GET', `${path}/logs`)).text).to.equal(log)
  })

  it('keep what they write in a volume, although they are not root, and the volume goes with its claim', async () => {
    const { namespace } = home()
    const name = uniqueName('claim')
    await client.create(persistentVolumeClaim, {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name, namespace },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    } as KubeObject)
    const volumes = { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: name } }] }
    expect(await exitCode(await run(namespace, 'echo kept > /data/file', volumes))).to.equal(0)
    expect(await exitCode(await run(namespace, 'test "$(cat /data/file)" = kept', volumes))).to.equal(0)
    const { items } = await client.list(persistentVolume)
    const volume = items.find(({ spec }) => (spec as { claimRef?: { name: string } }).claimRef?.name === name)
    const { items: pods } = await client.list(pod, { namespace })
    await Promise.all(pods.map(({ metadata }) => client.remove(pod, { namespace, name: metadata.name })))
    await client.remove(persistentVolumeClaim, { namespace, name })
    await until('the volume is gone', async () => {
      const left = await client
        .get(persistentVolume, { name: volume?.metadata.name ?? '' })
        .catch((error: unknown) => error)
      return isKubeError(left, 'NotFound')
    })
  })

  it('find Services by their names', async () => {
    const { namespace } = home()
    expect(await exitCode(await run(namespace, 'busybox nslookup kubernetes.default.svc.cluster.local'))).to.equal(0)
  })

  it('are reached from their own group only, and reach neither the API server nor metadata addresses', async () => {
    const listeners = await Promise.all(
      homes.map(({ namespace }) => run(namespace, 'while true; do echo hello | busybox nc -l -p 8080; done')),
    )
    const running = await Promise.all(listeners.map((ref) => phase(ref, 'Running')))
    const addresses = running.map(({ status }) => status?.podIP ?? '')
    const pairs = addresses.flatMap((address, to) =>
      [...homes.keys()].map((from) => ({ from, to, address, port: 8080 })),
    )
    const closed = ['10.96.0.1:443', `${NODE_ADDRESS}:10250`, REGISTRY, '169.254.169.254:80'].map((target) => {
      const [address = '', port] = target.split(':')
      return { from: 0, to: target, address, port: Number(port) }
    })
    const tried = [...pairs, ...closed].map(async ({ from, to, address, port }) => {
      expect(await reaches(from, address, port), `from group ${from} to ${to}`).to.equal(from === to)
    })
    await Promise.all(tried)
  })
})
