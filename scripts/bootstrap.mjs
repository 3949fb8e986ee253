// The entry of every npm script. Plain JavaScript for any Node from 18 on, without a dependency: it installs the
// locked packages (Node 24 is one of them) and goes on under that Node.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const NODE_MAJOR = 24
const [script, ...args] = process.argv.slice(2)

if (script === undefined || !/^[a-z]+$/.test(script) || !existsSync(join(root, 'scripts', `${script}.ts`))) {
  fail(`There is no scripts/${script ?? '<name>'}.ts. Usage: node scripts/bootstrap.mjs <script> [arguments]`)
}
if (findStaleness() !== undefined) installLocked()
run(findNode())

function readJson(path) {
  try {
    return JSON.parse(readFileSync(join(root, path), 'utf8'))
  } catch {
    return undefined
  }
}

/** Compares installed versions with those in the lock file. Times would not do: a checkout does not keep them. */
function findStaleness() {
  const installed = readJson('node_modules/.package-lock.json')
  if (installed === undefined) return 'node_modules is missing'
  const locked = readJson('package-lock.json')
  if (locked === undefined)
    fail(`${join(root, 'package-lock.json')} is missing or broken: check out the repository again.`)
  for (const [path, { version, optional }] of Object.entries(locked.packages)) {
    if (path === '') continue
    const found = installed.packages[path]
    if (found === undefined ? !optional : found.version !== version) return `${path} is not at ${version}`
  }
  return undefined
}

/** `npm ci` removes node_modules first: of several scripts in one tree, one installs and the others wait for it. */
function installLocked() {
  const lock = join(root, '.installing')
  for (let isTold = false; !tryLock(lock); isTold = true) {
    if (!isTold) process.stderr.write('Another script is installing the packages: waiting for it.\n')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
  }
  try {
    const stale = findStaleness()
    if (stale !== undefined) install(stale)
  } finally {
    rmSync(lock, { force: true })
  }
}

/**
 * Whether this process now holds the lock. The lock of a dead process does not count. The file appears whole (a link),
 * so that nobody reads half a holder, as in scripts/controlplane/lockfile.ts.
 */
function tryLock(lock) {
  const own = `${lock}.${process.pid}`
  writeFileSync(own, `${process.pid} ${startTimeOf(process.pid)}`)
  try {
    if (tryLink(own, lock)) return true
    const holder = readIfThere(lock)
    if (holder !== undefined && isHeldBy(holder)) return false
    if (holder !== undefined) removeStale(lock, holder)
    return tryLink(own, lock)
  } finally {
    rmSync(own, { force: true })
  }
}

function isHeldBy(holder) {
  const [pid, start = ''] = holder.split(' ')
  return Number(pid) > 0 && isRunning(Number(pid), start)
}

/**
 * One after the other: of two processes that find a dead lock, the slower one would remove the new lock of the faster.
 */
function removeStale(lock, holder) {
  const turn = `${lock}.${createHash('sha256').update(holder).digest('hex').slice(0, 16)}`
  if (!tryLock(turn)) return
  if (readIfThere(lock) === holder) rmSync(lock, { force: true })
  rmSync(turn, { force: true })
}

function tryLink(from, to) {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
}

function readIfThere(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

function isRunning(pid, start) {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if (error.code === 'ESRCH') return false
  }
  return start === '' || startTimeOf(pid) === start
}

/**
 * Distinguishes a process from a later one with the same number, as scripts/controlplane/identity.ts does; '' if
 * unknown.
 */
function startTimeOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${boot}:${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]}`
  } catch {
    return ''
  }
}

function install(reason) {
  process.stderr.write(`Installing packages (${reason})\n`)
  const started = performance.now()
  // shell: npm is npm.cmd on Windows. What npm says is set in .npmrc.
  const { status } = spawnSync('npm', ['ci'], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    shell: process.platform === 'win32',
  })
  if (status !== 0) {
    rmSync(join(root, '.installing'), { force: true })
    fail('npm ci failed: its messages are above. Is a registry in reach?')
  }
  process.stderr.write(`Installed in ${Math.round((performance.now() - started) / 1000)} s\n`)
}

/**
 * The installed Node 24. If npm may not run install scripts, its install step runs here; otherwise the current Node is
 * used.
 */
function findNode() {
  const own = join(root, 'node_modules', 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  if (majorOf(own) >= NODE_MAJOR) return own
  if (Number(process.versions.node.split('.')[0]) >= NODE_MAJOR) return process.execPath
  process.stderr.write(`Fetching Node ${NODE_MAJOR}, which npm did not do by itself\n`)
  spawnSync(process.execPath, ['installArchSpecificPackage.js'], {
    cwd: join(root, 'node_modules', 'node'),
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  if (majorOf(own) >= NODE_MAJOR) return own
  return fail(
    `Node ${NODE_MAJOR} could not be fetched for ${process.platform}-${process.arch}: install it and try again.`,
  )
}

function majorOf(executable) {
  if (!existsSync(executable)) return 0
  const { stdout } = spawnSync(executable, ['--version'], { encoding: 'utf8' })
  return Number(/^v(\d+)\./.exec(stdout || '')?.[1] || 0)
}

function run(node) {
  // The channel tells `up` that this process is gone, even by SIGKILL, so that it stops instead of staying behind.
  const channel = script === 'up' ? ['ipc'] : []
  const child = spawn(node, [join(root, 'scripts', `${script}.ts`), ...args], {
    stdio: ['inherit', 'inherit', 'inherit', ...channel],
    env: {
      // Each start loads hundreds of small modules: cache their compiled form, for all child processes too.
      NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'compile'),
      ...process.env,
      PATH: `${join(root, 'node_modules', '.bin')}:${dirname(node)}:${process.env.PATH}`,
    },
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => fail(`${node} did not start: ${error.message}`))
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + ({ SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGTERM: 15 }[signal] || 0)
    if (child.connected) child.disconnect()
  })
}

function fail(message) {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}
