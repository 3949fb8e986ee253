import { type IncomingMessage, request } from 'node:http'
import {
  CONCURRENT_TEST_CALLS_MAX,
  MAX_ANSWER_BODY_BYTES,
  type TestAnswer,
  type TestCall,
  type TestCallFailure,
} from '../contracts/testCalls.ts'
import { messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { readBeginning } from '../core/readWithin.ts'
import { SharedSlots } from '../core/sharedSlots.ts'
import { NoSlotError } from './callQueue.ts'
import { type CopyRequest, CopyUnreachableError, connectToCopy } from './copyConnection.ts'
import { stripHopByHopHeaders } from './proxy.ts'
import { type CallDependencies, SimulatedPodError, sendToFreeCopy } from './server.ts'
import type { Switchboard } from './switchboard.ts'

export type TestCallsOptions = CallDependencies & {
  switchboard: Pick<Switchboard, 'findFunction'>
  log: Pick<Log, 'debug'>
}

/** Calls the function with this key as soon as a copy has room. `gone` aborts when the caller no longer waits. */
export type MakeTestCall = (key: string, call: TestCall, callerSignal: AbortSignal) => Promise<TestAnswer>

/** Makes test calls, which the facade has authorized. They queue, start copies and are counted like any other call. */
export function createTestCaller(options: TestCallsOptions): MakeTestCall {
  return withTenantLimit(testCallMaker(options))
}

/** Limits concurrent calls: one boundary may hold at most as many as are left for the others. */
function withTenantLimit(make: MakeTestCall): MakeTestCall {
  const slots = new SharedSlots(CONCURRENT_TEST_CALLS_MAX)
  return async (key, call, callerSignal) => {
    const { boundaryId } = call
    if (slots.isFullFor(boundaryId)) return { refused: 'Full' }
    slots.take(boundaryId)
    try {
      return await make(key, call, callerSignal)
    } finally {
      slots.free(boundaryId)
    }
  }
}

function testCallMaker({ switchboard, statistics, reach, clock, log, isSimulated }: TestCallsOptions): MakeTestCall {
  return async (key, call, callerSignal) => {
    const served = switchboard.findFunction(key)
    if (served === undefined) return { refused: 'Gone' }
    const deadline = AbortSignal.timeout(served.object.spec.timeoutSeconds * 1000)
    const signal = AbortSignal.any([deadline, callerSignal])
    const started = clock.monotonic()
    const answers: TestAnswer[] = []
    const send = async () => {
      const { status: answer, wasCold } = await sendToFreeCopy(served, signal, (address) => {
        if (isSimulated) throw new SimulatedPodError('Nothing runs at the address of the copy.')
        return exchange({ address, reach, signal }, call)
      })
      const durationMilliseconds = Math.round((clock.monotonic() - started) * 10) / 10
      answers.push({ ...answer, isColdStart: wasCold, durationMilliseconds })
      return { status: answer.statusCode, wasCold }
    }
    try {
      await statistics.count(key, clock, send, () => callerSignal.aborted && !deadline.aborted)
    } catch (error) {
      log.debug({ function: key, error: messageOf(error) }, 'A test call was not answered by its function.')
      return { refused: refusalOf(error, deadline) }
    }
    return answers[0] ?? { refused: 'Broken' }
  }
}

const FAILURE_BY_NO_SLOT = {
  refused: 'Full',
  disabled: 'Disabled',
  failed: 'NoCopy',
  gone: 'Gone',
  late: 'NoCopy',
} as const

function refusalOf(error: unknown, deadline: AbortSignal): TestCallFailure {
  if (error instanceof NoSlotError) return FAILURE_BY_NO_SLOT[error.why]
  if (error instanceof SimulatedPodError) return 'Simulated'
  return deadline.aborted ? 'TooSlow' : 'Broken'
}

type CallResponse = { statusCode: number; headers: Record<string, string>; body: string; isTruncated: boolean }

/** Follows no redirect: the tenant controls its target. @throws CopyUnreachableError; Error once the copy may have begun */
async function exchange(
  { address, reach, signal }: CopyRequest,
  { method, path, headers, body }: TestCall,
): Promise<CallResponse> {
  const { isOpen, ...connection } = await connectToCopy(address, reach, signal)
  const bytes = Buffer.from(body, 'base64')
  const framed = { ...headers, ...(bytes.length > 0 && { 'content-length': bytes.length }) }
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    let isConnected = isOpen
    const outgoing = request({ ...connection, method, path, headers: framed, signal }, resolve)
    outgoing.on('socket', (socket) => socket.once('connect', () => (isConnected = true)))
    outgoing.on('upgrade', (_answer, socket) => {
      socket.destroy()
      reject(new Error('The copy speaks another protocol.'))
    })
    // After an answer the promise is settled, and this changes nothing.
    outgoing.on('error', (error) => reject(isConnected ? error : new CopyUnreachableError(error.message)))
    outgoing.end(bytes)
  })
  return readAnswer(answer)
}

/** @throws Error if the connection breaks or the status is not valid HTTP */
async function readAnswer(answer: IncomingMessage): Promise<CallResponse> {
  const { statusCode = 0 } = answer
  const read = await readBeginning(MAX_ANSWER_BODY_BYTES + 1, answer)
  answer.destroy()
  if (statusCode < 200 || statusCode > 599) throw new Error(`The copy answered with the status ${statusCode}.`)
  return {
    statusCode,
    headers: shownHeaders(answer),
    body: read.subarray(0, MAX_ANSWER_BODY_BYTES).toString('base64'),
    isTruncated: read.length > MAX_ANSWER_BODY_BYTES,
  }
}

/** Drops cookies, because they grant access to whoever reads the answer of a test call. */
function shownHeaders({ headers }: IncomingMessage): Record<string, string> {
  const { 'set-cookie': _, ...kept } = stripHopByHopHeaders(headers)
  return Object.fromEntries(Object.entries(kept).map(([name, value]) => [name, [value ?? ''].flat().join(', ')]))
}
