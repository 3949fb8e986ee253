/**
 * Bytes of a part of the audit log that the API server sends at once, and of one event. A refusal repeats what was refused, which
 * may be 3 MiB: up to four times, with a backslash before every quote.
 */
export const AUDIT_LOG_BYTES_MAX = 16 * 1024 * 1024

type Event = { requestObject?: unknown; responseObject?: unknown; responseStatus?: { code?: number; reason?: string } }

/**
 * A list of events as it was sent, without what nobody reads of them: what was asked for, and the words of refusals. Can be sent
 * between threads; undefined for what is not JSON.
 */
export function shortAuditLog(bytes: Uint8Array): unknown {
  try {
    const log = JSON.parse(new TextDecoder().decode(bytes)) as { items?: unknown }
    return Array.isArray(log?.items) ? { ...log, items: log.items.map(short) } : log
  } catch {
    return undefined
  }
}

function short(event: Event | null): unknown {
  if (typeof event !== 'object' || event === null) return event
  const { requestObject: _, responseObject, responseStatus, ...rest } = event
  const { code, reason } = responseStatus ?? {}
  const isRefusal = (code ?? 0) >= 400
  return {
    ...rest,
    ...(responseStatus !== undefined && { responseStatus: { code, reason } }),
    ...(!isRefusal && { responseObject }),
  }
}
