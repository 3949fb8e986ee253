import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { makeFacade, processorTimeOf } from './facadeStage.ts'
import { atMost } from './goals.ts'
import { ratio } from './load.ts'
import type { BenchmarkOptions } from './options.ts'
import { machine } from './stage.ts'

const CONNECTIONS = 20
/** Requests of an arm in a round; the first round is a warm-up. */
const REQUESTS = 10_000

/**
 * Processor time of the serving thread for one cached GET of a 2 KB resource, with real tokens, principals, limits,
 * decision, record and metrics, over an API server in memory. The peer is `node:http` serving the same bytes, which is
 * the cost of transport. Other load changes the processor time of a thread little.
 */
export async function runRequests({ rounds, count = 200 }: BenchmarkOptions): Promise<object> {
  const { stop, origin, paths, headers } = await makeFacade(count)
  const answer = await fetch(origin + (paths[0] ?? ''), { headers })
  const bytes = Buffer.from(await answer.arrayBuffer())
  if (answer.status !== 200) throw new Error(`The facade answered ${answer.status}: ${bytes}`)
  const plain = await serve(createServer((_request, response) => void response.end(bytes)))
  try {
    const arms = { facade: origin, nodeHttp: plain.origin }
    const microseconds: Record<string, number[]> = { facade: [], nodeHttp: [] }
    for (let round = 0; round <= rounds; round += 1) {
      for (const [name, at] of Object.entries(arms)) {
        const used = await processorTimeOf(
          { origin: at, paths, headers },
          { connections: CONNECTIONS, requests: REQUESTS },
        )
        if (round > 0) microseconds[name]?.push(used)
      }
    }
    const figures = Object.fromEntries(Object.entries(microseconds).map(([name, all]) => [name, ratio(all)]))
    return {
      benchmark: 'requests',
      ...machine(),
      connections: CONNECTIONS,
      bytes: bytes.length,
      microseconds: figures,
      goals: [atMost('processor time of a cached GET', 'µs', 75, figures.facade?.median ?? Number.NaN)],
    }
  } finally {
    await plain.stop()
    await stop()
  }
}

async function serve(server: Server): Promise<{ origin: string; stop(): Promise<void> }> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  }
}
