import { type ChildProcess, spawn } from 'node:child_process'
import { accessSync, closeSync, constants, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { readIfThere } from './files.ts'
import { identityOf } from './identity.ts'

/** A process as recorded in the data folder: `identity` prevents stopping another process with a recycled number. */
export type ProcessRecord = { name: string; pid: number; identity: string }
export type ProcessCommand = {
  /** Also the name of its log file. */
  name: string
  program: string
  args: readonly string[]
  /** Defaults to this process's environment. */
  environment?: NodeJS.ProcessEnv
}
export type RunningProcess = ProcessRecord & { logFile: string; child: ChildProcess; exited: Promise<string> }

/** Where a process of a data folder is logged, since its last start. */
export const logFileOf = (folder: string, name: string) => join(folder, 'logs', `${name}.log`)

const TAIL_LINES = 20
const STOP_POLL_MS = 20

/** Starts, remembers and stops the processes of one data folder. */
export class ProcessGroup {
  readonly running: RunningProcess[] = []
  /** Rejects with the end of the log of the first process that exits unexpectedly. */
  readonly failed: Promise<never>
  #fail: (error: Error) => void = () => undefined
  #stopping = false
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
    this.failed = new Promise((_done, reject) => {
      this.#fail = reject
    })
    // Callers race against it; without a listener it must not count as an unhandled rejection.
    this.failed.catch(() => undefined)
  }

  /** @throws Error once all are being stopped: nobody would stop this one */
  start({ name, program, args, environment }: ProcessCommand): RunningProcess {
    if (this.#stopping) throw new Error(`${name} is not started: everything is being stopped.`)
    const logFile = logFileOf(this.#folder, name)
    mkdirSync(dirname(logFile), { recursive: true, mode: 0o700 })
    const log = openSync(logFile, 'w', 0o600)
    const [command = program, ...rest] = dyingWithParent('KILL', [program, ...args])
    // A session of its own: Ctrl-C in the terminal then reaches only this process, which stops the others in order.
    const child = spawn(command, rest, { stdio: ['ignore', log, log], detached: true, env: environment ?? process.env })
    closeSync(log)
    const exited = new Promise<string>((done) => {
      child.once('error', (error) => done(error.message))
      child.once('exit', (code, signal) => done(signal ?? `code ${code}`))
    })
    void exited.then((how) => {
      if (!this.#stopping) this.#fail(new Error(`${name} ended (${how}). The end of ${logFile}:\n${tailOf(logFile)}`))
    })
    const started: RunningProcess = {
      name,
      pid: child.pid ?? 0,
      identity: child.pid === undefined ? '' : (identityOf(child.pid) ?? ''),
      logFile,
      child,
      exited,
    }
    this.running.push(started)
    writeProcessRecords(this.#folder, this.running)
    return started
  }

  /** Ends the wait of whoever starts or watches, as if a process had failed. */
  abort(reason: Error): void {
    this.#fail(reason)
  }

  async stop(): Promise<void> {
    this.#stopping = true
    await stopInOrder(this.running)
    this.running.length = 0
    writeProcessRecords(this.#folder, [])
  }
}

/**
 * Stop order: our processes, which write to the API server, then others that need it, the API server, its store, and
 * the namespaces that contain them all.
 */
const STOP_ORDER = [['kube-controller-manager', 'kube-scheduler', 'kwok'], ['kube-apiserver'], ['etcd'], ['node']]
const STOP_DEADLINE_MS = 10_000
/**
 * By then etcd has everything. A graceful stop would wait for the audit webhook, which has ended already or cannot
 * write without the API server.
 */
const API_SERVER_STOP_DEADLINE_MS = 2_000
/** Waits for the first process in the namespaces, which is told to end; otherwise nobody would reap it. */
const NODE_INIT = 'node'

async function stopInOrder(records: readonly ProcessRecord[]): Promise<string[]> {
  const known = STOP_ORDER.flat()
  const unordered = records.filter(({ name }) => !known.includes(name))
  const stages = STOP_ORDER.map((names) => records.filter(({ name }) => names.includes(name)))
  const stopped: string[] = []
  for (const stage of [unordered, ...stages]) {
    const lived = await Promise.all(stage.map((record) => stopRecord(record, stopDeadlineOf(record))))
    stopped.push(...stage.filter((_, index) => lived[index]).map(({ name }) => name))
  }
  return stopped
}

const stopDeadlineOf = ({ name }: ProcessRecord) =>
  name === 'kube-apiserver' ? API_SERVER_STOP_DEADLINE_MS : STOP_DEADLINE_MS

/** On Linux `setpriv` (util-linux) makes a child end when its parent dies, even by SIGKILL. */
export function dyingWithParent(signalName: 'KILL' | 'INT', command: readonly string[]): readonly string[] {
  const setpriv = process.platform === 'linux' ? onPath('setpriv') : undefined
  return setpriv === undefined ? command : [setpriv, '--pdeathsig', signalName, '--', ...command]
}

/** The path of a program on the PATH, if any. @param except an absolute folder that is not searched */
export function onPath(name: string, except?: string): string | undefined {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    if (except !== undefined && resolve(folder) === except) continue
    const path = join(folder, name)
    try {
      accessSync(path, constants.X_OK)
      return path
    } catch {}
  }
  return undefined
}

/** SIGTERM, then SIGKILL at the deadline, but never to another process with the same number. */
export async function stopRecord(record: ProcessRecord, deadlineMs: number): Promise<boolean> {
  const isAlive = () => record.identity !== '' && identityOf(record.pid) === record.identity
  if (!isAlive()) return false
  signal(record.name === NODE_INIT ? (firstChildOf(record.pid) ?? record.pid) : record.pid, 'SIGTERM')
  for (const end = performance.now() + deadlineMs; isAlive() && performance.now() < end; ) await delay(STOP_POLL_MS)
  if (isAlive()) signal(record.pid, 'SIGKILL')
  while (isAlive()) await delay(STOP_POLL_MS)
  return true
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    // It ended between the check and the signal.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** On Linux; undefined if it has none. */
export function firstChildOf(pid: number): number | undefined {
  try {
    const [first = ''] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')
    return first === '' ? undefined : Number(first)
  } catch {
    return undefined
  }
}

export function tailOf(logFile: string, lines = TAIL_LINES): string {
  return readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-lines).join('\n')
}

const recordsFile = (folder: string) => join(folder, 'processes.json')

/** Synchronous, so that writers cannot interleave and a start is recorded almost at once. */
export function writeProcessRecords(folder: string, processes: readonly ProcessRecord[]): void {
  const records = processes.map(({ name, pid, identity }) => ({ name, pid, identity }))
  const temporary = `${recordsFile(folder)}.new`
  writeFileSync(temporary, `${JSON.stringify(records, null, 2)}\n`, { mode: 0o600 })
  renameSync(temporary, recordsFile(folder))
}

export async function readProcessRecords(folder: string): Promise<ProcessRecord[]> {
  try {
    const value: unknown = JSON.parse((await readIfThere(recordsFile(folder))) ?? '[]')
    return Array.isArray(value) ? value : []
  } catch (error) {
    // The file is replaced atomically. Only a power failure breaks it, and then the processes are gone too.
    if (error instanceof SyntaxError) return []
    throw error
  }
}

/** Stops leftovers of an earlier run in this data folder. */
export async function stopLeftovers(folder: string): Promise<string[]> {
  const records = await readProcessRecords(folder)
  if (records.length === 0) return []
  const stopped = await stopInOrder(records)
  writeProcessRecords(folder, [])
  return stopped
}
