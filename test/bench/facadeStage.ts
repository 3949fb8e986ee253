import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { Registry } from 'prom-client'
import { createPrincipalStatus } from '../../src/api/callers/principalStatus.ts'
import { createTokenKeys } from '../../src/api/callers/tokenKeys.ts'
import { createTokenVerifier } from '../../src/api/callers/tokens.ts'
import { createHttpMetrics } from '../../src/api/http/metrics.ts'
import { INDEXES } from '../../src/controllers/engine/workspace.ts'
import { systemClock } from '../../src/core/clock.ts'
import { INCARNATION_ANNOTATION } from '../../src/core/labels.ts'
import { createLog, silentLog } from '../../src/core/log.ts'
import { groupNamespace, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { PlatformClient } from '../../src/crds/identity.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import { heapUsed } from '../make/garbage.ts'
import { startFacade } from '../worlds/facadeServer.ts'
import { SPEC } from './stage.ts'

const ISSUER = 'https://issuer.example/realms/bench'
const AUDIENCE = 'bench'
/** Newer than anything that the API server in memory has returned. */
const FIRST_VERSION = 1_000_000

/** As returned by the API server, with managed fields, and parsed from text, which determines its memory layout. */
export function objectOf(name: string, namespace: string, index: number, spec: object): KubeObject {
  const { apiVersion, kind } = VectorCluster
  const fields = { 'f:spec': Object.fromEntries(Object.keys(spec).map((key) => [`f:${key}`, {}])) }
  const object = {
    apiVersion,
    kind,
    metadata: {
      name,
      namespace,
      uid: randomUUID(),
      resourceVersion: String(FIRST_VERSION + index),
      generation: 1,
      creationTimestamp: '2026-01-01T00:00:00Z',
      annotations: { [INCARNATION_ANNOTATION]: randomUUID() },
      managedFields: [{ manager: 'bench', operation: 'Apply', apiVersion, fieldsType: 'FieldsV1', fieldsV1: fields }],
    },
    spec,
  }
  return JSON.parse(JSON.stringify(object)) as KubeObject
}

/** A spec as long as `SPEC` with unique tags: equal strings are stored once, and would make the heap look too small. */
function ownSpec(index: number): object {
  const tags = Object.keys(SPEC.tags).map((key) => [
    key,
    createHash('sha384').update(`${index} ${key}`).digest('hex').slice(0, 48),
  ])
  return { ...SPEC, tags: Object.fromEntries(tags) }
}

/**
 * The whole facade in this thread, with real tokens, principals, limits, decisions and metrics, over an API server in
 * memory with so many databases of 2 KB. They are put into the caches only, as by a watch.
 *
 * @param specs whether each database has its own tags, or all have the same
 * @param role of the caller
 */
export async function makeFacade(count: number, specs: 'own' | 'alike' = 'own', role = 'Reader') {
  const { privateKey, publicKey } = await generateKeyPair('RS256')
  const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: 'bench', use: 'sig', alg: 'RS256' }] }
  const log = createLog('warn', {})
  const tokens = createTokenVerifier({
    issuer: ISSUER,
    audience: AUDIENCE,
    jwksUrl: ISSUER,
    log: silentLog,
    keys: createTokenKeys({ fetchKeys: async () => keys, clock: systemClock, log: silentLog }),
  })
  const limits = { requestsPerMinute: 1e9, anonymousRequestsPerMinute: 1e9 }
  const late: { standing?: ReturnType<typeof createPrincipalStatus> } = {}
  const world = await startFacade({
    tokens,
    limits,
    log,
    metrics: createHttpMetrics(new Registry()),
    standing: { endOf: async (...given) => late.standing?.endOf(...given) },
    checkReplies: false,
  })
  late.standing = createPrincipalStatus(world)
  const [principalId, boundaryId] = [randomUUID(), randomUUID()]
  world.put(PlatformClient, principalId, { displayName: 'Bench', secretName: 'bench' }, SYSTEM_NAMESPACE)
  world.boundary(boundaryId)
  world.group(boundaryId, 'shop')
  world.grant(principalId, role, `/boundaries/${boundaryId}/resourcegroups/shop`)
  const names = Array.from({ length: count }, (_, index) => `db-${index}`)
  const specOf = (index: number) => VectorCluster.spec.parse(specs === 'own' ? ownSpec(index) : SPEC)
  const namespace = groupNamespace(boundaryId, 'shop')
  const cache = world.caches.get(VectorCluster.resource)
  cache.addIndexes(INDEXES)
  const heapBefore = await heapUsed()
  for (const [index, name] of names.entries()) cache.observeWrite(objectOf(name, namespace, index, specOf(index)))
  const heapBytes = (await heapUsed()) - heapBefore
  const { port } = await world.facade.listen(0, '127.0.0.1')
  const token = await new SignJWT({ typ: 'Bearer', azp: principalId, client_id: principalId })
    .setProtectedHeader({ alg: 'RS256', kid: 'bench', typ: 'at+jwt' })
    .setIssuer(ISSUER)
    .setAudience(AUDIENCE)
    .setSubject(principalId)
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(privateKey)
  const list = `/boundaries/${boundaryId}/resourcegroups/shop/resources/vectorclusters`
  return {
    /** The size of all databases together, after a garbage collection. */
    heapBytes,
    origin: `http://127.0.0.1:${port}`,
    list,
    paths: names.map((name) => `${list}/${name}`),
    headers: { authorization: `Bearer ${token}` },
    /** The API server in memory, and where its databases stand. */
    server: world.client,
    namespace,
    async stop() {
      await world.stop()
      await tokens.stop()
    },
  }
}

/**
 * Microseconds of this thread per request; the requests come from another thread.
 *
 * @param connections each with one request at a time
 */
export async function processorTimeOf(
  { origin, paths, headers }: { origin: string; paths: readonly string[]; headers: object },
  { connections, requests }: { connections: number; requests: number },
): Promise<number> {
  const workerData = { origin, paths, headers, connections, requests }
  const worker = new Worker(join(import.meta.dirname, 'requestsClient.ts'), { workerData })
  await once(worker, 'message')
  const before = process.threadCpuUsage()
  worker.postMessage('begin')
  await once(worker, 'message')
  const { user, system } = process.threadCpuUsage(before)
  await worker.terminate()
  return (user + system) / requests
}
