import { playedEngine } from './played.ts'
import type { SqlEngine } from './port.ts'

/** An engine that answers nothing, for tests that only need something of this type. */
export const silentEngine: SqlEngine = playedEngine({} as SqlEngine, undefined, [])
