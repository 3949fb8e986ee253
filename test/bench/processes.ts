import { readFileSync } from 'node:fs'

/** Clock ticks of a second in `/proc` (sysconf(_SC_CLK_TCK)), 100 on every Linux that Node runs on. */
const TICKS = 100

/** Processor time of a process so far, in seconds; NaN for none. */
export function cpuSeconds(pid: number | undefined): number {
  if (pid === undefined) return Number.NaN
  const fields = statOf(pid)
  return (Number(fields[11]) + Number(fields[12])) / TICKS
}

/** What `/proc/<pid>/stat` says behind the name, which may hold anything: the state first, then the parent. */
export function statOf(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** Resident memory of a process in MB (2^20 bytes); NaN for none. */
export function residentMegabytes(pid: number | undefined): number {
  if (pid === undefined) return Number.NaN
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024
}
