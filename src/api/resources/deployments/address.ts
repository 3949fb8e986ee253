import { PlatformError } from '../../../core/errors.ts'
import { judgedAs, vetOutgoingUrl } from '../../../core/outgoingUrl.ts'
import type { Services } from '../../http/context.ts'

/** @throws PlatformError URL_NOT_ALLOWED */
export function vetSourceUrl(services: Services, address: string, field: string): void {
  vetUrl(judgedAs(address), field, services.sources.allowedHosts)
}

/** @throws PlatformError URL_NOT_ALLOWED */
export function vetUrl(address: string, field: string, allowedHosts: readonly string[] = []): void {
  const verdict = vetOutgoingUrl(address, allowedHosts)
  if (verdict.isAllowed) return
  const message = `The address in "${field}" is not one that the platform calls: ${verdict.why}.`
  throw new PlatformError('URL_NOT_ALLOWED', message, { field })
}
