import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { REGISTRY } from '../../scripts/node/addresses.ts'
import { IDENTITY_PATH } from '../../src/contracts/managedIdentities.ts'
import { groupNamespace } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { pod } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { promised } from '../make/until.ts'
import { kubectl, ranKubectl } from '../worlds/kubectl.ts'
import { call, expectCall, makeBoundary, makeCaller, makeGroup, until } from '../worlds/platform.ts'
import { administrator, kubeconfigWithToken, tokenFor } from '../worlds/tenant.ts'
import { PublicHosts } from './publicHosts.ts'
import { pushShell, SHELL_IMAGE } from './shell.ts'

type Instance = { status: string; phase: string; statusMessage: string; publicUrl: string | null }
type Pod = KubeObject & {
  status?: {
    phase?: string
    conditions?: { type: string; status: string; reason?: string }[]
    containerStatuses?: {
      ready?: boolean
      restartCount?: number
      state?: { waiting?: { reason?: string }; terminated?: { reason?: string }; running?: object }
      lastState?: { terminated?: { reason?: string } }
    }[]
  }
}

const good = {
  name: 'web',
  image: SHELL_IMAGE,
  command: ['sh', '-c', 'echo well > /tmp/index.html; exec busybox httpd -f -p 8080 -h /tmp'],
  ports: [{ name: 'http', port: 8080 }],
  readinessProbe: { kind: 'Http', path: '/', periodSeconds: 1 },
  gracePeriodSeconds: 1,
}

type Seen = NonNullable<NonNullable<Pod['status']>['containerStatuses']>[number]
const endedBy = ({ state, lastState }: Seen) => (state?.terminated ?? lastState?.terminated)?.reason
const waitsFor = ({ state }: Seen) => state?.waiting?.reason ?? ''

/** The problem, the message of the kubelet or the scheduler, and that of the instance. */
const TROUBLES: readonly [string, object, (found: Pod) => boolean | undefined, RegExp][] = [
  [
    'crashes',
    { command: ['sh', '-c', 'exit 3'] },
    ({ status }) => status?.containerStatuses?.some((one) => endedBy(one) === 'Error'),
    /ends with exit code 3 again and again/,
  ],
  [
    'runs out of memory',
    { command: ['tail', '/dev/zero'] },
    ({ status }) => status?.containerStatuses?.some((one) => endedBy(one) === 'OOMKilled'),
    /ran out of memory: it took more than its limit of 256Mi/,
  ],
  [
    'has a missing image',
    { image: `${REGISTRY}/none:1` },
    ({ status }) => status?.containerStatuses?.some((one) => waitsFor(one).includes('ImagePull')),
    /cannot be pulled/,
  ],
  [
    'never becomes ready',
    { readinessProbe: { kind: 'Exec', command: ['false'], periodSeconds: 1 } },
    ({ status }) => status?.containerStatuses?.some(({ state, ready }) => state?.running !== undefined && !ready),
    /its readiness probe has not succeeded/,
  ],
  [
    'fits on no node',
    { cpuRequest: '64', cpuLimit: '64' },
    ({ status }) => status?.conditions?.some(({ reason }) => reason === 'Unschedulable'),
    /No node has 64 cpu left/,
  ],
]

describe('failing container instance on a node', () => {
  let client: KubeClient
  let hosts: PublicHosts
  let scope: string
  let namespace: string
  let path: string

  before(async () => {
    await pushShell()
    client = await administrator()
    hosts = new PublicHosts()
    const { id } = await makeBoundary()
    const { name } = await makeGroup(id)
    scope = `/boundaries/${id}/resourcegroups/${name}`
    namespace = groupNamespace(id, name)
    path = `${scope}/resources/containerinstances/site`
    const body = { computePlan: 'container-nano', components: [good], isPublic: true, managedIdentity: true }
    await expectCall(201, 'POST', path, body)
    await running()
  })
  after(async () => {
    hosts?.close()
    await client?.close()
  })

  const running = () =>
    until('it runs', async () => {
      const { body } = await expectCall<Instance>(200, 'GET', path)
      if (body.status === 'Running' && body.publicUrl !== null) return body.publicUrl
      throw new Error(`${body.status}: ${body.statusMessage}`)
    })
  const serves = (url: string) =>
    until('it serves', async () => {
      const { status, text } = await hosts.get(url)
      if (status === 200 && text.trim() === 'well') return true
      throw new Error(`${status} ${text.slice(0, 100)}`)
    })
  const pods = async () => {
    const labelSelector = 'freehold.dev/owner-name=site'
    return (await client.list<Pod>(pod, { namespace, labelSelector })).items
  }

  for (const [what, change, isKnown, message] of TROUBLES) {
    it(`reports within five seconds a container that ${what}, and still serves the previous revision`, async () => {
      const url = await running()
      await serves(url)
      const before = new Set((await pods()).map(({ metadata }) => metadata.name))
      await expectCall(200, 'PATCH', path, { components: [{ ...good, ...change }] })
      await until('the cluster reports the failure', async () =>
        (await pods()).some((one) => !before.has(one.metadata.name) && isKnown(one)),
      )
      const known = performance.now()
      await until(
        'the status reports the failure',
        async () => {
          const { body } = await expectCall<Instance>(200, 'GET', path)
          if (message.test(body.statusMessage)) return true
          throw new Error(`${body.phase}: ${body.statusMessage}`)
        },
        promised(5_000),
      )
      console.log(`      said after ${Math.round(performance.now() - known)} ms`)
      await serves(url)
      const { number } = (
        await expectCall<{ items: { number: number }[] }>(200, 'GET', `${path}/revisions?pageSize=500`)
      ).body.items.at(-1) ?? { number: 1 }
      await expectCall(200, 'POST', `${path}/revisions/${number}/rollback`)
      await running()
    })
  }

  it('mounts working credentials of its identity as files', async () => {
    const own = (await pods()).find(
      ({ metadata, status }) =>
        metadata.deletionTimestamp === undefined && status?.containerStatuses?.every(({ ready }) => ready),
    )
    const read = (file: string) =>
      kubectl(['-n', namespace, 'exec', own?.metadata.name ?? '', '--', 'cat', `${IDENTITY_PATH}/${file}`])
    expect(await tokenFor(await read('client-id'), await read('client-secret'))).to.be.a('string')
  })

  it('lets kubectl read logs with readLogs, and exec only with all rights of the container', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tenants-'))
    const kubectlOf = async (role: string) => {
      const { token, principalId } = await makeCaller({ [role]: scope })
      const kubeconfig = join(folder, principalId)
      await writeFile(kubeconfig, kubeconfigWithToken(token))
      return async (...words: string[]) => {
        const { code, stdout, stderr } = await ranKubectl(['-n', namespace, ...words], { kubeconfig })
        if (code === 0) return stdout
        return /forbidden/i.test(stderr) ? 'forbidden' : stderr
      }
    }
    try {
      const [owner, contributor, reader] = await Promise.all(['Owner', 'Contributor', 'Reader'].map(kubectlOf))
      if (owner === undefined || contributor === undefined || reader === undefined) throw new Error('no callers')
      const find = async () => (await pods()).find(({ metadata }) => metadata.deletionTimestamp === undefined)
      const name = await until(
        'one copy is left',
        async () => (await pods()).length === 1 && (await find())?.metadata.name,
      )
      await until('the API server takes tokens', async () =>
        (await owner('get', 'pod', name, '-o', 'name')).startsWith('pod/'),
      )
      expect(await owner('exec', name, '--', 'cat', '/tmp/index.html')).to.equal('well\n')
      expect(await owner('logs', name)).to.not.equal('forbidden')
      // Its code has an identity whose credentials a Contributor may not read.
      expect(await contributor('exec', name, '--', 'true')).to.equal('forbidden')
      expect(await contributor('logs', name)).to.not.equal('forbidden')
      for (const words of [
        ['exec', name, '--', 'true'],
        ['logs', name],
      ])
        expect(await reader(...words), words[0]).to.equal('forbidden')
      expect(await reader('exec', name, '--', 'cat', '/tmp/index.html')).to.equal('forbidden')
      await expectCall(200, 'PATCH', path, { managedIdentity: false })
      await running()
      const bare = await until('another copy runs', async () => {
        const found = await pods()
        return found.length === 1 && found[0]?.metadata.name !== name && found[0]?.metadata.name
      })
      await until(
        'a Contributor may exec',
        async () => (await contributor('exec', bare, '--', 'cat', '/tmp/index.html')) === 'well\n',
      )
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  it('is deleted', async () => {
    await call('DELETE', path)
    await until('it is deleted', async () => (await call('GET', path)).status === 404)
  })
})
