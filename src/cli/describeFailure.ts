import { NetworkError, PlatformApiError } from '../client/index.ts'
import { messageOf } from '../core/errors.ts'
import { CommandFailure, EXIT, type ExitCode, exitCodeForStatus } from './failure.ts'
import { networkRemedy } from './networkRemedy.ts'
import { printable } from './output.ts'

/** Returns the message and the exit code for a failure. */
export function describeFailure(error: unknown): { lines: string[]; exitCode: ExitCode } {
  if (error instanceof CommandFailure) return { lines: [error.message], exitCode: error.exitCode }
  if (error instanceof NetworkError) {
    const remedy = networkRemedy(error)
    return { lines: [printable(error.message), ...(remedy === undefined ? [] : [remedy])], exitCode: EXIT.network }
  }
  if (error instanceof PlatformApiError)
    return { lines: describeRefusal(error), exitCode: exitCodeForStatus(error.status) }
  return { lines: [`${printable(messageOf(error))}`], exitCode: EXIT.refused }
}

function describeRefusal({ status, code, message, body, correlationId, retryAfter }: PlatformApiError): string[] {
  const { errors } = (body ?? {}) as { errors?: unknown }
  const all = Array.isArray(errors) ? errors.slice(0, 20) : []
  // A single error that the message already contains.
  const isInMessage =
    all.length === 1 && message.includes(String((all[0] as Record<string, unknown> | null)?.message ?? all))
  const fields = isInMessage ? [] : all
  const remedy = remedyFor({ status, code, retryAfter })
  return [
    `${printable(message)} (${printable(code)}, ${status})`,
    ...fields.map((entry) => {
      const { field = '', message: reason = '' } = (entry ?? {}) as Record<string, unknown>
      return `  ${printable(`${field === '' ? 'body' : plainText(field)}: ${plainText(reason)}`)}`
    }),
    ...listBlockers(body, message),
    ...(correlationId === undefined ? [] : [`Correlation id: ${printable(correlationId)}`]),
    ...(remedy === undefined ? [] : [remedy]),
  ]
}

/** Returns the lists of the error body, such as the groups in a boundary that is not empty. */
function listBlockers(body: unknown, errorMessage: string): string[] {
  const lists = Object.entries((body ?? {}) as object).filter(
    ([name, list]) => name !== 'errors' && Array.isArray(list),
  )
  return lists.flatMap(([name, list]) => {
    const entries = (list as unknown[]).slice(0, 20)
    if (entries.length === 0) return []
    if (entries.every((entry) => typeof entry === 'string' && errorMessage.includes(entry))) return []
    const names = entries.flatMap((entry) => (isSentence(entry) ? [] : (nameOf(entry) ?? [])))
    if (names.length === entries.length) return [`  ${printable(name)}: ${names.map(printable).join(', ')}`]
    return [`  ${printable(name)}:`, ...entries.map((entry) => `    ${printable(problemLine(entry))}`)]
  })
}

const isSentence = (entry: unknown) => typeof entry === 'string' && entry.endsWith('.')

const fieldsOf = (entry: unknown) =>
  (typeof entry === 'object' && entry !== null ? entry : {}) as Readonly<Record<string, unknown>>

/** Returns the name of an entry; undefined if it also has a message. */
function nameOf(entry: unknown): string | undefined {
  if (typeof entry === 'string') return entry
  const { name, id, message } = fieldsOf(entry)
  const label = name ?? id
  return label === undefined || message !== undefined ? undefined : String(label)
}

/** Formats a problem: `line 7: spec.replicas: It is negative. (OutOfRange)` */
function problemLine(entry: unknown): string {
  const { message, code, severity, line, ...others } = fieldsOf(entry)
  if (typeof message !== 'string') return nameOf(entry) ?? plainText(entry)
  const location = ['path', 'field', 'component', 'name', 'id'].map((name) => others[name]).find((value) => value)
  const before = [
    ...(severity === 'Warning' ? ['Warning'] : []),
    ...(typeof line === 'number' ? [`line ${line}`] : []),
    ...(location === undefined ? [] : [String(location)]),
  ]
  return `${[...before, message].join(': ')}${typeof code === 'string' ? ` (${code})` : ''}`
}

/** Formats an entry without name and message: `kind: Pod, count: 2`. */
function plainText(entry: unknown): string {
  if (Array.isArray(entry)) return entry.map(plainText).join(', ')
  if (typeof entry !== 'object' || entry === null) return String(entry)
  const pairs = Object.entries(entry).filter(([, value]) => value !== null && value !== undefined)
  return pairs.map(([name, value]) => `${name}: ${plainText(value)}`).join(', ')
}

/** Suggests a remedy, unless the platform's own message has one. */
function remedyFor({ status, code, retryAfter }: Pick<PlatformApiError, 'status' | 'code' | 'retryAfter'>) {
  // Only suggests a retry if the platform does: a missing engine or a wrong address will not fix itself.
  if (retryAfter !== undefined && (status === 429 || status === 503)) return `Try again in ${retryAfter} s.`
  const isOfPlatform = !code.startsWith('HTTP_')
  if (status >= 500 && status !== 501 && !isOfPlatform) return 'Try again; if it persists, tell your platform operator.'
  // Without Retry-After, the platform refuses with 429 what waiting does not change, such as a full store of reports.
  return status === 429 && isOfPlatform ? undefined : REMEDIES[status]
}

const REMEDIES: Readonly<Record<number, string>> = {
  401: 'Sign in again with `freehold login`, or renew PLATFORM_TOKEN.',
  403: 'Ask an Owner of that scope for a role with this permission; `freehold whoami` shows who you are here.',
  429: 'Wait a moment, then try again.',
  500: 'Give the correlation id to your platform operator.',
}
