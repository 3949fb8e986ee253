import { NetworkError, PlatformApiError } from '../client/index.ts'
import { messageOf } from '../core/errors.ts'
import { CommandFailure, EXIT, type ExitCode } from './failure.ts'
import { printable } from './output.ts'

/** What a person is told of a failure, and what the process ends with. */
export function describeFailure(error: unknown): { lines: string[]; exitCode: ExitCode } {
  if (error instanceof CommandFailure) return { lines: [error.message], exitCode: error.exitCode }
  if (error instanceof NetworkError) return { lines: [printable(error.message)], exitCode: EXIT.network }
  if (error instanceof PlatformApiError) {
    const exitCode = error.status === 401 ? EXIT.notSignedIn : EXIT.refused
    return { lines: describeRefusal(error), exitCode }
  }
  return { lines: [`${printable(messageOf(error))}`], exitCode: EXIT.refused }
}

function describeRefusal({ status, code, message, body, correlationId, retryAfter }: PlatformApiError): string[] {
  const { errors } = (body ?? {}) as { errors?: unknown }
  const fields = Array.isArray(errors) ? errors.slice(0, 20) : []
  const remedy = remedyFor({ status, code, retryAfter })
  return [
    `${printable(message)} (${printable(code)}, ${status})`,
    ...fields.map((entry) => {
      const { field = '', message: reason = '' } = (entry ?? {}) as Record<string, unknown>
      return `  ${printable(`${field === '' ? 'body' : field}: ${reason}`)}`
    }),
    ...blocking(body),
    ...(correlationId === undefined ? [] : [`Correlation id: ${printable(correlationId)}`]),
    ...(remedy === undefined ? [] : [remedy]),
  ]
}

/** What stands in the way: lists of names beside the sentence, such as the groups of a boundary that is not empty. */
function blocking(body: unknown): string[] {
  const lists = Object.entries((body ?? {}) as object).filter(
    ([name, list]) => name !== 'errors' && Array.isArray(list),
  )
  return lists.flatMap(([name, list]) => {
    const names = (list as unknown[]).slice(0, 20).map((entry) => {
      const { name: own, id } = (typeof entry === 'object' && entry !== null ? entry : {}) as Record<string, unknown>
      return printable(typeof entry === 'string' ? entry : String(own ?? id ?? JSON.stringify(entry)))
    })
    return names.length === 0 ? [] : [`  ${printable(name)}: ${names.join(', ')}`]
  })
}

/** What a person can do, if the platform's own sentence does not say it. */
function remedyFor({ status, code, retryAfter }: Pick<PlatformApiError, 'status' | 'code' | 'retryAfter'>) {
  // Only the platform knows whether waiting helps: an engine that is missing, or a wrong address, does not mend itself.
  if (retryAfter !== undefined && (status === 429 || status === 503)) return `Try again in ${retryAfter} s.`
  const isOurs = !code.startsWith('HTTP_')
  if (status >= 500 && status !== 501 && !isOurs) return 'Try again; if it persists, tell your platform operator.'
  return REMEDIES[status]
}

const REMEDIES: Readonly<Record<number, string>> = {
  401: 'Sign in again with `freehold login`, or renew what PLATFORM_TOKEN holds.',
  403: 'Ask an Owner of that scope for a role that gives it; `freehold whoami` shows who you are here.',
  429: 'Wait a moment, then try again.',
  500: 'Give the correlation id to your platform operator.',
}
