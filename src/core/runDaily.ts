import { DAY_MS } from './clock.ts'
import { runPeriodically } from './runPeriodically.ts'

/**
 * Runs `work` once a day, first after a day. A failure is logged, and retried the next day: certificates last for months,
 * so a renewal may fail many times.
 */
export const runDaily = (
  work: () => Promise<unknown>,
  dependencies: Parameters<typeof runPeriodically>[2],
): { stop(): void } => runPeriodically(work, DAY_MS, dependencies)
