import type { KoaContextWithOIDC } from 'oidc-provider'
import { isKubeError } from '../kube/errors.ts'

/** Seconds until a client should retry. */
const RETRY_AFTER_SECONDS = 5

/** Returns whether the API server failed: no request to the identity provider is the cause, and all may be repeated. */
export function isOutage(error: unknown): boolean {
  if (isKubeError(error)) return true
  return error instanceof Error && error.cause !== undefined && isOutage(error.cause)
}

/** The errors behind failed responses of oidc-provider, by request context. */
export type ErrorCauses = WeakMap<object, unknown>

/** Corrects error codes of oidc-provider: `server_error` in outages, `invalid_request` where RFC 6749 has a code. */
export function correctErrorCodes(causes: ErrorCauses) {
  return async (context: KoaContextWithOIDC, next: () => Promise<void>): Promise<void> => {
    await next()
    if (isOutage(causes.get(context))) {
      context.status = 503
      context.set('retry-after', String(RETRY_AFTER_SECONDS))
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
