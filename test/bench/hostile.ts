import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { Agent, request } from 'undici'
import { makeServiceAccount } from '../worlds/tenant.ts'
import { placeWithServers, separateCallers } from './cores.ts'
import type { Attack } from './hostileCaller.ts'
import { type Arm, fetchJson, percentiles, ratio } from './load.ts'
import type { BenchmarkOptions } from './options.ts'
import { circumstances, type Stage, setStage } from './stage.ts'

const DATABASES = 500
/** Milliseconds between two requests of the modest callers. */
const PAUSE = 10

/** Latencies in milliseconds, and failed answers. */
type Seen = { rest: number[]; kubectl: number[]; kubectlErrors: number }

/**
 * The latency of modest callers, by REST and with kubectl, alone and beside one caller that sends the most expensive
 * allowed requests as fast as it can. The limits are the defaults; contents are compared before and after. A control
 * arm shows the effect of the machine alone: the same attack on a server that answers at once, or, for questions to the
 * API server, by a caller about whom it asks no webhook. Callers and servers have cores of their own.
 */
export async function runHostile({ rounds, seconds, count = DATABASES }: BenchmarkOptions): Promise<object> {
  const stage = await setStage(count, {
    environment: { PLATFORM_REQUESTS_PER_MINUTE: '6000', PLATFORM_ANSWER_BYTES_PER_SECOND: '8388608' },
  })
  try {
    const { modest, kubectl, attacks } = await callers(stage)
    const cores = separateCallers()
    const before = await fetchJson(modest, modest.paths[0] ?? '')
    const results: object[] = []
    for (const [name, attack] of Object.entries(attacks)) {
      const callers = { attack, modest, kubectl, elsewhere: name === 'questions' ? unasked(attack, stage) : undefined }
      const result = { name, ...(await measured(callers, { rounds, milliseconds: seconds * 1000 })) }
      results.push(result)
      // Twenty minutes for everything: stopping earlier keeps what was measured.
      console.error(JSON.stringify(result))
    }
    if (!isDeepStrictEqual(await fetchJson(modest, modest.paths[0] ?? ''), before))
      throw new Error('The modest caller was answered differently afterwards.')
    return { benchmark: 'hostile', databases: count, rounds, seconds, cores, ...circumstances(stage), results }
  } finally {
    await stage.stop()
  }
}

/** The same to the API server as an administrator, who is admitted without asking the platform. */
function unasked(attack: Attack, { raw }: Stage): Attack {
  return { ...attack, headers: raw.headers, clientCertificate: raw.clientCertificate }
}

/** Two principals with a role at the boundary: a modest caller and a hostile one. */
async function callers({ own, fleet, ours, raw }: Stage) {
  const { facadeUrl, tokenUrl } = own.platform
  const boundary = `/boundaries/${fleet.boundaryId}`
  const groupPath = `${boundary}/resourcegroups/${fleet.groups[0]}/resources`
  const asOwner = async (path: string, body: object) => {
    const headers = { ...ours.headers, 'content-type': 'application/json' }
    const answer = await request(facadeUrl + path, { method: 'POST', headers, body: JSON.stringify(body) })
    const text = await answer.body.text()
    if (answer.statusCode >= 300) throw new Error(`${path} answered ${answer.statusCode}: ${text}`)
  }
  const holder = async (displayName: string) => {
    const { clientId: principalId, token } = await makeServiceAccount(own.admin, displayName, tokenUrl)
    await asOwner(`${boundary}/members`, {
      principalId,
      principalType: 'ServicePrincipal',
      roleDefinitionName: 'Reader',
    })
    return { authorization: `Bearer ${token}` }
  }
  const [little, everything] = [await holder('Modest'), await holder('Hostile')]
  await asOwner(`${groupPath}/sqlclusters/ledger`, { engine: 'MariaDb' })
  const json = { ...everything, 'content-type': 'application/json' }
  const url = (path: string) => facadeUrl + path
  const filler = JSON.stringify({
    tags: Object.fromEntries(Array.from({ length: 60_000 }, (_, at) => [`k${at}`, 'x'])),
  })
  const batch = JSON.stringify({ sql: `select ${Array(9_900).fill('a').join(',')}` })
  const wrong = 'grant_type=client_credentials&client_id=00000000-0000-4000-8000-000000000000&client_secret=wrong'
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const attacks: Record<string, Attack> = {
    batches: {
      method: 'POST',
      url: url(`${groupPath}/sqlclusters/ledger/editor/query`),
      headers: json,
      body: batch,
      connections: 12,
    },
    lists: {
      method: 'GET',
      url: url(`${groupPath}/vectorclusters?pageSize=500`),
      headers: everything,
      connections: 12,
    },
    bodies: {
      method: 'POST',
      url: url(`${groupPath}/sqlclusters/ledger/editor/query`),
      headers: json,
      body: filler,
      connections: 12,
    },
    secrets: { method: 'POST', url: tokenUrl, headers: form, body: wrong, connections: 12 },
    documents: { method: 'GET', url: url('/docs/db-vector/openapi.json'), headers: everything, connections: 12 },
    reads: { method: 'GET', url: url(`${groupPath}/vectorclusters/db-00000`), headers: everything, connections: 12 },
    questions: {
      method: 'GET',
      url: `${raw.origin}/apis/data.freehold.dev/v1alpha1/namespaces/${fleet.namespaces[0]}/vectorclusters/hostile`,
      headers: { ...raw.headers, ...everything },
      connections: 12,
      ca: raw.ca,
      isNew: true,
    },
  }
  const modest: Arm = { ...ours, name: 'modest', paths: [`${groupPath}/vectorclusters/db-00000`], headers: little }
  const { clientCertificate: _ours, ...server } = raw
  const kubectl: Arm = {
    ...server,
    name: 'kubectl',
    headers: { ...raw.headers, ...little },
    paths: [fleet.namespaces[0] ?? ''],
  }
  return { modest, kubectl, attacks }
}

/** Measures while a separate process attacks, and counts the answers to the attack. */
async function during<Seen>(attack: Attack, look: () => Promise<Seen>): Promise<[Seen, Record<string, number>]> {
  const child = fork(fileURLToPath(new URL('./hostileCaller.ts', import.meta.url)))
  try {
    child.send(attack)
    await delay(1_000)
    const seen = await look()
    child.send('stop')
    const [counted] = (await once(child, 'message')) as [Record<string, number>]
    return [seen, counted]
  } finally {
    // If the measurement failed, it would attack forever.
    child.kill()
  }
}

type Callers = { attack: Attack; modest: Arm; kubectl: Arm; elsewhere: Attack | undefined }

async function measured(
  { attack, modest, kubectl, elsewhere: given }: Callers,
  { rounds, milliseconds }: { rounds: number; milliseconds: number },
): Promise<object> {
  const found: { quiet: Seen; beside: Seen; elsewhere: Seen }[] = []
  const statuses: Record<string, number> = {}
  await look(modest, kubectl, 1_000)
  for (let round = 0; round < rounds; round += 1) {
    const quiet = await look(modest, kubectl, milliseconds)
    const [beside, counted] = await during(attack, () => look(modest, kubectl, milliseconds))
    for (const [status, number] of Object.entries(counted)) statuses[status] = (statuses[status] ?? 0) + number
    const server = given === undefined ? await startPlainServer() : undefined
    const { ca: _, ...plain } = { ...attack, url: server?.url ?? '' }
    const [elsewhere] = await during(given ?? plain, () => look(modest, kubectl, milliseconds)).finally(server?.stop)
    found.push({ quiet, beside, elsewhere })
  }
  const ratioOf = (of: 'rest' | 'kubectl', figure: 'p50' | 'p99', to: 'quiet' | 'elsewhere' = 'quiet') =>
    ratio(found.map((seen) => percentiles(seen.beside[of])[figure] / percentiles(seen[to][of])[figure]))
  const toElsewhere = (of: 'rest' | 'kubectl') => ({ p99ToElsewhere: ratioOf(of, 'p99', 'elsewhere') })
  const quiet = (of: 'rest' | 'kubectl') => {
    const { p50, p99 } = percentiles(found.flatMap((seen) => seen.quiet[of]))
    return { p50: Math.round(p50 * 100) / 100, p99: Math.round(p99 * 100) / 100 }
  }
  const worst = (of: 'rest' | 'kubectl') => Math.round(Math.max(...found.flatMap(({ beside }) => beside[of])))
  return {
    rest: {
      p50: ratioOf('rest', 'p50'),
      p99: ratioOf('rest', 'p99'),
      ...toElsewhere('rest'),
      quietMilliseconds: quiet('rest'),
      worstMilliseconds: worst('rest'),
    },
    kubectl: {
      p50: ratioOf('kubectl', 'p50'),
      p99: ratioOf('kubectl', 'p99'),
      ...toElsewhere('kubectl'),
      quietMilliseconds: quiet('kubectl'),
      worstMilliseconds: worst('kubectl'),
    },
    kubectlErrors: found.reduce((sum, { quiet, beside }) => sum + quiet.kubectlErrors + beside.kubectlErrors, 0),
    hostile: statuses,
  }
}

async function startPlainServer(): Promise<{ url: string; stop(): void }> {
  const server = fork(fileURLToPath(new URL('./plainServer.ts', import.meta.url)))
  placeWithServers(server.pid)
  const [url] = (await once(server, 'message')) as [string]
  return { url, stop: () => void server.kill() }
}

let names = 0

/** Asks now and then, by REST and with kubectl, for a new name each time, because the API server caches. */
async function look(modest: Arm, kubectl: Arm, milliseconds: number): Promise<Seen> {
  const until = performance.now() + milliseconds
  const seen: Seen = { rest: [], kubectl: [], kubectlErrors: 0 }
  const dispatcher = new Agent({ connections: 1, connect: kubectl.ca === undefined ? {} : { ca: kubectl.ca } })
  const again = async (ask: () => Promise<number>) => {
    while (performance.now() < until) {
      const began = performance.now()
      await ask().then((status) => note(status, performance.now() - began))
      await delay(PAUSE)
    }
  }
  const note = (status: number, took: number) => {
    if (status === 200) seen.rest.push(took)
    else if (status === 404) seen.kubectl.push(took)
    else if (status >= 500) seen.kubectlErrors += 1
    else throw new Error(`The modest caller was answered ${status}.`)
  }
  const statusOf = async (url: string, headers: Record<string, string>) => {
    const answer = await request(url, { headers, dispatcher })
    await answer.body.dump()
    return answer.statusCode
  }
  const [namespace] = kubectl.paths
  const vectors = `${kubectl.origin}/apis/data.freehold.dev/v1alpha1/namespaces/${namespace}/vectorclusters`
  try {
    await Promise.all([
      again(() => statusOf(`${modest.origin}${modest.paths[0]}`, modest.headers)),
      again(() => statusOf(`${vectors}/nobody-${names++}`, kubectl.headers)),
    ])
  } finally {
    await dispatcher.close()
  }
  return seen
}
