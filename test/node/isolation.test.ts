import { execFile, spawn } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { API_SERVICE_ADDRESS } from '../../scripts/controlplane/flags.ts'
import { GATEWAY, NODE_ADDRESS, REGISTRY } from '../../scripts/node/addresses.ts'
import { groupNamespace } from '../../src/core/names.ts'
import { pod } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { kubectl } from '../worlds/kubectl.ts'
import { makeBoundary, makeGroup, uniqueName, until } from '../worlds/platform.ts'
import { administrator } from '../worlds/tenant.ts'
import { logOf, podIn, pushShell, shellPod, testNode } from './shell.ts'

const run = promisify(execFile)
const METADATA = '169.254.169.254'
const BOUNDARIES = 2
const GROUPS = 2
/** Tests the first seconds of a pod: policies must be in force from its first packet, and allow traffic soon after. */
const ATTEMPTS = 5

/** A listener; `whose` is the group that may reach it, none if undefined. */
type Target = { name: string; address: string; port: number; whose: number | undefined }
/** A target with its own protection: not even its own group reaches it. */
const NOBODY = -1

/** @everyRun */
describe('network isolation on a node, tested by connections', () => {
  let client: KubeClient
  let namespaces: string[]
  let targets: Target[]
  let metadata: ReturnType<typeof spawn>
  /** By group; `unbound` is a pod that no policy selects. */
  let reached: { groups: string[][]; unbound: string[] }

  before(async () => {
    client = await administrator()
    await pushShell()
    const boundaries = await Promise.all(Array.from({ length: BOUNDARIES }, () => makeBoundary()))
    const groups = boundaries.flatMap(({ id }) => Array.from({ length: GROUPS }, () => id))
    namespaces = await Promise.all(groups.map(async (id) => groupNamespace(id, (await makeGroup(id)).name)))
    metadata = await startMetadata()
    const listening = 'while true; do echo hello | busybox nc -l -p 8080; done'
    const listeners = await Promise.all(
      namespaces.map(async (namespace) => {
        const made = shellPod(uniqueName('listener'), namespace, listening)
        await client.create(pod, made)
        return podIn(client, { namespace, name: made.metadata.name }, 'Running')
      }),
    )
    const server = new URL(JSON.parse(await kubectl(['config', 'view', '-o', 'json'])).clusters[0].cluster.server)
    const machine = (name: string, address: string, port: string | number) => ({
      name,
      address,
      port: Number(port),
      whose: undefined,
    })
    const { items: gateways } = await client.list(pod, {
      namespace: GATEWAY.namespace,
      labelSelector: 'app.kubernetes.io/name=traefik',
    })
    targets = [
      ...gateways.map(({ status }) => ({
        name: 'what the Gateway counted',
        address: (status as { podIP?: string }).podIP ?? '',
        port: 8080,
        whose: NOBODY,
      })),
      ...listeners.map(({ status }, whose) => ({
        name: `group ${whose}`,
        address: status?.podIP ?? '',
        port: 8080,
        whose,
      })),
      machine('the API server, by its Service', API_SERVICE_ADDRESS, 443),
      machine('the API server, by the address of its machine', NODE_ADDRESS, server.port),
      machine('the kubelet', NODE_ADDRESS, 10250),
      machine('the registry', NODE_ADDRESS, REGISTRY.split(':')[1] ?? ''),
      machine('metadata of a cloud', METADATA, 80),
    ]
    const unbound = await until('everything listens', async () => {
      const names = await reachedFrom('default')
      return closed().every((name) => names.includes(name)) && names
    })
    reached = { unbound, groups: await Promise.all(namespaces.map(reachedInAll)) }
  })
  after(async () => {
    metadata?.kill()
    await metadataAddress('del')
    await client?.close()
  })

  async function metadataAddress(change: 'add' | 'del'): Promise<void> {
    const { inNetwork } = await testNode()
    const [program = '', ...words] = inNetwork(['ip', 'address', change, `${METADATA}/32`, 'dev', 'node0'])
    await run(program, words)
  }

  /** A cloud's metadata service; without it, closed and missing addresses would look the same. */
  async function startMetadata() {
    await metadataAddress('add')
    const { inNetwork } = await testNode()
    const script = `require('node:net').createServer((socket) => socket.end()).listen(80, '${METADATA}')`
    const [command = '', ...rest] = inNetwork([process.execPath, '-e', script])
    return spawn(command, rest, { stdio: 'ignore' })
  }

  /** Names of the targets that a new pod in the namespace reaches at any time. */
  async function reachedFrom(namespace: string): Promise<string[]> {
    const tries = targets.map(({ address, port }, index) => {
      const attempt = `busybox nc -w 2 ${address} ${port} < /dev/null > /dev/null 2>&1 && echo ${index} && break`
      return `(for n in $(seq ${ATTEMPTS}); do ${attempt}; sleep 0.5; done) &`
    })
    const made = shellPod(uniqueName('client'), namespace, `${tries.join('\n')}\nwait`)
    await client.create(pod, made)
    const ref = { namespace, name: made.metadata.name }
    await podIn(client, ref, 'Succeeded')
    const lines = (await logOf(client, ref)).trim().split('\n')
    return lines.filter((line) => line !== '').map((line) => targets[Number(line)]?.name ?? line)
  }

  /**
   * What pods of a group reach, until one reaches its own: on a busy machine that may take longer than one pod tries.
   */
  async function reachedInAll(namespace: string, group: number): Promise<string[]> {
    const found = new Set<string>()
    await until(`group ${group} reaches itself`, async () => {
      for (const name of await reachedFrom(namespace)) found.add(name)
      return targets.every(({ name, whose }) => whose !== group || found.has(name))
    })
    return targets.map(({ name }) => name).filter((name) => found.has(name))
  }

  const closed = () => targets.filter(({ whose }) => whose === undefined).map(({ name }) => name)

  it('lets a pod outside of all groups reach every unprotected target', () => {
    expect(reached.unbound.toSorted()).to.deep.equal(closed().toSorted())
  })

  for (let from = 0; from < BOUNDARIES * GROUPS; from += 1) {
    it(`lets pods of group ${from} reach their own group only`, () => {
      const own = targets.filter(({ whose }) => whose === from).map(({ name }) => name)
      expect(reached.groups[from]).to.deep.equal(own)
    })
  }
})
