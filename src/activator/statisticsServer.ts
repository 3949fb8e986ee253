import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { parseFunctionCallsPath } from '../contracts/functionCalls.ts'
import { MAX_TEST_CALL_BYTES, type TestCall } from '../contracts/testCalls.ts'
import { closeWhenIdle } from '../core/closeWhenIdle.ts'
import { boundConnections, CONNECTION_TIMEOUTS } from '../core/connectionLimits.ts'
import { disconnectSignalOf } from '../core/disconnectSignal.ts'
import { readWithin } from '../core/readWithin.ts'
import { withoutPipelining } from '../core/withoutPipelining.ts'
import type { CallStatistics } from './callStatistics.ts'
import type { MakeTestCall } from './testCalls.ts'

/**
 * Serves call statistics to facades in other processes, and makes test calls for them. Requests are not authenticated:
 * network policies let only facades reach this port.
 */
export function createStatisticsListener(statistics: Pick<CallStatistics, 'of'>, call: MakeTestCall): RequestListener {
  return (request, response) => {
    const key = parseFunctionCallsPath(request.url ?? '')
    if (key === undefined) return sendJson(response, 404, { error: 'Nothing answers here.' })
    if (request.method === 'GET') return sendJson(response, 200, statistics.of(key))
    if (request.method !== 'POST') return sendJson(response, 404, { error: 'Nothing answers here.' })
    readCall(request)
      .then((testCall) => call(key, testCall, disconnectSignalOf(response)))
      .then(
        (answer) => sendJson(response, 200, answer),
        () => sendJson(response, 400, { error: 'This is no call of a function.' }),
      )
  }
}

export function createStatisticsServer(listener: RequestListener): Server {
  return boundConnections(
    createServer({ ...CONNECTION_TIMEOUTS, requestTimeout: 10_000 }, withoutPipelining(closeWhenIdle(listener))),
  )
}

async function readCall(request: IncomingMessage): Promise<TestCall> {
  const bytes = await readWithin(MAX_TEST_CALL_BYTES, request, () => new Error('The call is too long.'))
  return JSON.parse(bytes.toString('utf8')) as TestCall
}

function sendJson(response: ServerResponse, status: number, content: object): void {
  const body = JSON.stringify(content)
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
  response.end(body)
}
