import { expect } from 'chai'
import { EXECUTION_STATES, isExecutionOver } from '../contracts/blueprints/executions.ts'
import { DEPLOYMENT_PHASES, isFinalPhase } from '../contracts/deployments.ts'
import { isJobFinished, JOB_STATES } from '../contracts/jobs.ts'
import { isRolloutOver, ROLLOUT_STATES } from '../contracts/rollouts/states.ts'
import { isRunOver, RUN_STATES } from '../crds/registry.ts'
import {
  type ClientOptions,
  createClient,
  NetworkError,
  PlatformApiError,
  type WaitError,
  waitUntil,
  waitUntilGone,
} from './index.ts'

type Sent = { method: string; url: string; token: string; body: unknown }

/** A client that receives these responses, one after the other. */
function clientBefore(answers: (Response | Error)[], options: Partial<ClientOptions> = {}) {
  const sent: Sent[] = []
  const waited: number[] = []
  const client = createClient({
    baseUrl: 'https://api.test/',
    token: (rejected) => Promise.resolve(rejected === undefined ? 'first' : 'second'),
    fetch: async (url, init) => {
      const token = (init.headers as Record<string, string>).authorization ?? ''
      sent.push({ method: init.method ?? '', url, token, body: init.body })
      const answer = answers.shift() ?? new Response(null, { status: 500 })
      if (answer instanceof Error) throw answer
      return answer
    },
    wait: async (milliseconds) => {
      waited.push(milliseconds)
    },
    ...options,
  })
  return { client, sent, waited }
}

const answer = (status: number, body: unknown = {}, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify(body), { status, headers })
const thrownBy = async (work: Promise<unknown>) => work.then(() => undefined).catch((error: unknown) => error)
const PATH = { boundaryId: 'b', resourceGroupName: 'g', name: 'n' }

describe('createClient', () => {
  it('fills in the path and sends the body of an operation', async () => {
    const { client, sent } = clientBefore([answer(201, { name: 'n' })])
    const made = await client.operations.CreateVectorCluster({ path: PATH, body: { replicas: 1 } })
    expect(made.name).to.equal('n')
    const url = 'https://api.test/boundaries/b/resourcegroups/g/resources/vectorclusters/n'
    expect(sent).to.deep.equal([{ method: 'POST', url, token: 'Bearer first', body: '{"replicas":1}' }])
  })

  it('streams a response, after a 401 with another token', async () => {
    const { client, sent } = clientBefore([answer(401), new Response('one\ntwo\n')])
    let text = ''
    for await (const part of client.stream({ method: 'GET', path: '/log' })) text += part
    expect(text).to.equal('one\ntwo\n')
    expect(sent.map(({ token }) => token)).to.deep.equal(['Bearer first', 'Bearer second'])
  })

  it('throws PlatformApiError for a rejected stream', async () => {
    const { client } = clientBefore([answer(404, { error: 'It was not found.', code: 'NOT_FOUND' })])
    const error = await thrownBy(client.stream({ method: 'GET', path: '/log' }).next())
    expect(error).to.be.instanceOf(PlatformApiError).and.to.include({ status: 404, code: 'NOT_FOUND' })
  })

  it('requests all pages of a list with the query', async () => {
    const page = (name: string, hasNextPage: boolean) => answer(200, { items: [{ name }], pagination: { hasNextPage } })
    const { client, sent } = clientBefore([page('a', true), page('b', false)])
    const path = { boundaryId: 'b' }
    const names = await Array.fromAsync(
      client.pages('ListAllVectorClusters', { path, query: { pageSize: 1 } }),
      (x) => x.name,
    )
    expect(names).to.deep.equal(['a', 'b'])
    expect(sent.map(({ url }) => url.split('?')[1])).to.deep.equal(['pageSize=1&page=1', 'pageSize=1&page=2'])
  })

  it('requests another token once after 401, and throws after a second 401', async () => {
    const good = clientBefore([answer(401), answer(200)])
    await good.client.request({ method: 'POST', path: '/x' })
    expect(good.sent.map(({ token }) => token)).to.deep.equal(['Bearer first', 'Bearer second'])
    const bad = clientBefore([answer(401), answer(401), answer(200)])
    expect(await thrownBy(bad.client.request({ method: 'GET', path: '/x' }))).to.include({ status: 401 })
    expect(bad.sent).to.have.lengthOf(2)
  })

  const retries: [string, string, Response[], number[], number][] = [
    [
      'waits for Retry-After before it retries',
      'GET',
      [answer(429, {}, { 'retry-after': '3' }), answer(200)],
      [3000],
      2,
    ],
    ['backs off if there is no Retry-After', 'PUT', [answer(503), answer(503), answer(200)], [250, 500], 3],
    ['does not retry a POST', 'POST', [answer(503, {}, { 'retry-after': '1' })], [], 1],
    ['does not wait for an hour', 'GET', [answer(429, {}, { 'retry-after': '3600' })], [], 1],
    ['does not retry a 404', 'GET', [answer(404)], [], 1],
    ['throws after four retries', 'DELETE', Array.from({ length: 9 }, () => answer(503)), [250, 500, 1000, 2000], 5],
  ]
  for (const [what, method, answers, pauses, requests] of retries) {
    it(what, async () => {
      const { client, sent, waited } = clientBefore(answers)
      await thrownBy(client.request({ method, path: '/x' }))
      expect(waited).to.deep.equal(pauses)
      expect(sent).to.have.lengthOf(requests)
    })
  }

  it('throws PlatformApiError for a response, and NetworkError without one', async () => {
    const body = { error: 'No.', code: 'FORBIDDEN', correlationId: 'c' }
    const broken = new TypeError('fetch failed', { cause: new Error('ECONNREFUSED') })
    const { client } = clientBefore([answer(403, body), broken, broken, broken])
    const refusal = await thrownBy(client.request({ method: 'GET', path: '/x' }))
    expect(refusal)
      .to.be.instanceOf(PlatformApiError)
      .and.to.include({ status: 403, code: 'FORBIDDEN', correlationId: 'c' })
    const silence = await thrownBy(client.request({ method: 'GET', path: '/x' }))
    expect(silence)
      .to.be.instanceOf(NetworkError)
      .and.to.have.property('message', 'No answer from https://api.test: ECONNREFUSED')
  })

  it('returns Retry-After in seconds, also for a date', async () => {
    const refused = async (value: string) => {
      const { client } = clientBefore([answer(503, {}, { 'retry-after': value })])
      return ((await thrownBy(client.request({ method: 'POST', path: '/x' }))) as PlatformApiError).retryAfter
    }
    expect(await refused('7')).to.equal(7)
    expect(await refused('soon')).to.equal(undefined)
    expect(await refused('Wed, 21 Oct 2015 07:28:00 GMT')).to.equal(0)
    expect(await refused('Fri, 31 Dec 2999 23:59:59 GMT')).to.be.greaterThan(60)
  })

  it('returns JSON as its value, null included, and other responses as text', async () => {
    const { client } = clientBefore([answer(200, null), new Response('plain')])
    expect(await client.operations.GetVectorCluster({ path: PATH })).to.equal(null)
    expect(await client.operations.GetVectorCluster({ path: PATH })).to.equal('plain')
  })

  it('names the code of an AggregateError in NetworkError', async () => {
    const each = Object.assign(new AggregateError([]), { code: 'ETIMEDOUT' })
    const broken = new TypeError('fetch failed', { cause: each })
    const { client } = clientBefore([broken, broken, broken])
    const silence = await thrownBy(client.request({ method: 'GET', path: '/x' }))
    expect(silence).to.have.property('message', 'No answer from https://api.test: ETIMEDOUT')
  })
})

describe('resource methods of the client', () => {
  const page = (names: string[], hasNextPage: boolean) =>
    answer(200, { items: names.map((name) => ({ name })), pagination: { hasNextPage } })

  it('send the request of their operation', async () => {
    const { client, sent } = clientBefore([answer(201, { name: 'n' })])
    expect((await client.vectorClusters.create({ path: PATH, body: {} })).name).to.equal('n')
    expect(sent[0]).to.include({ method: 'POST' })
  })

  it('return all pages or the first one, and request nothing before', async () => {
    const { client, sent } = clientBefore([page(['a'], true), page(['b'], false), page(['c'], true)])
    const list = () => client.vectorClusters.listInBoundary({ path: { boundaryId: 'b' } })
    const names: string[] = []
    for await (const { name } of list()) names.push(name)
    expect(names).to.deep.equal(['a', 'b'])
    expect((await list()).items).to.have.length(1)
    expect(sent).to.have.length(3)
  })

  it('retry a GET without a response, but not a POST', async () => {
    const broken = () => new TypeError('fetch failed')
    const { client, sent, waited } = clientBefore([broken(), answer(200, { id: 'x' }), broken()])
    await client.boundaries.get({ path: { boundaryId: 'x' } })
    expect(waited).to.deep.equal([250])
    const failure = await thrownBy(client.boundaries.create({ body: { displayName: 'x' } }))
    expect(failure).to.be.instanceOf(NetworkError)
    expect(sent).to.have.length(3)
  })
})

describe('waitUntil and waitUntilGone', () => {
  const reader = (...statuses: string[]) => {
    const left = [...statuses]
    return async () => ({ status: left.shift() ?? 'Running', statusMessage: 'Because.' })
  }

  it('resolve when the record is settled or isDone returns true', async () => {
    expect((await waitUntil(reader('Pending', 'Provisioning', 'Running'), { interval: 1 })).status).to.equal('Running')
    const isDone = ({ status }: { status?: unknown }) => status === 'Degraded'
    expect((await waitUntil(reader('Running', 'Degraded'), { interval: 1, isDone })).status).to.equal('Degraded')
  })

  it('resolve on 404, and reject on 403 or at the timeout', async () => {
    const answers = (status: number) => {
      let left = 2
      return async () => {
        left -= 1
        if (left < 0) throw new PlatformApiError(status, new Headers(), '{}')
      }
    }
    await waitUntilGone(answers(404), { interval: 1 })
    expect(await thrownBy(waitUntilGone(answers(403), { interval: 1 }))).to.include({ status: 403 })
    expect(await thrownBy(waitUntilGone(answers(404), { timeout: 0 }))).to.include({ reason: 'Timeout' })
  })

  it('reject for a failed record, and at the timeout with its message', async () => {
    for (const status of ['Failed', 'PartiallyFailed', 'TimedOut', 'Cancelled'])
      expect(await thrownBy(waitUntil(reader(status), { timeout: 0 })), status).to.include({ reason: 'Failed' })
    const late = (await thrownBy(waitUntil(reader('Pending'), { timeout: 0 }))) as WaitError
    expect(late.reason).to.equal('Timeout')
    expect(late.message).to.contain('Because.')
  })

  const ends: [what: string, states: readonly string[], isOver: (state: never) => boolean, field?: string][] = [
    ['a job', JOB_STATES, isJobFinished],
    ['a blueprint execution', EXECUTION_STATES, isExecutionOver],
    ['a deployment', DEPLOYMENT_PHASES, isFinalPhase, 'phase'],
    ['a retention run', RUN_STATES, isRunOver],
    ['a rollout', ROLLOUT_STATES, isRolloutOver, 'state'],
  ]
  for (const [what, states, isOver, field = 'status'] of ends)
    it(`end at every final state of ${what}`, async () => {
      const final = states.filter((one) => isOver(one as never))
      expect(final).to.include('Succeeded')
      for (const state of final) {
        const waited = waitUntil(async () => ({ [field]: state }), { timeout: 0 })
        const failed = await waited.then(
          () => undefined,
          (error: WaitError) => error.reason,
        )
        expect(failed, state).to.equal(state === 'Succeeded' ? undefined : 'Failed')
      }
    })

  it('reject when the signal is aborted', async () => {
    const signal = AbortSignal.abort(new Error('enough'))
    expect(await thrownBy(waitUntil(reader('Pending'), { signal }))).to.have.property('message', 'enough')
  })
})
