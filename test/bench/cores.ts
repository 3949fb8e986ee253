import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { statOf } from './processes.ts'

const CORES = navigator.hardwareConcurrency

/** Numbers of cores as `taskset` (util-linux) takes them. */
const CALLERS = String(CORES - 1)
const SERVERS = CORES > 2 ? `0-${CORES - 2}` : '0'

/**
 * Callers get a core of their own and servers the others, in all rounds, so that the load of calling is not attributed
 * to the platform. Processes that either starts later inherit this. All children of this process so far are servers.
 *
 * @throws Error without a second core, or without `taskset`
 */
export function separateCallers(): { callers: string; servers: string } {
  if (CORES < 2) throw new Error('Callers and servers need a core each.')
  for (const child of descendants(process.pid)) pin(child, SERVERS)
  pin(process.pid, CALLERS)
  return { callers: CALLERS, servers: SERVERS }
}

/** A server that a caller started. */
export function placeWithServers(pid: number | undefined): void {
  if (pid !== undefined) pin(pid, SERVERS)
}

function pin(pid: number, cores: string): void {
  execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', cores, String(pid)], { stdio: 'ignore' })
}

function descendants(pid: number): number[] {
  const parents = new Map(readdirSync('/proc').filter(isNumber).map(parentOf))
  const below = [pid]
  for (const one of below) for (const [child, parent] of parents) if (parent === one) below.push(child)
  return below.slice(1)
}

const isNumber = (name: string) => /^\d+$/.test(name)

/** None, if the process has ended meanwhile. */
function parentOf(pid: string): [pid: number, parent: number] {
  try {
    return [Number(pid), Number(statOf(Number(pid))[1])]
  } catch {
    return [Number(pid), 0]
  }
}
