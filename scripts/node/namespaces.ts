import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, rmdirSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { readIfThere, writePrivate } from '../controlplane/files.ts'
import { SERVICE_RANGE } from '../controlplane/flags.ts'
import { identityOf } from '../controlplane/identity.ts'
import { firstChildOf, type ProcessGroup, readProcessRecords } from '../controlplane/processes.ts'
import { waitUntil } from '../controlplane/request.ts'
import { DNS_DOMAIN, NODE_ADDRESS } from './addresses.ts'

const READY_TIMEOUT_MS = 20_000
const REMOVE_TIMEOUT_MS = 10_000
const CGROUPS = '/sys/fs/cgroup'
const RESOLV_CONF_COMMAND = 'mount --bind "$0" /etc/resolv.conf && exec "$@"'
const PROCESS = 'node'
const CGROUP_FILE = 'cgroup'

/** The folder of a node's state below the data folder. */
export const stateOf = (folder: string) => join(folder, 'node')

/**
 * The network, mount and process namespaces of a node. All end with one process; only cgroups must be removed
 * explicitly.
 */
export type Namespaces = {
  /** The number of the node's process 1 on this machine. */
  readonly pid: number
  readonly cgroup: string
  /** A command line that runs in the node's network, for programs that need nothing else of it. */
  inNetwork(command: readonly string[]): readonly string[]
  /** The same, with names of Services resolved. */
  withNames(command: readonly string[]): readonly string[]
  /** The command in all namespaces of the node. */
  inside(command: readonly string[]): readonly string[]
}

export type NamespaceOptions = {
  readonly group: ProcessGroup
  readonly state: string
  readonly pause: string
  /** PATH of the node's processes. */
  readonly path: string
  /** Folders that stay visible even below hidden ones. */
  readonly kept: readonly string[]
}

/** @throws Error with the end of the log if the namespaces cannot be made ready */
export async function startNamespaces({ group, state, pause, path, kept }: NamespaceOptions): Promise<Namespaces> {
  await rm(join(state, 'ready'), { force: true })
  const cgroup = `freehold-${randomBytes(4).toString('hex')}`
  // Written first, so that a start after a crash knows what to remove.
  await writePrivate(join(state, CGROUP_FILE), cgroup)
  const script = join(import.meta.dirname, 'init.sh')
  const words = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc']
  const outer = group.start({
    name: PROCESS,
    program: 'unshare',
    args: [...words, 'sh', script, state, pause, cgroup, ...kept],
    environment: { ...process.env, PATH: path, NODE_ADDRESS, DNS_DOMAIN, SERVICE_RANGE },
  })
  const isReady = async () => existsSync(join(state, 'ready'))
  await waitUntil('the namespaces of the node', READY_TIMEOUT_MS, isReady, group.failed)
  return { ...namespacesOf(onlyChildOf(outer.pid), state), cgroup }
}

/** Those of a node that another process runs on this data folder; undefined if none runs. */
export async function runningNamespaces(folder: string): Promise<Omit<Namespaces, 'cgroup'> | undefined> {
  const outer = (await readProcessRecords(folder)).find(({ name }) => name === PROCESS)
  if (outer === undefined || identityOf(outer.pid) !== outer.identity) return undefined
  return namespacesOf(onlyChildOf(outer.pid), stateOf(folder))
}

function namespacesOf(pid: number, state: string): Omit<Namespaces, 'cgroup'> {
  const enter = (...spaces: string[]) => ['nsenter', '--target', String(pid), ...spaces, '--']
  return {
    pid,
    inNetwork: (command) => [...enter('--net'), ...command],
    // Separate mounts for one file: in the node's mount namespace it would see processes from outside its own.
    withNames: (command) => [
      ...enter('--net'),
      'unshare',
      '--mount',
      'sh',
      '-c',
      RESOLV_CONF_COMMAND,
      join(state, 'resolv.conf'),
      ...command,
    ],
    // nsenter stays outside and forwards no signals: its child is told when it ends.
    inside: (command) => [...enter('--net', '--mount', '--pid'), 'setpriv', '--pdeathsig', 'TERM', '--', ...command],
  }
}

function onlyChildOf(pid: number): number {
  const child = firstChildOf(pid)
  if (child === undefined) throw new Error('The first process of the node has ended.')
  return child
}

/**
 * Removes the cgroups of a node that has ended: the only thing of it that outlives its processes. Those of its pods may
 * take a moment to end after they were killed.
 *
 * @throws Error naming a cgroup that is still in use after some seconds
 */
export async function removeCgroups(state: string): Promise<void> {
  const cgroup = await readIfThere(join(state, CGROUP_FILE))
  if (cgroup === undefined || !/^freehold-[0-9a-f]{8}$/.test(cgroup)) return
  for (const end = performance.now() + REMOVE_TIMEOUT_MS; ; await delay(50)) {
    try {
      for (const controller of cgroupRoots()) removeTree(join(controller, cgroup))
      return await rm(join(state, CGROUP_FILE))
    } catch (error) {
      if (performance.now() > end) throw new Error(`The cgroup ${cgroup} is still in use.`, { cause: error })
    }
  }
}

/** One tree in version 2 of cgroups, a tree for each controller in version 1. */
function cgroupRoots(): string[] {
  if (existsSync(join(CGROUPS, 'cgroup.controllers'))) return [CGROUPS]
  return existsSync(CGROUPS) ? readdirSync(CGROUPS).map((name) => join(CGROUPS, name)) : []
}

function removeTree(folder: string): void {
  if (!existsSync(folder)) return
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) removeTree(join(folder, entry.name))
  }
  rmdirSync(folder)
}
