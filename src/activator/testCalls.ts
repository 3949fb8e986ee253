import { type IncomingMessage, request } from 'node:http'
import {
  MOST_ANSWER_BYTES,
  MOST_AT_ONCE,
  type NoAnswer,
  type TestAnswer,
  type TestCall,
} from '../contracts/testCalls.ts'
import { messageOf } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { readBeginning } from '../core/readWithin.ts'
import { SharedPlaces } from '../core/sharedPlaces.ts'
import { NoPlace } from './lane.ts'
import { withoutHop } from './proxy.ts'
import { type CallMeans, Played, sent } from './server.ts'
import type { Switchboard } from './switchboard.ts'
import { type ReachCopy, Unreached, wayTo } from './way.ts'

export type TestCallsOptions = CallMeans & { switchboard: Pick<Switchboard, 'line'>; log: Pick<Log, 'debug'> }

/** Calls the function with this key as soon as a copy has room. `gone` aborts when the caller no longer waits. */
export type MakeTestCall = (key: string, call: TestCall, gone: AbortSignal) => Promise<TestAnswer>

/** Makes test calls, which the facade has authorized. They queue, start copies and are counted like any other call. */
export function testCalls(options: TestCallsOptions): MakeTestCall {
  return bounded(unbounded(options))
}

/** Limits concurrent calls: one boundary may hold at most as many as are left for the others. */
function bounded(make: MakeTestCall): MakeTestCall {
  const places = new SharedPlaces(MOST_AT_ONCE)
  return async (key, call, gone) => {
    const { boundaryId } = call
    if (places.isFullFor(boundaryId)) return { refused: 'Full' }
    places.take(boundaryId)
    try {
      return await make(key, call, gone)
    } finally {
      places.free(boundaryId)
    }
  }
}

function unbounded({ switchboard, figures, reach, clock, log, isPlayed }: TestCallsOptions): MakeTestCall {
  return async (key, call, gone) => {
    const line = switchboard.line(key)
    if (line === undefined) return { refused: 'Gone' }
    const deadline = AbortSignal.timeout(line.object.spec.timeoutSeconds * 1000)
    const signal = AbortSignal.any([deadline, gone])
    const started = clock.monotonic()
    const answers: TestAnswer[] = []
    const send = async () => {
      const { status: answer, wasCold } = await sent(line, signal, (address) => {
        if (isPlayed) throw new Played('Nothing runs at the address of the copy.')
        return exchange({ address, reach, signal }, call)
      })
      const durationMilliseconds = Math.round((clock.monotonic() - started) * 10) / 10
      answers.push({ ...answer, isColdStart: wasCold, durationMilliseconds })
      return { status: answer.statusCode, wasCold }
    }
    try {
      await figures.count(key, clock, send, () => gone.aborted && !deadline.aborted)
    } catch (error) {
      log.debug({ function: key, error: messageOf(error) }, 'A test call was not answered by its function.')
      return { refused: refusalOf(error, deadline) }
    }
    return answers[0] ?? { refused: 'Broken' }
  }
}

const WITHOUT_PLACE = { refused: 'Full', disabled: 'Disabled', failed: 'NoCopy', gone: 'Gone', late: 'NoCopy' } as const

function refusalOf(error: unknown, deadline: AbortSignal): NoAnswer {
  if (error instanceof NoPlace) return WITHOUT_PLACE[error.why]
  if (error instanceof Played) return 'Simulated'
  return deadline.aborted ? 'TooSlow' : 'Broken'
}

type Way = { address: string; reach: ReachCopy; signal: AbortSignal }
type Exchanged = { statusCode: number; headers: Record<string, string>; body: string; isTruncated: boolean }

/** Follows no redirect: the tenant controls its target. @throws Unreached; Error once the copy may have begun */
async function exchange(
  { address, reach, signal }: Way,
  { method, path, headers, body }: TestCall,
): Promise<Exchanged> {
  const { isOpen, ...way } = await wayTo(address, reach, signal)
  const bytes = Buffer.from(body, 'base64')
  const framed = { ...headers, ...(bytes.length > 0 && { 'content-length': bytes.length }) }
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    let isConnected = isOpen
    const asked = request({ ...way, method, path, headers: framed, signal }, resolve)
    asked.on('socket', (socket) => socket.once('connect', () => (isConnected = true)))
    asked.on('upgrade', (_answer, socket) => {
      socket.destroy()
      reject(new Error('The copy speaks another protocol.'))
    })
    // After an answer the promise is settled, and this changes nothing.
    asked.on('error', (error) => reject(isConnected ? error : new Unreached(error.message)))
    asked.end(bytes)
  })
  return readAnswer(answer)
}

/** @throws Error if the connection breaks or the status is not valid HTTP */
async function readAnswer(answer: IncomingMessage): Promise<Exchanged> {
  const { statusCode = 0 } = answer
  const read = await readBeginning(MOST_ANSWER_BYTES + 1, answer)
  answer.destroy()
  if (statusCode < 200 || statusCode > 599) throw new Error(`The copy answered with the status ${statusCode}.`)
  return {
    statusCode,
    headers: shownHeaders(answer),
    body: read.subarray(0, MOST_ANSWER_BYTES).toString('base64'),
    isTruncated: read.length > MOST_ANSWER_BYTES,
  }
}

/** Drops cookies, because they grant access to whoever reads the answer of a test call. */
function shownHeaders({ headers }: IncomingMessage): Record<string, string> {
  const { 'set-cookie': _, ...kept } = withoutHop(headers)
  return Object.fromEntries(Object.entries(kept).map(([name, value]) => [name, [value ?? ''].flat().join(', ')]))
}
