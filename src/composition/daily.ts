import { repeatedly } from '../core/repeatedly.ts'

/** Milliseconds. Certificates last for months, so a daily renewal may fail many times. */
export const A_DAY = 86_400_000

/** Runs `work` once a day, first after a day. A failure is logged, and retried the next day. */
export const daily = (work: () => Promise<unknown>, where: Parameters<typeof repeatedly>[2]): { stop(): void } =>
  repeatedly(work, A_DAY, where)
