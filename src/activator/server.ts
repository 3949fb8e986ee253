import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { PATH_NOT_PLAIN_MESSAGE, stripQuery } from '../contracts/functionPaths.ts'
import { MAX_CALL_SECONDS } from '../contracts/functions.ts'
import { isRemoteCopy } from '../contracts/remoteCopies.ts'
import type { Clock } from '../core/clock.ts'
import { closeWhenIdle } from '../core/closeWhenIdle.ts'
import { boundConnections, CONNECTION_TIMEOUTS } from '../core/connectionLimits.ts'
import { disconnectSignalOf } from '../core/disconnectSignal.ts'
import { messageOf } from '../core/errors.ts'
import { ambiguityOf } from '../core/framing.ts'
import type { Log } from '../core/log.ts'
import { inOriginForm } from '../core/requestTarget.ts'
import { SharedSlots } from '../core/sharedSlots.ts'
import { drainUnreadBody, endAfter, UNMETERED_DRAIN } from '../core/unreadBody.ts'
import { withoutPipelining } from '../core/withoutPipelining.ts'
import type { FunctionTrigger } from '../crds/functionFields.ts'
import type { CallAuthorizer } from './callAuthorizer.ts'
import { NoSlotError } from './callQueue.ts'
import type { CallStatistics } from './callStatistics.ts'
import { CopyUnreachableError, type ReachCopy } from './copyConnection.ts'
import { forward, forwardedHeaders } from './proxy.ts'
import { findUnambiguousTrigger, stripPort } from './routing.ts'
import { type ServedFunction, type Switchboard, tenantOf } from './switchboard.ts'

/** Shared by HTTP calls, test calls and timers. */
export type CallDependencies = {
  statistics: CallStatistics
  reach: ReachCopy
  clock: Clock
  /** Whether pods are simulated: their addresses are made up, and may belong to somebody else. */
  isSimulated: boolean
}
export type CallHandlerOptions = CallDependencies & {
  switchboard: Switchboard
  authorizer: CallAuthorizer
  log: Log
  /** Maximum concurrent calls, over all functions. */
  maxCalls?: number | undefined
  /** Whether this process still counts the calls. Calls that then have no copy yet are left to its successor. */
  isLeading?: () => boolean
  /** Whether this process certainly holds the lease: also while it stops, and ends the calls that it has begun. */
  holdsLease?: () => boolean
}

/**
 * Answers a call, unless another process has to: `moved` means that nothing was answered, and no body was read.
 *
 * @param caller the address of the caller
 */
export type CallHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  caller: string | undefined,
) => Promise<'answered' | 'moved'>

const REFUSALS = {
  NOT_FOUND: [404, 'Nothing answers here.'],
  METHOD_NOT_ALLOWED: [405, 'The function does not take this method.'],
  BAD_REQUEST: [400, `The path ${PATH_NOT_PLAIN_MESSAGE}.`],
  UNAUTHORIZED: [401, 'The call lacks the credentials that this function requires.'],
  TOO_MANY_REQUESTS: [429, 'Too many calls wait for this function.'],
  DISABLED: [503, 'The function is switched off.'],
  FAILED: [503, 'The function cannot run'],
  TIMEOUT: [504, 'The function took longer than it may.'],
  SIMULATED: [503, 'Pods are simulated on this platform: a copy was started, but no code runs that could answer.'],
  NO_ACTIVATOR: [503, 'The process that counts calls is being replaced.'],
  UNREACHABLE: [502, 'The function broke the connection before it answered.'],
} as const
type Refusal = keyof typeof REFUSALS

export const RETRY_AFTER_HEADERS = { 'retry-after': '1' }

/** Milliseconds between attempts to reach a ready copy; another cluster (`remote`) may be unreachable for longer. */
const RETRY_DELAYS_MS = { direct: 50, remote: 1_000 }

/** Milliseconds for a whole request. Calls time out sooner, but refused requests that still send do not. */
const REQUEST_TIMEOUT_MS = (MAX_CALL_SECONDS + 10) * 1000
/** A waiting call takes up to 75 KiB, and the activator's container has 1 GiB. */
const MAX_CALLS = 8_000

/** The default lets a Gateway with a single address carry the maximum number of calls. */
export function createCallServer(listener: RequestListener, maxConnections = 2 * MAX_CALLS): Server {
  const unambiguous = inOriginForm((request, response) =>
    ambiguityOf(request) === undefined ? listener(request, response) : refuse(response, 'BAD_REQUEST'),
  )
  const bounded = withoutPipelining(closeWhenIdle(unambiguous, { hasOwnTime: true }))
  const server = createServer({ ...CONNECTION_TIMEOUTS, requestTimeout: REQUEST_TIMEOUT_MS }, bounded)
  return boundConnections(server, maxConnections)
}

/** Answers function calls: each waits until a copy has room for it. */
export function createCallHandler(options: CallHandlerOptions): CallHandler {
  const calls = new SharedSlots(options.maxCalls ?? MAX_CALLS)
  return async (request, response, caller) => {
    try {
      return await handle(options, calls, { request, response, caller })
    } catch (error) {
      options.log.error({ error: messageOf(error) }, 'A call could not be handled.')
      refuse(response, 'UNREACHABLE')
      return 'answered'
    }
  }
}

type Exchange = { request: IncomingMessage; response: ServerResponse; caller: string | undefined }

async function handle(
  options: CallHandlerOptions,
  calls: SharedSlots,
  exchange: Exchange,
): Promise<'answered' | 'moved'> {
  const { response } = exchange
  const found = await findCall(options, exchange)
  // The `close` event is not emitted again for a caller that is already gone.
  if (found === undefined || response.closed) return 'answered'
  // The per-function limit does not bound a tenant with many functions.
  if (calls.isFullFor(found.tenant)) {
    refuse(response, 'TOO_MANY_REQUESTS', RETRY_AFTER_HEADERS)
    return 'answered'
  }
  calls.take(found.tenant)
  response.once('close', () => calls.free(found.tenant))
  return serve(options, found.served, found.trigger, exchange)
}

async function findCall(
  options: CallHandlerOptions,
  { request, response }: Exchange,
): Promise<{ served: ServedFunction; trigger: FunctionTrigger; tenant: string } | undefined> {
  const { switchboard, authorizer } = options
  const no = (code: Refusal, headers?: Record<string, string>) => {
    refuse(response, code, headers)
    return undefined
  }
  const namespace = switchboard.namespaceAtHost(stripPort(request.headers.host))
  if (namespace === undefined) return no('NOT_FOUND')
  const path = stripQuery(request.url ?? '/')
  const callables = [...namespace.functions.values()].map(({ callable }) => callable)
  const found = findUnambiguousTrigger(callables, request.method ?? 'GET', path)
  if (found.kind === 'ambiguous') return no('BAD_REQUEST')
  if (found.kind === 'none') return no('NOT_FOUND')
  if (found.kind === 'method') return no('METHOD_NOT_ALLOWED', { allow: found.allowed.join(', ') })
  const served = namespace.functions.get(found.key)
  if (served === undefined) return no('NOT_FOUND')
  // Authorize before starting anything: an unauthorized call must not wake the function.
  const isAuthorized = await authorizer.mayCall(namespace, served, found.trigger, request.headers)
  if (!isAuthorized) return no('UNAUTHORIZED', { 'www-authenticate': 'Bearer' })
  return { served, trigger: found.trigger, tenant: tenantOf(found.key, namespace) }
}

async function serve(
  { statistics, reach, clock, log, isSimulated, isLeading = () => true, holdsLease = isLeading }: CallHandlerOptions,
  served: ServedFunction,
  trigger: FunctionTrigger,
  { request, response, caller }: Exchange,
): Promise<'answered' | 'moved'> {
  const { key } = served.callable
  const deadline = AbortSignal.timeout(served.object.spec.timeoutSeconds * 1000)
  const disconnected = disconnectSignalOf(response)
  const isDisconnected = () => disconnected.aborted && !deadline.aborted
  const signal = AbortSignal.any([deadline, disconnected])
  const headers = forwardedHeaders(request.headers, trigger, caller)
  let hasBegun = false
  const mayBegin = () => {
    // Once its body was asked for, no other process can take the call.
    if (!(hasBegun ? holdsLease() : isLeading())) return false
    hasBegun = true
    letBodyCome(response)
    return true
  }
  const send = () =>
    sendToFreeCopy(served, signal, async (address) => {
      if (!isLeading()) throw new NoSlotError('gone')
      if (isSimulated) throw new SimulatedPodError('Nothing runs at the address of the copy.')
      return forward(request, response, { address, reach, headers, signal, mayBegin })
    })
  try {
    await statistics.count(key, clock, send, isDisconnected)
  } catch (error) {
    if (isDisconnected()) return 'answered'
    if (error instanceof NoSlotError && error.why === 'gone' && !isLeading()) return 'moved'
    const refusal = refusalOf(error, deadline)
    log.debug({ function: key, error: messageOf(error) }, 'A call was not answered by its function.')
    const reason = error instanceof NoSlotError ? error.reason : undefined
    refuse(response, refusal, refusal === 'TOO_MANY_REQUESTS' ? RETRY_AFTER_HEADERS : {}, reason)
  }
  return 'answered'
}

/** Responses whose request waits for `100 Continue` before it sends its body. */
const AWAITED_BODIES = new WeakSet<ServerResponse>()

/** Keeps the body of a request at its sender until the call is answered here, so that another process may get it. */
export function withholdBody(response: ServerResponse): void {
  AWAITED_BODIES.add(response)
}

export function letBodyCome(response: ServerResponse): void {
  if (AWAITED_BODIES.delete(response)) response.writeContinue()
}

export class SimulatedPodError extends Error {}

function refusalOf(error: unknown, deadline: AbortSignal): Refusal {
  if (error instanceof NoSlotError && error.why === 'refused') return 'TOO_MANY_REQUESTS'
  if (error instanceof NoSlotError && error.why === 'disabled') return 'DISABLED'
  if (error instanceof NoSlotError && error.why === 'failed') return 'FAILED'
  if (error instanceof NoSlotError && error.why === 'gone') return 'NOT_FOUND'
  if (error instanceof SimulatedPodError) return 'SIMULATED'
  return deadline.aborted ? 'TIMEOUT' : 'UNREACHABLE'
}

/** Waits for a slot and sends the call there; retries elsewhere if the copy cannot be reached. @throws NoSlotError */
export async function sendToFreeCopy<Result>(
  { queue }: Pick<ServedFunction, 'queue'>,
  signal: AbortSignal,
  send: (address: string) => Promise<Result>,
): Promise<{ status: Result; wasCold: boolean }> {
  for (;;) {
    const slot = await queue.take(signal)
    try {
      return { status: await send(slot.address), wasCold: slot.wasCold }
    } catch (error) {
      if (!(error instanceof CopyUnreachableError) || signal.aborted) throw error
    } finally {
      slot.release()
    }
    await delay(isRemoteCopy(slot.address) ? RETRY_DELAYS_MS.remote : RETRY_DELAYS_MS.direct, undefined, { signal })
  }
}

/** @param why a constant from the function's status: strangers read it, so it must not contain tenant input */
export function refuse(
  response: ServerResponse,
  code: Refusal,
  headers: Record<string, string> = {},
  reason?: string,
): void {
  letBodyCome(response)
  if (response.headersSent) {
    response.destroy()
    return
  }
  const [status, sentence] = REFUSALS[code]
  const error = reason === undefined ? sentence : `${sentence}: ${reason}.`
  const body = JSON.stringify({ error, code, module: 'functions', correlationId: randomUUID() })
  const drained = drainUnreadBody(response.req, response, UNMETERED_DRAIN)
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...headers,
  })
  endAfter(drained, response, body)
}
