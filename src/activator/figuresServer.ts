import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { keyOfCalls } from '../contracts/functionCalls.ts'
import { MOST_TOLD_BYTES, type TestCall } from '../contracts/testCalls.ts'
import { bounded, PATIENCE } from '../core/connectionBounds.ts'
import { oneByOne } from '../core/oneByOne.ts'
import { readWithin } from '../core/readWithin.ts'
import { signalOf } from '../core/signalOf.ts'
import { untilStill } from '../core/untilStill.ts'
import type { Figures } from './figures.ts'
import type { MakeTestCall } from './testCalls.ts'

/**
 * Serves call statistics to facades in other processes, and makes test calls for them. Requests are not authenticated:
 * network policies let only facades reach this port.
 */
export function createFiguresServer(figures: Pick<Figures, 'of'>, call: MakeTestCall): Server {
  const listener: RequestListener = (request, response) => {
    const key = keyOfCalls(request.url ?? '')
    if (key === undefined) return answer(response, 404, { error: 'Nothing answers here.' })
    if (request.method === 'GET') return answer(response, 200, figures.of(key))
    if (request.method !== 'POST') return answer(response, 404, { error: 'Nothing answers here.' })
    readCall(request)
      .then((asked) => call(key, asked, signalOf(response)))
      .then(
        (made) => answer(response, 200, made),
        () => answer(response, 400, { error: 'This is no call of a function.' }),
      )
  }
  return bounded(createServer({ ...PATIENCE, requestTimeout: 10_000 }, oneByOne(untilStill(listener))))
}

async function readCall(request: IncomingMessage): Promise<TestCall> {
  const bytes = await readWithin(MOST_TOLD_BYTES, request, () => new Error('The call is too long.'))
  return JSON.parse(bytes.toString('utf8')) as TestCall
}

function answer(response: ServerResponse, status: number, said: object): void {
  const body = JSON.stringify(said)
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
  response.end(body)
}
