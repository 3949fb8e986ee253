import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { Registry } from 'prom-client'
import { createStanding } from '../../src/api/callers/standing.ts'
import { keepTokenKeys } from '../../src/api/callers/tokenKeys.ts'
import { createTokenVerifier } from '../../src/api/callers/tokens.ts'
import { createHttpMetrics } from '../../src/api/http/metrics.ts'
import { systemClock } from '../../src/core/clock.ts'
import { createLog, silentLog } from '../../src/core/log.ts'
import { groupNamespace, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import { PlatformClient } from '../../src/crds/identity.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import { startFacade } from '../worlds/facadeServer.ts'
import { atMost } from './goals.ts'
import type { BenchmarkOptions } from './index.ts'
import { ratio } from './load.ts'
import { machine, SPEC } from './stage.ts'

const CONNECTIONS = 20
/** Requests of an arm in a round; the first round of each is not counted, for the machine compiles it. */
const REQUESTS = 10_000
const ISSUER = 'https://issuer.example/realms/bench'
const AUDIENCE = 'bench'

/**
 * Processor time of one cached GET of a 2 KB resource, of the thread that serves it: tokens, standing, limits, decision,
 * record, metrics, all real, over an API server in memory. Beside it the same bytes from `node:http` alone, which is
 * what transport costs. Processor time of one thread is little changed by what else the machine does.
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
        const used = await processorTimeOf(at, paths, headers)
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

async function makeFacade(count: number) {
  const { privateKey, publicKey } = await generateKeyPair('RS256')
  const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: 'bench', use: 'sig', alg: 'RS256' }] }
  const log = createLog('warn', {})
  const tokens = createTokenVerifier({
    issuer: ISSUER,
    audience: AUDIENCE,
    jwksUrl: ISSUER,
    log: silentLog,
    keys: keepTokenKeys({ fetchKeys: async () => keys, clock: systemClock, log: silentLog }),
  })
  const limits = { requestsPerPrincipal: 1e9, anonymousRequestsPerAddress: 1e9 }
  const late: { standing?: ReturnType<typeof createStanding> } = {}
  const world = await startFacade({
    tokens,
    limits,
    log,
    metrics: createHttpMetrics(new Registry()),
    standing: { endOf: async (...given) => late.standing?.endOf(...given) },
    checkReplies: false,
  })
  late.standing = createStanding(world)
  const [principalId, boundaryId] = [randomUUID(), randomUUID()]
  world.put(PlatformClient, principalId, { displayName: 'Bench', secretName: 'bench' }, SYSTEM_NAMESPACE)
  world.boundary(boundaryId)
  world.group(boundaryId, 'shop')
  world.grant(principalId, 'Reader', `/boundaries/${boundaryId}/resourcegroups/shop`)
  const names = Array.from({ length: count }, (_, index) => `db-${index}`)
  for (const name of names) world.put(VectorCluster, name, SPEC, groupNamespace(boundaryId, 'shop'))
  const { port } = await world.facade.listen(0, '127.0.0.1')
  const token = await new SignJWT({ typ: 'Bearer', azp: principalId, client_id: principalId })
    .setProtectedHeader({ alg: 'RS256', kid: 'bench', typ: 'at+jwt' })
    .setIssuer(ISSUER)
    .setAudience(AUDIENCE)
    .setSubject(principalId)
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(privateKey)
  return {
    origin: `http://127.0.0.1:${port}`,
    paths: names.map((name) => `/boundaries/${boundaryId}/resourcegroups/shop/resources/vectorclusters/${name}`),
    headers: { authorization: `Bearer ${token}` },
    async stop() {
      await world.stop()
      await tokens.stop()
    },
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

/** Microseconds of this thread for one request; the requests come from another. */
async function processorTimeOf(origin: string, paths: readonly string[], headers: object): Promise<number> {
  const workerData = { origin, paths, headers, connections: CONNECTIONS, requests: REQUESTS }
  const worker = new Worker(join(import.meta.dirname, 'requestsClient.ts'), { workerData })
  await once(worker, 'message')
  const before = process.threadCpuUsage()
  worker.postMessage('begin')
  await once(worker, 'message')
  const { user, system } = process.threadCpuUsage(before)
  await worker.terminate()
  return (user + system) / REQUESTS
}
