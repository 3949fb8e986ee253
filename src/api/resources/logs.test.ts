import { expect } from 'chai'
import { PATIENCE, until } from '../../../test/make/until.ts'
import { bearer, startFacade } from '../../../test/worlds/facadeServer.ts'
import { FakePodLogs } from '../../adapters/podlogs/fake.ts'
import { followedPodLogs } from '../../adapters/podlogs/followed.ts'
import { systemClock } from '../../core/clock.ts'
import { PlatformError } from '../../core/errors.ts'
import { refOf } from '../../core/object.ts'
import { RoleAssignment } from '../../crds/rbac.ts'
import type { TokenVerifier } from '../callers/tokens.ts'
import { area, dataAction } from '../http/route.ts'
import { LOG_STREAM_LIMITS } from '../http/streams/followers.ts'
import { containersOf, logRoute } from './logs.ts'

const BERT = '22222222-2222-4222-8222-222222222222'
const [ANNA, B] = ['11111111-1111-4111-8111-111111111111', '6f1c3a52-0f0e-4d67-9b2e-3c1f2f8f7a1b']
const GROUP = `/boundaries/${B}/resourcegroups/orders`
const PATH = `${GROUP}/resources/apps/shop`
const pod = (name: string, ...containers: string[]) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'n', name },
  spec: { containers: containers.map((container) => ({ name: container })) },
})
const PODS = [pod('one', 'web', 'log'), pod('two', 'web')]
const source = (name: string, container = 'web') => ({ namespace: 'n', pod: name, container })
const at = (second: number, text: string) => `2026-01-02T03:04:0${second}.000000000Z ${text}\n`

describe('logRoute', () => {
  let logs: FakePodLogs
  let world: Awaited<ReturnType<typeof startFacade>>
  let url: string
  let isTokenGood: boolean
  /** Milliseconds since the API server was last heard, and since all streams were opened. */
  let [age, elapsed] = [0, 0]
  let isDecidable: boolean
  let tokens: Pick<TokenVerifier, 'verify'>
  beforeEach(async () => {
    logs = new FakePodLogs()
    isTokenGood = true
    isDecidable = true
    age = 0
    elapsed = 0
    const clock = {
      ...systemClock,
      monotonic: () => systemClock.monotonic() + elapsed,
      setTimeout: (task: () => void, wait: number) => systemClock.setTimeout(task, wait / 100),
    }
    const find = (_context: unknown, request: { process?: string | undefined }) => ({
      sources: containersOf(PODS, request),
      kept: { name: 'kept', open: () => chunks(at(1, 'kept')) },
    })
    const routes = area('apps', 'platform', [logRoute('{RG}/apps/{appName}', dataAction('apps/readLogs'), find)]).routes
    tokens = {
      verify: async (header: string | undefined) => {
        if (!isDecidable) throw new PlatformError('SERVICE_UNAVAILABLE', 'The identity provider does not answer.')
        if (!isTokenGood) throw new PlatformError('UNAUTHORIZED', 'The token has expired.')
        const principalId = (header ?? '').slice('Bearer '.length)
        return { principalId, principalType: 'User' as const, expiresAt: Number.POSITIVE_INFINITY }
      },
    }
    const podLogs = followedPodLogs(logs, { clock, isAlive: () => true })
    world = await startFacade(
      {
        ...{ routes, tokens, limits: { answerBytesPerSecond: 100_000 } },
        staleness: { age: () => age, bound: 60_000 },
      },
      { podLogs, clock },
    )
    world.boundary(B)
    world.group(B, 'orders')
    world.grant(ANNA, 'Contributor', GROUP)
    url = `http://127.0.0.1:${(await world.facade.listen(0, '127.0.0.1')).port}${PATH}/logs`
  })
  afterEach(() => world.stop())

  async function* chunks(text: string) {
    yield Buffer.from(text)
  }
  const ask = (query = '', headers: Record<string, string> = {}, signal?: AbortSignal) =>
    fetch(`${url}?${query}`, { headers: { authorization: bearer(ANNA), ...headers }, ...(signal && { signal }) })
  const text = async (query = '') => (await ask(query)).text()
  const writeAll = () => {
    logs.write(source('one'), at(1, 'a1') + at(4, 'a4'))
    logs.write(source('one', 'log'), at(3, 'l3'))
    logs.write(source('two'), at(2, 'b2'))
  }

  it('merges the logs of all containers, oldest line first', async () => {
    writeAll()
    expect(await text()).to.equal('a1\nb2\nl3\na4\n')
    expect(await text('tail=2')).to.equal('l3\na4\n')
    expect(await text('tail=1&timestamps=true')).to.equal(at(4, 'a4'))
    expect(await text('process=web')).to.equal('a1\nb2\na4\n')
    expect(await text('sinceSeconds=1')).to.equal('')
  })

  it('returns JSON with source and truncated with Accept: application/json', async () => {
    writeAll()
    const answer = await ask('tail=3', { accept: 'application/json' })
    const line = (second: number, name: string, text: string) => ({
      timestamp: `2026-01-02T03:04:0${second}.000000000Z`,
      source: name,
      text,
    })
    expect(await answer.json()).to.deep.equal({
      lines: [line(2, 'two/web', 'b2'), line(3, 'one/log', 'l3'), line(4, 'one/web', 'a4')],
      truncated: true,
    })
    const all = (await (await ask('', { accept: 'application/json' })).json()) as { truncated: boolean }
    expect(all.truncated).to.equal(false)
  })

  it('returns the stored log if no container has one', async () => expect(await text()).to.equal('kept\n'))

  it('returns the log of previous containers with previous=true, 404 without any', async () => {
    writeAll()
    expect((await ask('previous=true')).status).to.equal(404)
    logs.end(source('two'))
    logs.write(source('two'), at(5, 'b5'))
    expect(await text('previous=true')).to.equal('b2\n')
  })

  it('returns 400 for an unknown process', async () => {
    const answer = await ask('process=none')
    const { code, error, parameter } = (await answer.json()) as Record<string, string>
    expect([answer.status, code, error, parameter]).to.deep.equal([
      400,
      'BAD_REQUEST',
      'There is no process "none", only web, log.',
      'process',
    ])
  })

  it('returns 400 for follow=true with JSON', async () => {
    const answer = await ask('follow=true', { accept: 'application/json' })
    expect([answer.status, ((await answer.json()) as { parameter: string }).parameter]).to.deep.equal([400, 'follow'])
  })

  /** Follows the log and collects its text. */
  const follow = async (query = '', signal?: AbortSignal) => {
    const answer = await ask(`follow=true&${query}`, {}, signal)
    const seen = { text: '', hasEnded: false }
    const read = async () => {
      for await (const chunk of answer.body ?? []) seen.text += Buffer.from(chunk).toString()
      seen.hasEnded = true
    }
    read().catch(() => {})
    return { answer, seen }
  }
  const shows = (seen: { text: string }, expected: string) =>
    until(`${expected} is there`, () => seen.text.length >= expected.length).then(() =>
      expect(seen.text).to.equal(expected),
    )

  it('follows: sends the tail, merged, then new lines', async () => {
    writeAll()
    const { answer, seen } = await follow('tail=2')
    expect(answer.headers.get('content-type')).to.equal('text/plain; charset=utf-8')
    await shows(seen, 'l3\na4\n')
    logs.write(source('two'), at(5, 'b5'))
    await shows(seen, 'l3\na4\nb5\n')
    logs.write(source('one'), at(6, 'a6'))
    await shows(seen, 'l3\na4\nb5\na6\n')
  })

  it('answers a follower before the first line is written', async () => {
    const { answer, seen } = await follow()
    expect(answer.status).to.equal(200)
    logs.write(source('one'), at(1, 'a1'))
    await shows(seen, 'a1\n')
  })

  it('stops following the containers when the client disconnects', async () => {
    writeAll()
    const stop = new AbortController()
    const { seen } = await follow('', stop.signal)
    await shows(seen, 'a1\nb2\nl3\na4\n')
    await until('it is followed', () => logs.following === 3)
    stop.abort()
    await until('nobody follows', () => logs.following === 0)
  })

  it('follows no container for HEAD', async () => {
    writeAll()
    const signal = AbortSignal.timeout(PATIENCE)
    const headers = { authorization: bearer(ANNA) }
    const answer = await fetch(`${url}?follow=true`, { method: 'HEAD', headers, signal })
    expect([answer.status, await answer.text()]).to.deep.equal([200, ''])
    await until('nobody follows', () => logs.following === 0)
  })

  it('returns 429 above LOG_STREAM_LIMITS.ofPrincipal followers of one caller, not for others', async () => {
    writeAll()
    world.grant(BERT, 'Contributor', GROUP)
    const stops = Array.from({ length: LOG_STREAM_LIMITS.ofPrincipal }, () => new AbortController())
    for (const stop of stops) expect((await follow('', stop.signal)).answer.status).to.equal(200)
    const refused = await ask('follow=true')
    expect([refused.status, await refused.text()].join()).to.match(/^429.*You follow 100 logs/)
    expect((await ask('follow=true', { authorization: bearer(BERT) }, stops[1]?.signal)).status).to.equal(200)
    stops[0]?.abort()
    await until('one place is free', async () => {
      const answer = await ask('follow=true', {}, stops[1]?.signal)
      return answer.status === 200
    })
    for (const stop of stops) stop.abort()
    await until('nobody follows', () => logs.following === 0)
  })

  it('begins with at most as many bytes as are buffered for a follower', async () => {
    logs.write(source('one'), Array.from({ length: 9 }, (_, n) => at(n, `${n}${'x'.repeat(64_000)}`)).join(''))
    const stop = new AbortController()
    const { seen } = await follow('tail=9', stop.signal)
    await until('the last line is there', () => /^8x+\n$/m.test(seen.text))
    expect(seen.text.match(/^\d/gm)?.join('')).to.equal('5678')
    stop.abort()
  })

  it('counts as a long answer for the rate limit', async () => {
    logs.write(source('one'), Array.from({ length: 9 }, (_, n) => at(n, 'x'.repeat(60_000))).join(''))
    const statuses: number[] = []
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const answer = await ask('tail=9')
      statuses.push(answer.status)
      await answer.text()
    }
    expect(statuses).to.deep.equal([200, 200, 429])
  })

  it('ends for a follower whose role assignment is removed', async () => {
    writeAll()
    const { seen } = await follow()
    await shows(seen, 'a1\nb2\nl3\na4\n')
    const { items } = await world.client.list(RoleAssignment.resource)
    for (const assignment of items) await world.client.remove(RoleAssignment.resource, refOf(assignment))
    await until('the answer has ended', () => seen.hasEnded)
    expect(seen.text).to.match(/^a1\nb2\nl3\na4\nThis log is no longer followed: .*apps\/readLogs.*\n$/)
    await until('nobody follows', () => logs.following === 0)
  })

  for (const [sentence, lost] of [
    ['the API server has not been heard for a minute', { age: 60_001, isDecidable: true, elapsed: 0 }],
    ['nobody could say for a minute who they are', { age: 0, isDecidable: false, elapsed: 60_001 }],
  ] as const)
    it(`ends, and says why, once ${sentence}`, async () => {
      writeAll()
      const { seen } = await follow()
      await shows(seen, 'a1\nb2\nl3\na4\n')
      age = lost.age
      isDecidable = lost.isDecidable
      elapsed = lost.elapsed
      await until('the answer has ended', () => seen.hasEnded)
      expect(seen.text).to.match(/^a1\nb2\nl3\na4\n.*could not check for 60 s whether you may still read this\.\n$/)
      await until('nobody follows', () => logs.following === 0)
    })

  it('goes on for less than a minute in which nothing can be checked', async () => {
    writeAll()
    const { seen } = await follow()
    await shows(seen, 'a1\nb2\nl3\na4\n')
    let checks = 0
    isDecidable = false
    elapsed = 50_000
    const { verify } = tokens
    tokens.verify = (header) => {
      checks += 1
      return verify(header)
    }
    await until('it was checked twice', () => checks >= 2)
    isDecidable = true
    await until('it was checked again', () => checks >= 4)
    isDecidable = false
    elapsed += 50_000
    await until('it was checked twice more', () => checks >= 6)
    logs.write(source('two'), at(5, 'b5'))
    await shows(seen, 'a1\nb2\nl3\na4\nb5\n')
  })

  it('ends for a follower whose token has expired', async () => {
    writeAll()
    const { seen } = await follow()
    await shows(seen, 'a1\nb2\nl3\na4\n')
    isTokenGood = false
    await until('the answer has ended', () => seen.hasEnded)
  })
})
