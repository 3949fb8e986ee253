import type { Clock } from '../../core/clock.ts'
import { createdByOf } from '../../core/labels.ts'
import type { Log } from '../../core/log.ts'
import { type KubeObject, refOf } from '../../core/object.ts'
import { runPeriodically } from '../../core/runPeriodically.ts'
import { ObjectAccessKey } from '../../crds/objectstorage.ts'
import type { WatchCache } from '../../kube/cache.ts'
import type { KubeClient } from '../../kube/client.ts'
import { absent } from '../../kube/errors.ts'
import type { Principals } from '../callers/principals.ts'

export type EndedCallersOptions = {
  keys: Pick<WatchCache<ObjectAccessKey & KubeObject>, 'list'>
  principals: Principals
  client: Pick<KubeClient, 'remove'>
  clock: Clock
  log: Log
}

/** Milliseconds between checks. Without sessions, nobody is queried. */
const INTERVAL_MS = 60_000

/**
 * Ends sessions of callers whom an external identity provider has disabled or deleted: the controllers only know people
 * with an object here. All replicas check; a later one finds nothing left to do.
 */
export function endSessionsOfEnded({ keys, principals, client, clock, log }: EndedCallersOptions): { stop(): void } {
  async function endSessions(): Promise<void> {
    const sessions = keys.list().filter(({ spec, metadata }) => spec.isSession && createdByOf(metadata) !== null)
    const callerOf = ({ metadata }: KubeObject) => createdByOf(metadata) ?? ''
    const known = await principals.find(sessions.map(callerOf), undefined)
    for (const session of sessions) {
      if (known.get(callerOf(session))?.isEnabled === true) continue
      const { uid } = session.metadata
      await client.remove(ObjectAccessKey.resource, refOf(session), { uid }).catch(absent)
    }
  }
  return runPeriodically(endSessions, INTERVAL_MS, {
    clock,
    log,
    failed: 'Callers of sessions could not be looked for.',
  })
}
