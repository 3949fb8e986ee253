import { PlatformError } from '../../../core/errors.ts'
import { sshAsHttps, vetOutgoingUrl } from '../../../core/outgoingUrl.ts'
import type { Services } from '../../http/context.ts'

/** The form of ssh addresses that git and the pages of Git hosts use: `git@host:path`. */
const SCP_FORM = /^(?<user>[\w.-]+@)?(?<host>[\w.-]+\.[\w-]+):(?!\/\/)\/?(?<path>\S+)$/

/** @throws PlatformError URL_NOT_ALLOWED */
export function vetSourceUrl(services: Services, address: string, field: string): void {
  const { user = '', host, path } = SCP_FORM.exec(address)?.groups ?? {}
  if (host !== undefined) {
    const message = `The address in "${field}" is not a URL: write ssh://${user}${host}/${path}.`
    throw new PlatformError('URL_NOT_ALLOWED', message, { field })
  }
  vetUrl(sshAsHttps(address), field, services.sources.allowedHosts)
}

/** @throws PlatformError URL_NOT_ALLOWED */
export function vetUrl(address: string, field: string, allowedHosts: readonly string[] = []): void {
  const verdict = vetOutgoingUrl(address, allowedHosts)
  if (verdict.isAllowed) return
  const message = `The address in "${field}" is not allowed: ${verdict.why}.`
  throw new PlatformError('URL_NOT_ALLOWED', message, { field })
}
