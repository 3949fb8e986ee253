import { playedEngine } from './played.ts'
import type { SqlEngine } from './port.ts'

/** Answers nothing at all: for tests that only need something that fits the port. */
export const silentEngine: SqlEngine = playedEngine({} as SqlEngine, undefined, [])
