import { execFile, spawn } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { holderOf, tryLock } from './lockfile.ts'
import {
  CONTROL_PLANE,
  linkerFlags,
  NODE_PROGRAMS,
  PROGRAMS,
  type Program,
  type ProgramName,
  type ToolLock,
} from './modules.ts'
import { dyingWithParent } from './processes.ts'
import type { Progress } from './progress.ts'
import { programsIn } from './sources.ts'

const TAIL_CHARACTERS = 4_000
const LOCK_POLL_MS = 500

/**
 * Builds programs from the lock of the control plane in `tools/` into the cache folder. Each is built in a folder of its
 * own and moved when whole, so an interrupted build leaves nothing that looks ready.
 *
 * @throws Error when Go is missing or too old, or when a build fails (with the end of its output)
 */
export async function buildPrograms(options: {
  toolsFolder: string
  cacheFolder: string
  lock: ToolLock
  names: readonly ProgramName[]
  progress: Progress
  signal: AbortSignal | undefined
}): Promise<void> {
  const { toolsFolder, cacheFolder, lock, names, progress, signal } = options
  await buildInto({ folder: cacheFolder, module: CONTROL_PLANE, progress, signal }, async (temporary) => {
    const meanwhile = await programsIn(cacheFolder)
    const isWanted = ({ name }: Program) => names.includes(name) && meanwhile[name] === undefined
    const wanted = [...PROGRAMS, ...NODE_PROGRAMS].filter(isWanted)
    if (wanted.length === 0) return
    requireGo(await goVersion(), lock.goVersion)
    progress.note(
      `Building ${wanted.length} programs with Go (some minutes the first time, then cached in ${cacheFolder})`,
    )
    for (const { name, package: path } of wanted) {
      const output = join(temporary, name)
      await progress.step(`build ${name}`, () =>
        goBuild(
          join(toolsFolder, CONTROL_PLANE),
          ['build', '-trimpath', '-ldflags', linkerFlags(lock.kubernetesVersion), '-o', output, path],
          signal,
          { CGO_ENABLED: '0' },
        ),
      )
      await rename(output, join(cacheFolder, name))
    }
  })
}

/** @throws Error that says what to install */
export function requireGo(found: string | undefined, wanted: string): void {
  const advice = `Install Go ${wanted} or newer (https://go.dev/dl), or set KUBEBUILDER_ASSETS to a folder with kube-apiserver and etcd, or name a cluster with --kubeconfig.`
  if (found === undefined)
    throw new Error(`The control plane must be built once, but no "go" is on the PATH. ${advice}`)
  if (isGoOlder(found, wanted)) {
    throw new Error(
      `The control plane needs Go ${wanted} to build, but "go" on the PATH is ${releaseOf(found)}. ${advice}`,
    )
  }
}

const releaseOf = (found: string) => /^go(\d+(?:\.\d+)*)/.exec(found)?.[1]

/** A development build ("devel ...") has no number and counts as newer than any release. */
export function isGoOlder(found: string, wanted: string): boolean {
  const release = releaseOf(found)
  return release !== undefined && isOlder(release, wanted)
}

/** Whether one version precedes another. */
export function isOlder(version: string, wanted: string): boolean {
  const [left, right] = [version, wanted].map((text) => text.split('.').map(Number))
  for (let index = 0; index < 3; index += 1) {
    const difference = (left?.[index] ?? 0) - (right?.[index] ?? 0)
    if (difference !== 0) return difference < 0
  }
  return false
}

/** Of the Go on the PATH; undefined if there is none. */
export async function goVersion(): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)('go', ['env', 'GOVERSION'])
    return stdout.trim()
  } catch {
    return undefined
  }
}

/**
 * The compiler finishes a package before its garbage fills the memory: collecting it less often saves a quarter of the
 * time. The limit applies to each compiler; as many run as there are cores.
 */
const GO_GC_SETTINGS = { GOGC: '400', GOMEMLIMIT: '1GiB' }

/** Runs Go in a module folder. @throws Error with the end of its output */
export async function goBuild(
  folder: string,
  args: readonly string[],
  signal: AbortSignal | undefined,
  environment: NodeJS.ProcessEnv = {},
): Promise<void> {
  // -mod=readonly: the lock files decide, whatever the environment says.
  const [command = 'go', ...rest] = dyingWithParent('INT', ['go', ...args])
  const child = spawn(command, rest, {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    // Go passes the signal on to its compilers, which would keep running without it.
    ...(signal === undefined ? {} : { signal, killSignal: 'SIGINT' as const }),
    env: {
      ...GO_GC_SETTINGS,
      ...process.env,
      GOFLAGS: `${process.env.GOFLAGS ?? ''} -mod=readonly -buildvcs=false`.trim(),
      GOWORK: 'off',
      ...environment,
    },
  })
  let tail = ''
  const keep = (chunk: Buffer) => {
    tail = (tail + chunk.toString()).slice(-TAIL_CHARACTERS)
  }
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  const code = await new Promise<number | null>((done, failed) => child.once('error', failed).once('close', done))
  if (code !== 0)
    throw new Error(`go ${args.join(' ')} in ${folder} failed with code ${code}. Its last words:\n${tail.trim()}`)
}

type BuildPlace = { folder: string; module: string; progress: Progress; signal: AbortSignal | undefined }

/**
 * Builds into a cache folder through a temporary one. One lock per module: two concurrent builds would compile shared
 * packages twice.
 */
export async function buildInto(
  { folder, module, progress, signal }: BuildPlace,
  build: (temporary: string) => Promise<void>,
): Promise<void> {
  await mkdir(folder, { recursive: true })
  const release = await takeBuildLock(join(dirname(folder), `.building-${module}`), progress, signal)
  try {
    // Leftovers of killed builds: while we hold the lock, none of these folders is in use.
    for (const name of await readdir(folder))
      if (name.startsWith('.build-')) await rm(join(folder, name), { recursive: true, force: true })
    const temporary = await mkdtemp(join(folder, '.build-'))
    await build(temporary).finally(() => rm(temporary, { recursive: true, force: true }))
  } finally {
    await release()
  }
}

/** Waits until nobody else has the lock. */
export async function takeBuildLock(
  path: string,
  progress: Progress,
  signal: AbortSignal | undefined,
): Promise<() => Promise<void>> {
  let isReported = false
  for (;;) {
    const release = await tryLock(path)
    if (release !== undefined) return release
    const { pid = process.pid } = (await holderOf(path)) ?? {}
    // Builds of this process report their own progress.
    if (!isReported && pid !== process.pid) {
      progress.note('Another build of the same programs, or of what they share, is under way: waiting for it')
      isReported = true
    }
    await delay(LOCK_POLL_MS, undefined, signal === undefined ? {} : { signal })
  }
}
