import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { silentProgress, startControlPlane } from '../../scripts/controlplane/index.ts'
import { PAUSE_IMAGE } from '../../scripts/node/addresses.ts'
import { runningNamespaces } from '../../scripts/node/namespaces.ts'
import { pod } from '../../src/kube/builtin.ts'
import { createKubeClient, type KubeClient } from '../../src/kube/client.ts'
import { loadKubeconfig } from '../../src/kubeconfig/kubeconfig.ts'
import { until } from '../make/until.ts'

const SYSCTLS = ['kernel', 'vm', 'net']

/** Machine-wide state in which a node could leave something behind. */
type Traces = Record<'mounts' | 'interfaces' | 'folders' | 'settings', string[]>

/** Settings that the kernel changes all the time, or that report processes instead of configuring them. */
const RESTLESS =
  /random|ns_last_pid|\/stats|\/inotify|dentry|file-nr|inode|pty\/nr|entropy|sched_domain|\/neigh\/|\/conf\//

function traces(): Traces {
  return {
    mounts: readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .map((line) => line.split(' ').slice(3).join(' '))
      .sort(),
    interfaces: readdirSync('/sys/class/net').sort(),
    folders: ['/run', '/var/lib', '/var/log', '/etc', '/opt'].flatMap((folder) =>
      readdirSync(folder).map((name) => join(folder, name)),
    ),
    settings: SYSCTLS.flatMap((name) =>
      execFileSync('sh', ['-c', `grep -rs . /proc/sys/${name} || true`], { encoding: 'utf8', maxBuffer: 1e8 }).split(
        '\n',
      ),
    )
      .filter((line) => !RESTLESS.test(line))
      .sort(),
  }
}

const linkOf = (path: string) => {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

/** Process numbers whose link of this name, such as that of their network, points to the same target. */
function processesIn(kind: 'net' | 'pid', place: string): number[] {
  const numbers = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return numbers.filter((number) => linkOf(`/proc/${number}/ns/${kind}`) === place).map(Number)
}

/** When it started tells a process from a later one of the same number. */
function startOf(number: number): string | undefined {
  try {
    return readFileSync(`/proc/${number}/stat`, 'utf8').split(') ')[1]?.split(' ')[19]
  } catch {
    return undefined
  }
}

/** Its number, name and state. */
const describeProcess = (number: number) =>
  readFileSync(`/proc/${number}/stat`, 'utf8').split(' ').slice(0, 3).join(' ')

function cgroupsNamed(name: string): string[] {
  const root = '/sys/fs/cgroup'
  return [root, ...readdirSync(root).map((entry) => join(root, entry))]
    .map((path) => join(path, name))
    .filter(existsSync)
}

describe('a stopped node', () => {
  let folder: string
  let client: KubeClient | undefined

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-trace-'))
  })
  after(async () => {
    await client?.close()
    await rm(folder, { recursive: true, force: true })
  })

  it('leaves no mount, interface, cgroup, folder, setting or process behind, zombies included', async () => {
    const before = traces()
    const controlPlane = await startControlPlane({
      folder,
      durable: false,
      realNode: { ports: [] },
      progress: silentProgress,
    })
    let processes: { number: number; start: string | undefined }[]
    let cgroup: string
    try {
      client = createKubeClient(loadKubeconfig(controlPlane.kubeconfigPath), {
        fieldManager: 'test',
        userAgent: 'freehold-test',
      })
      cgroup = readFileSync(join(folder, 'node', 'cgroup'), 'utf8')
      expect(cgroupsNamed(cgroup)).to.not.be.empty
      const { pid } = (await runningNamespaces(folder)) ?? { pid: 0 }
      await runPod(client)
      const numbers = (['net', 'pid'] as const).flatMap((kind) =>
        processesIn(kind, readlinkSync(`/proc/${pid}/ns/${kind}`)),
      )
      const started = controlPlane.processes.map((process) => process.pid)
      processes = [...new Set([...numbers, ...started])].map((number) => ({ number, start: startOf(number) }))
      expect(processes.length).to.be.greaterThan(10)
    } finally {
      await client?.close()
      await controlPlane.stop()
    }
    expect(cgroupsNamed(cgroup)).to.deep.equal([])
    // Child processes of ours are zombies for a moment, until this process is notified.
    await until('every process has ended and was reaped', () => {
      const left = processes.filter(({ number, start }) => start !== undefined && startOf(number) === start)
      if (left.length === 0) return true
      throw new Error(left.map(({ number }) => describeProcess(number)).join(', '))
    })
    const after = traces()
    for (const kind of Object.keys(before) as (keyof Traces)[]) expect(after[kind], kind).to.deep.equal(before[kind])
  })

  /** So that containers, their networks and their mounts have been there. */
  async function runPod(kube: KubeClient): Promise<void> {
    const ref = { namespace: 'default', name: 'paused' }
    await kube.create(pod, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: ref,
      spec: { terminationGracePeriodSeconds: 0, containers: [{ name: 'paused', image: PAUSE_IMAGE }] },
    } as never)
    await until('a pod runs', async () => {
      const { status } = await kube.get<{ status?: { phase?: string } } & Parameters<typeof Object>[0]>(pod, ref)
      return status?.phase === 'Running'
    })
  }
})
