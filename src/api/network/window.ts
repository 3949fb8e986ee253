import { z } from 'zod'
import { DAY_MS, timestamp } from '../../core/clock.ts'
import { DateTime } from '../resources/dto.ts'
import { badParameter } from '../resources/queryFaults.ts'

/** The time window of all answers about flows (records section 1, "Network view"). */

export const WindowQuery = {
  window: z
    .string()
    .regex(/^[1-9][0-9]{0,4}[smhd]$/, 'must be a duration, such as 30m, 1h or 7d')
    .default('1h')
    .describe('How far back, from 1m to 7d'),
}
export const windowFields = {
  from: DateTime,
  to: DateTime,
  isComplete: z.boolean().describe('False if part of the time is not known'),
  incompleteReason: z.string().nullable(),
}

const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: DAY_MS } as const
const DAY = UNITS.d

export type Window = { readonly from: number; readonly to: number }

/** @throws PlatformError BAD_REQUEST with `parameter` */
export function windowOf(window: string, now: number): Window {
  const length = Number(window.slice(0, -1)) * UNITS[window.slice(-1) as keyof typeof UNITS]
  if (length < 60_000 || length > 7 * DAY) throw badParameter('window', 'window must be from 1m to 7d.')
  return { from: now - length, to: now }
}

/** @param reason which part of the window is unknown; undefined if none is */
export function shownWindow({ from, to }: Window, reason: string | undefined) {
  return {
    from: timestamp(from),
    to: timestamp(to),
    isComplete: reason === undefined,
    incompleteReason: reason ?? null,
  }
}
