import type { SqlEngine } from './port.ts'
import { simulatedEngine } from './simulated.ts'

/** An engine that answers nothing, for tests that only need something of this type. */
export const silentEngine: SqlEngine = simulatedEngine({} as SqlEngine, undefined, [])
