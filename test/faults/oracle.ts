import { until } from '../make/until.ts'
import type { TimedReply } from './scene.ts'

/** A required fact, and what was observed. */
export type Oracle = { holds: boolean; sentence: string; seen: string }

export const oracle = (sentence: string, holds: boolean, seen: string): Oracle => ({ sentence, holds, seen })

export const lineOf = (title: string, { holds, sentence, seen }: Oracle) =>
  `${holds ? 'holds' : 'FAILS'}  ${title}: ${sentence} (${seen})`

export const seconds = (milliseconds: number) => `${(milliseconds / 1000).toFixed(1)} s`

/** The number of answers by status and, for refusals, by code. */
export function statuses(answers: readonly TimedReply[]): string {
  const counts = new Map<string, number>()
  for (const { status, text } of answers) {
    const code = status >= 400 ? /"code":"(\w+)"/.exec(text)?.[1] : undefined
    const key = code === undefined ? String(status) : `${status} ${code}`
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return [...counts].map(([key, count]) => `${count} of ${key}`).join(', ') || 'none'
}

/** Milliseconds until the condition held, or the limit. */
export async function within(what: string, limit: number, ask: () => Promise<boolean>): Promise<number> {
  const began = performance.now()
  await until(what, ask, limit).catch(() => {})
  return performance.now() - began
}
