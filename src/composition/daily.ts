import { DAY_MS } from '../core/clock.ts'
import { repeatedly } from '../core/repeatedly.ts'

/**
 * Runs `work` once a day, first after a day. A failure is logged, and retried the next day: certificates last for months,
 * so a renewal may fail many times.
 */
export const daily = (work: () => Promise<unknown>, where: Parameters<typeof repeatedly>[2]): { stop(): void } =>
  repeatedly(work, DAY_MS, where)
