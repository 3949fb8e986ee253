// A separate thread, so that the cost of asking does not count as the cost of answering.
import { once } from 'node:events'
import { parentPort, workerData } from 'node:worker_threads'
import { Agent, request } from 'undici'

type Given = {
  origin: string
  paths: string[]
  headers: Record<string, string>
  connections: number
  requests: number
}

const { origin, paths, headers, connections, requests } = workerData as Given
const dispatcher = new Agent({ connections, pipelining: 1 })
let next = 0

async function ask(until: number): Promise<void> {
  while (next < until) {
    const path = paths[next++ % paths.length] ?? '/'
    const { statusCode, body } = await request(origin + path, { dispatcher, headers })
    await body.dump()
    if (statusCode !== 200) throw new Error(`${path} answered ${statusCode}.`)
  }
}

const asked = (until: number) => Promise.all(Array.from({ length: connections }, () => ask(until)))
await asked(connections)
parentPort?.postMessage('ready')
if (parentPort !== null) await once(parentPort, 'message')
await asked(connections + requests)
parentPort?.postMessage('done')
