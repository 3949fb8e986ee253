import type { SqlServer } from '../cluster/sqlServers.ts'
import type { SqlWorld } from './sqlContract.ts'

/** What only a real engine can show: types, logins, limits, cancelling. */
export function engineSuite(_world: () => SqlWorld & { server: SqlServer }): void {}
