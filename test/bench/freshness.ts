import { Pool } from 'undici'
import { OwnPlatform } from '../cluster/platform.ts'
import { until } from '../make/until.ts'
import { makeServiceAccount, tokenFor } from '../worlds/tenant.ts'
import { percentiles } from './load.ts'
import type { BenchmarkOptions } from './options.ts'
import { circumstances, UNLIMITED } from './stage.ts'

/** After this long a replica is not late but wrong. */
const OBEYS_WITHIN = 10_000
/** Warm-up rounds, which open connections and compile code. */
const WARMING = 5

type Answer = { status: number; text: string }
type Ask = (method: 'GET' | 'POST' | 'DELETE', path: string, token: string, body?: object) => Promise<Answer>
/** Two facades of one control plane, and the person who gets a role and loses it. */
type Scene = { first: Ask; second: Ask; owner: string; stranger: { principalId: string; token: string }; path: string }
/** Milliseconds until the second replica applied the change, and whether the next request to the first did. */
type Turn = { milliseconds: number; isNextObeyed: boolean }

/**
 * B4, second figure: the time from the answer to creating or deleting an assignment through one replica until another
 * applies it. It ends with the answer to the first request that shows the change, so it includes that request.
 */
export async function runFreshness({ count = 200 }: BenchmarkOptions): Promise<object> {
  const own = await OwnPlatform.prepare({ environment: UNLIMITED })
  const pools: Pool[] = []
  try {
    await own.startOperator()
    const addresses = [own.platform.facadeUrl, await own.startReplica()]
    pools.push(...addresses.map((address) => new Pool(address, { connections: 2 })))
    const scene = await setScene(own, pools)
    const grants: Turn[] = []
    const removals: Turn[] = []
    for (let round = -WARMING; round < count; round += 1) {
      const { grant, removal } = await playRound(scene)
      if (round < 0) continue
      grants.push(grant)
      removals.push(removal)
    }
    const turns = [...grants, ...removals]
    return {
      benchmark: 'freshness',
      ...circumstances({ own }),
      rounds: count,
      grant: figures(grants),
      removal: figures(removals),
      nextOnSameReplica: { requests: turns.length, failures: turns.filter(({ isNextObeyed }) => !isNextObeyed).length },
      streams: 'not measured: no route that streams is served yet',
    }
  } finally {
    await Promise.all(pools.map((pool) => pool.close()))
    await own.stop()
  }
}

const figures = (turns: readonly Turn[]) => percentiles(turns.map(({ milliseconds }) => milliseconds))

function askThrough(pool: Pool): Ask {
  return async (method, path, token, body) => {
    const answer = await pool.request({
      method,
      path,
      headers: { authorization: `Bearer ${token}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return { status: answer.statusCode, text: await answer.body.text() }
  }
}

async function setScene(own: OwnPlatform, pools: readonly Pool[]): Promise<Scene> {
  const [first, second] = pools.map(askThrough)
  if (first === undefined || second === undefined) throw new Error('Two replicas are needed.')
  const { clientId, clientSecret, tokenUrl } = own.platform
  const owner = await tokenFor(clientId, clientSecret, tokenUrl)
  const { clientId: principalId, token } = await makeServiceAccount(own.admin, 'Stranger', tokenUrl)
  const made = await expectStatus(201, first('POST', '/boundaries', owner, { displayName: 'Freshness' }))
  const path = `/boundaries/${(JSON.parse(made.text) as { id: string }).id}`
  await until('both replicas return the same settled boundary', async () => {
    const [one, other] = [await first('GET', path, owner), await second('GET', path, owner)]
    return one.status === 200 && one.text === other.text && one.text.includes('"Running"')
  })
  for (const ask of [first, second]) {
    await until(
      'the stranger is authenticated, and refused',
      async () => (await ask('GET', path, token)).status === 403,
    )
  }
  return { first, second, owner, stranger: { principalId, token }, path }
}

async function playRound(scene: Scene): Promise<{ grant: Turn; removal: Turn }> {
  const { first, owner, stranger, path } = scene
  const body = { principalId: stranger.principalId, roleDefinitionName: 'Reader' }
  const made = await expectStatus(201, first('POST', `${path}/members`, owner, body))
  const grant = await timeTurn(scene, 200)
  const { assignmentId } = JSON.parse(made.text) as { assignmentId: string }
  await expectStatus(204, first('DELETE', `${path}/members/${assignmentId}`, owner))
  return { grant, removal: await timeTurn(scene, 403) }
}

/** Starting now, asks both replicas: the first once, the second until its answer is the wanted one. */
async function timeTurn({ first, second, stranger, path }: Scene, wanted: number): Promise<Turn> {
  const started = performance.now()
  const next = first('GET', path, stranger.token)
  for (;;) {
    const { status } = await second('GET', path, stranger.token)
    const milliseconds = performance.now() - started
    if (status === wanted) return { milliseconds, isNextObeyed: (await next).status === wanted }
    if (milliseconds > OBEYS_WITHIN)
      throw new Error(`The second replica still answers ${status} instead of ${wanted} after ${OBEYS_WITHIN} ms.`)
  }
}

async function expectStatus(status: number, asked: Promise<Answer>): Promise<Answer> {
  const answer = await asked
  if (answer.status !== status) throw new Error(`${answer.status} instead of ${status}: ${answer.text.slice(0, 500)}`)
  return answer
}
