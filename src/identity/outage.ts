import type { KoaContextWithOIDC } from 'oidc-provider'
import { isKubeError } from '../kube/errors.ts'

/** Seconds until a client may try again. */
const RETRY_AFTER = 5

/** Whether it failed because the API server is away: that passes, and is nobody's mistake. */
export function isOutage(error: unknown): boolean {
  if (isKubeError(error, 'Unavailable', 'Throttled')) return true
  return error instanceof Error && error.cause !== undefined && isOutage(error.cause)
}

/** The causes of answers that oidc-provider could not give, until they are sent. */
export type Causes = WeakMap<object, unknown>

/** oidc-provider says `server_error` for whatever it does not know, and `invalid_request` where RFC 6749 has a code. */
export function truthfulErrors(causes: Causes) {
  return async (context: KoaContextWithOIDC, next: () => Promise<void>): Promise<void> => {
    await next()
    if (isOutage(causes.get(context))) {
      context.status = 503
      context.set('retry-after', String(RETRY_AFTER))
      if (typeof context.body === 'object') {
        context.body = {
          error: 'temporarily_unavailable',
          error_description: 'the platform cannot be reached just now',
        }
      }
      return
    }
    const { error, error_description: detail } = (context.body ?? {}) as { error?: string; error_description?: string }
    if (error === 'invalid_request' && detail === 'requested grant type is not allowed for this client') {
      context.body = { error: 'unauthorized_client', error_description: detail }
    }
  }
}
