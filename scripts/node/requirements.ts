import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { onPath } from '../controlplane/processes.ts'

export type MachineFacts = {
  readonly platform: NodeJS.Platform
  readonly isRoot: boolean
  /** Programs of the machine that are not on the PATH. */
  readonly missing: readonly string[]
  /** The kernel's error when asked for namespaces; undefined if it allowed them. */
  readonly refusal: string | undefined
  /** How many inotify instances the kernel gives a user; undefined if it does not say. */
  readonly inotifyInstances: number | undefined
}

const REQUIRED_PROGRAMS = ['unshare', 'nsenter', 'setpriv', 'mount', 'tar', 'apt-get', 'dpkg-deb']

/** Why no node can run on this machine, in one sentence that says what to do; undefined if one can. */
export function nodeIsImpossible({ platform, isRoot, missing, refusal }: MachineFacts): string | undefined {
  const alternative = 'start the platform without --node, where nodes and pods are played'
  if (platform !== 'linux') return `A real node needs Linux, and this is ${platform}: ${alternative}.`
  if (!isRoot) return `A real node needs root, for namespaces, mounts and cgroups: run it as root, or ${alternative}.`
  if (missing.length > 0)
    return `A real node needs ${missing.join(', ')}, which ${missing.length === 1 ? 'is' : 'are'} not on the PATH: install ${missing.length === 1 ? 'it' : 'them'} (Debian and Ubuntu are supported), or ${alternative}.`
  if (refusal !== undefined) return `This machine gives no namespaces or mounts (${refusal}): ${alternative}.`
  return undefined
}

/** Inotify instances: the node uses some itself, and one for each container. */
const MIN_INOTIFY_INSTANCES = 256
const INOTIFY_SYSCTL = 'fs.inotify.max_user_instances'

/** Why a node on this machine cannot run many pods, and what to do; undefined if it can. */
export function nodeIsCramped({ inotifyInstances = MIN_INOTIFY_INSTANCES }: MachineFacts): string | undefined {
  if (inotifyInstances >= MIN_INOTIFY_INSTANCES) return undefined
  return `A node takes an inotify instance for each container, and this machine gives a user ${inotifyInstances} of them: before you start many pods, run "sysctl -w ${INOTIFY_SYSCTL}=512" as root of the machine, or they end in "too many open files".`
}

export function machineFacts(): MachineFacts {
  const { platform } = process
  const isRoot = process.getuid?.() === 0
  const missing = REQUIRED_PROGRAMS.filter((name) => onPath(name) === undefined)
  const refusal = platform === 'linux' && isRoot && missing.length === 0 ? refusedNamespaces() : undefined
  return { platform, isRoot, missing, refusal, inotifyInstances: numberIn(INOTIFY_SYSCTL) }
}

/** A setting of the kernel, by its name for sysctl. */
function numberIn(name: string): number | undefined {
  try {
    return Number(readFileSync(`/proc/sys/${name.replaceAll('.', '/')}`, 'utf8'))
  } catch {
    return undefined
  }
}

/** Tries everything that a node needs of the kernel, in temporary namespaces. */
function refusedNamespaces(): string | undefined {
  if (!existsSync('/sys/fs/cgroup')) return 'no cgroups are mounted'
  const trial = 'mount --make-rprivate / && mount -t tmpfs tmpfs /mnt'
  try {
    const words = ['--net', '--mount', '--pid', '--fork', '--mount-proc', 'sh', '-c', trial]
    execFileSync('unshare', words, { stdio: ['ignore', 'ignore', 'pipe'], timeout: 10_000 })
    return undefined
  } catch (error) {
    return String((error as { stderr?: Buffer }).stderr ?? error).trim()
  }
}
