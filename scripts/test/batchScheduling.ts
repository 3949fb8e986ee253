import { spawnSync } from 'node:child_process'

/**
 * Asks Linux to treat this process, and those it starts from now on, as batch work (sched(7), SCHED_BATCH). A run has
 * more busy processes than cores; by default each that wakes up interrupts another, which costs a twentieth of the
 * processor time and more. Does nothing where `chrt` of util-linux is absent, or refuses.
 */
export function useBatchScheduling(): void {
  spawnSync('chrt', ['--batch', '--pid', '0', String(process.pid)], { stdio: 'ignore' })
}
