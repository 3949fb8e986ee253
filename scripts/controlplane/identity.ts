import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/**
 * Tells one process from a later one with the same number: boot and start time on Linux, start time elsewhere.
 *
 * @returns undefined when no such process lives (a zombie does not)
 */
export function identityOf(pid: number): string | undefined {
  if (process.platform !== 'linux') return startTimeByPs(pid)
  try {
    return linuxIdentity(
      readFileSync(`/proc/${pid}/stat`, 'utf8'),
      readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
    )
  } catch {
    return undefined
  }
}

/** @param stat `/proc/<pid>/stat` (proc(5)): the name in parentheses may itself contain spaces and parentheses */
export function linuxIdentity(stat: string, bootId: string): string | undefined {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, startTime] = [fields[0], fields[19]]
  return state === 'Z' || state === 'X' || startTime === undefined ? undefined : `${bootId}:${startTime}`
}

function startTimeByPs(pid: number): string | undefined {
  try {
    const line = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim()
    return line === '' ? undefined : line
  } catch {
    return undefined
  }
}
