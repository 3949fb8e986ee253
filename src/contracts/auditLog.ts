/**
 * Maximum bytes of one request of the API server's audit webhook, and of one event. A refusal repeats the refused
 * object of up to 3 MiB, which may take four times as much with a backslash before every quote.
 */
export const MAX_AUDIT_LOG_BYTES = 16 * 1024 * 1024

type Event = { requestObject?: unknown; responseObject?: unknown; responseStatus?: { code?: number; reason?: string } }

/**
 * Returns a list of events as sent, without what nobody reads: requested objects, and the words of refusals. The result
 * can be sent between threads; it is undefined if the bytes are not JSON.
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
