import type { ActivityRecorder } from '../../api/records/activity/recorder.ts'
import { messageOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { createLruCache } from '../../core/lruCache.ts'
import type { ScopeOfNamespace } from '../authorizer/question.ts'
import { type AuditLookups, activityOfEvent } from './activityOfEvent.ts'
import { type AuditEvent, readEvents } from './events.ts'

export type AuditOptions = AuditLookups & {
  recorder: Pick<ActivityRecorder, 'write'>
  isReady: () => boolean
  log: Log
}

/** Recently deleted group namespaces to remember: the deletions of their resources are reported later. */
const REMEMBERED_MAX = 2_000

/**
 * Receives the audit log of the API server. It answers only when all events are stored, because the API server resends
 * them until then. Returns undefined if the body is not an audit log.
 */
export function createAuditor(options: AuditOptions): (body: unknown) => Promise<object | undefined> {
  const places = createLruCache<string, NonNullable<ReturnType<ScopeOfNamespace>>>(REMEMBERED_MAX)
  const scopeOfNamespace: ScopeOfNamespace = (namespace) => {
    const found = options.scopeOfNamespace(namespace)
    if (found !== undefined) places.set(namespace, found)
    return found ?? places.get(namespace)
  }
  // Skip the event: a resent batch would fail again, and the events around it would be lost.
  const activityOf = (event: AuditEvent) => {
    try {
      return activityOfEvent(event, { ...options, scopeOfNamespace })
    } catch (error) {
      options.log.error({ auditId: event.auditID.slice(0, 64), error: messageOf(error) }, 'An audit event is left out.')
      return []
    }
  }
  return async (body) => {
    const events = readEvents(body)
    if (events === undefined) return undefined
    if (!options.isReady()) throw new Error('The facade does not know yet what exists.')
    await options.recorder.write(events.flatMap(activityOf))
    return {}
  }
}
