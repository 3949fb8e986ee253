import { repeatedly } from '../core/repeatedly.ts'

/** Milliseconds. What lasts for months is renewed long before its end, however often that fails. */
export const A_DAY = 86_400_000

/** Does something once a day from a day from now on. What fails is logged, and tried again a day later. */
export const daily = (work: () => Promise<unknown>, where: Parameters<typeof repeatedly>[2]): { stop(): void } =>
  repeatedly(work, A_DAY, where)
