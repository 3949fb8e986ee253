import { setTimeout as delay } from 'node:timers/promises'
import { PlatformApiError } from '../client/index.ts'
import { suggestion } from '../core/suggestion.ts'
import { reasonReader } from './clusterDetails.ts'
import { chooseRoute } from './collections.ts'
import type { Context, Input, Option } from './command.ts'
import { CommandFailure, EXIT, usage } from './failure.ts'
import { printable } from './output.ts'
import { parseDuration, settleStateOf, statusLine, statusOf } from './recordStatus.ts'
import { listSubresourceRoutes, type PreparedRequest, send, sendToSubresource } from './requests.ts'

const WAIT: Option = { long: 'wait', summary: 'Wait until it has settled, and show its progress' }
const TIMEOUT: Option = {
  long: 'timeout',
  value: 'TIME',
  summary: 'How long to wait, such as 90s; default 10m',
  check: (text) => void parseTimeout(text),
}
export const TIMEOUT_OPTIONS: readonly Option[] = [TIMEOUT]
export const WAIT_OPTIONS: readonly Option[] = [WAIT, TIMEOUT]

const DEFAULT_TIMEOUT_MS = 600_000
/** Milliseconds between polls. There is no stream for a single resource. */
export const STATUS_POLL_INTERVAL_MS = 1_000

/** @throws CommandFailure (usage) */
export function timeoutOf(input: Input): number {
  const text = input.text('timeout')
  return text === undefined ? DEFAULT_TIMEOUT_MS : parseTimeout(text)
}

function parseTimeout(text: string): number {
  const time = parseDuration(text)
  if (time === undefined) throw usage(`--timeout must be a time such as 90s, 10m or 1h, not "${text}".`)
  return time
}

/** @throws CommandFailure (usage) for a status that the kind never has, which would only time out */
export function requireKnownStatus(
  status: string,
  { collection, target }: Pick<PreparedRequest, 'collection' | 'target'>,
): void {
  const { statuses } = target.route
  if (statuses === undefined || statuses.includes(status)) return
  const known = [...statuses, DELETED]
  const meant = suggestion(status, known) || '.'
  throw usage(`${collection.noun} have no status "${status}"${meant} There are ${known.join(', ')}.`)
}
/** Not a status: a deleted resource has no record. */
export const DELETED = 'deleted'

type WaitTarget = {
  readonly status?: string | undefined
  readonly isGone?: boolean
  /** The request was only just sent, so the status may be stale: a result counts if it is seen twice in a row. */
  readonly isChanged?: boolean
}

/** Returns the request that reads the same resource. @throws CommandFailure (usage) if it cannot be read */
export function readRequestOf(prepared: PreparedRequest, name: string): PreparedRequest {
  const { values, route } = prepared.target
  const {
    boundaryId: boundary,
    resourceGroupName,
    resourceGroup,
    [route.nameParameter ?? '']: _,
    ...parameters
  } = values
  const given = { name, boundary, group: resourceGroupName ?? resourceGroup, parameters }
  return { ...prepared, target: chooseRoute(prepared.collection, 'get', given), query: {} }
}

/**
 * Polls until the resource is as wanted, by default settled. Prints each change.
 *
 * @returns the last record; undefined if the resource is gone
 * @throws CommandFailure (failed) if it ended otherwise, (overdue) after the timeout
 */
export async function waitFor(
  prepared: PreparedRequest,
  wanted: WaitTarget,
  input: Input,
  context: Context,
): Promise<unknown> {
  const { signal, terminal } = context
  const until = performance.now() + timeoutOf(input)
  const title = input.positionals.join(' ')
  const withReason = reasonReader(prepared, resourceNameOf(prepared), context)
  const debounce = createResultDebounce(wanted)
  let lastLine = ''
  // Before the first successful read, it may never have existed.
  let absent = 'not there'
  for (;;) {
    const record = await readIfThere(prepared)
    const line = record === undefined ? absent : printable(statusLine(await withReason(record)))
    absent = 'gone'
    if (line !== lastLine) terminal.err(`${title}: ${line}\n`)
    lastLine = line
    const result = waitResultOf(record, wanted)
    const isOnItsWay = result === 'reached' && mayScale(record, wanted) && (await isScaling(prepared))
    const settled = debounce(isOnItsWay ? undefined : result)
    if (settled === 'reached') return record
    if (settled === 'missed')
      throw new CommandFailure(EXIT.failed, `${title} has not become what was waited for: ${line}`)
    if (performance.now() + STATUS_POLL_INTERVAL_MS > until) {
      throw new CommandFailure(
        EXIT.overdue,
        `${title} is still ${line.replace(/\.$/, '')}; it continues without you, and \`freehold describe ${title}\` shows more.`,
      )
    }
    await delay(STATUS_POLL_INTERVAL_MS, undefined, { signal })
  }
}

/** Returns the name of the resource of a request. */
export const resourceNameOf = ({ target }: Pick<PreparedRequest, 'target'>): string =>
  target.values[target.route.nameParameter ?? ''] ?? ''

type WaitResult = 'reached' | 'missed'

/** @returns a function that takes each result and returns it if it counts */
export function createResultDebounce({
  isChanged = false,
}: WaitTarget): (result: WaitResult | undefined) => WaitResult | undefined {
  let previous: WaitResult | undefined
  return (result) => {
    const isCounted = !isChanged || result === previous
    previous = result
    return isCounted ? result : undefined
  }
}

/** Returns the result of waiting, or undefined to continue. */
export function waitResultOf(record: unknown, { status, isGone = false }: WaitTarget): WaitResult | undefined {
  if (isGone) return record === undefined ? 'reached' : undefined
  if (record === undefined) return 'missed'
  const now = statusOf(record)
  if (status !== undefined && now === status) return 'reached'
  const state = settleStateOf(record)
  if (state === 'failed') return 'missed'
  return state === 'settled' && status === undefined ? 'reached' : undefined
}

async function readIfThere(prepared: PreparedRequest): Promise<unknown> {
  try {
    return (await send(prepared)) ?? {}
  } catch (error) {
    if (error instanceof PlatformApiError && error.status === 404) return undefined
    throw error
  }
}

/** Only a running resource can be waiting for further replicas. */
export function mayScale(record: unknown, { isChanged = false }: WaitTarget): boolean {
  return isChanged && ((record ?? {}) as { status?: unknown }).status === 'Running'
}

/** A resource may seem settled for a moment before it starts to scale. */
async function isScaling(prepared: PreparedRequest): Promise<boolean> {
  const scale = listSubresourceRoutes(prepared.target, 'GET').find(({ words }) => words === 'scale')
  if (scale === undefined) return false
  const { isScaling: answer } = ((await sendToSubresource(prepared, scale)) ?? {}) as { isScaling?: unknown }
  return answer === true
}
