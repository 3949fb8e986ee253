import { readFileSync } from 'node:fs'

/** Clock ticks per second in `/proc` (sysconf(_SC_CLK_TCK)): 100 on every Linux that Node supports. */
const TICKS = 100

/** Processor time of a process so far, in seconds; NaN if there is no such process. */
export function cpuSeconds(pid: number | undefined): number {
  if (pid === undefined) return Number.NaN
  const fields = statOf(pid)
  return (Number(fields[11]) + Number(fields[12])) / TICKS
}

/** How often the main thread of a process has begun to wait so far; NaN if there is no such process. */
export function waits(pid: number | undefined): number {
  if (pid === undefined) return Number.NaN
  const status = readFileSync(`/proc/${pid}/task/${pid}/status`, 'utf8')
  return Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(status)?.[1])
}

/** The fields of `/proc/<pid>/stat` after the name, which may contain anything: first the state, then the parent. */
export function statOf(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** Resident memory of a process in MB (2^20 bytes); NaN if there is no such process. */
export function residentMegabytes(pid: number | undefined): number {
  if (pid === undefined) return Number.NaN
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024
}
