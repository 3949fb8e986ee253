import type { RequestListener } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { callsCounted, connectTo, startActivator } from '../../test/worlds/activatorWorld.ts'
import { CONCURRENT_TEST_CALLS_MAX, MAX_ANSWER_BODY_BYTES, type TestAnswer } from '../contracts/testCalls.ts'
import { systemClock } from '../core/clock.ts'
import { silentLog } from '../core/log.ts'
import type { ServerlessFunction } from '../crds/functions.ts'
import { createTestCaller } from './testCalls.ts'

const KEY = 'group/shop.hello'
const CALL = { boundaryId: 'one', method: 'GET', path: '/hello?a=%20b', headers: { host: 'shop.test' }, body: '' }
const never = new AbortController().signal

describe('test calls', () => {
  const ends: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const end of ends.splice(0)) await end()
  })

  type Given = { isSimulated?: boolean; clusterId?: string; spec?: Partial<ServerlessFunction['spec']> }
  async function world(listener: RequestListener, { isSimulated = false, clusterId, spec = {} }: Given = {}) {
    const activator = await startActivator(listener, { startMilliseconds: 1, ...(clusterId && { clusterId }) })
    ends.push(() => activator.stop())
    activator.put('hello', { spec })
    const { switchboard, figures } = activator
    const options = {
      switchboard,
      statistics: figures,
      reach: connectTo,
      clock: systemClock,
      log: silentLog,
      isSimulated,
    }
    return { activator, call: createTestCaller(options), counted: () => callsCounted(figures, KEY) }
  }
  const shown = (answer: TestAnswer) => {
    if ('refused' in answer) return answer
    const { durationMilliseconds: _, body, ...rest } = answer
    return { ...rest, body: Buffer.from(body, 'base64').toString() }
  }

  for (const [where, clusterId] of [
    ['this cluster', ''],
    ['another cluster', '4a7f8a52-7a4e-4b52-9a55-0d6c8f3f9b77'],
  ])
    it(`wake a function in ${where} and return its response without cookies and hop-by-hop headers`, async () => {
      const seen: unknown[] = []
      const { call, counted } = await world(
        async (request, response) => {
          const { method, url, headers } = request
          seen.push([method, url, headers.host, headers['x-function-event'], await text(request)])
          response.writeHead(418, { 'x-own': ['1', '2'], 'set-cookie': 'session=1', 'keep-alive': 'timeout=9' })
          response.end('tea')
        },
        { clusterId: clusterId ?? '' },
      )
      const body = Buffer.from('pot').toString('base64')
      const headers = { ...CALL.headers, 'x-function-event': 'invoke' }
      const answer = shown(await call(KEY, { ...CALL, method: 'DELETE', headers, body }, never))
      expect(seen).to.deep.equal([['DELETE', CALL.path, 'shop.test', 'invoke', 'pot']])
      expect(answer).to.deep.include({ statusCode: 418, body: 'tea', isTruncated: false, isColdStart: true })
      const { headers: told } = answer as { headers: object }
      expect(told).to.include({ 'x-own': '1, 2' })
      expect(told).to.not.have.any.keys('set-cookie', 'keep-alive', 'connection')
      expect(counted()).to.deep.equal({ invocations: 1, errors: 0, coldStarts: 1 })
    })

  it('do not follow redirects', async () => {
    let calls = 0
    const { call } = await world((_request, response) => {
      calls += 1
      response.writeHead(302, { location: 'http://169.254.169.254/' }).end()
    })
    expect(shown(await call(KEY, CALL, never))).to.deep.include({ statusCode: 302 })
    expect(calls).to.equal(1)
  })

  it('return the first part of a response that is too long', async () => {
    const { call } = await world((_request, response) => {
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536, 'x')));
      }
      response.on('drain', more)
      more()
    })
    const answer = await call(KEY, CALL, never)
    expect(shown(answer)).to.deep.include({ isTruncated: true, body: 'x'.repeat(MAX_ANSWER_BODY_BYTES) })
  })

  const broken: [string, RequestListener, TestAnswer][] = [
    ['closes the connection', (request) => void request.socket.destroy(), { refused: 'Broken' }],
    [
      'closes the connection during its response',
      (request, response) => {
        response.writeHead(200, { 'content-length': 9 })
        response.write('a', () => request.socket.destroy())
      },
      { refused: 'Broken' },
    ],
    [
      'answers with an invalid status',
      (_request, response) => void response.socket?.end('HTTP/1.1 700 X\r\n\r\n'),
      { refused: 'Broken' },
    ],
    [
      'switches protocols',
      (_request, response) =>
        void response.socket?.write('HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
      { refused: 'Broken' },
    ],
    ['does not answer', () => {}, { refused: 'TooSlow' }],
    ['does not end its response', (_request, response) => void response.write('a'), { refused: 'TooSlow' }],
  ]
  for (const [what, listener, answer] of broken)
    it(`are refused and counted as an error if the function ${what}`, async () => {
      const { call, counted } = await world(listener, { spec: { timeoutSeconds: 1 } })
      expect(await call(KEY, CALL, never)).to.deep.equal(answer)
      expect(counted()?.errors).to.equal(1)
    })

  it('are refused for a disabled or missing function, with simulated pods and without copies', async () => {
    const off = await world(() => {}, { spec: { enabled: false } })
    expect(await off.call(KEY, CALL, never)).to.deep.equal({ refused: 'Disabled' })
    expect(await off.call('group/shop.nobody', CALL, never)).to.deep.equal({ refused: 'Gone' })
    const played = await world(() => {}, { isSimulated: true })
    expect(await played.call(KEY, CALL, never)).to.deep.equal({ refused: 'Simulated' })
    const busy = await world(() => {}, { spec: { timeoutSeconds: 1, maxReplicas: 0 } })
    expect(await busy.call(KEY, CALL, never)).to.deep.equal({ refused: 'NoCopy' })
  })

  it('end and are not counted when the caller disconnects', async () => {
    const caller = new AbortController()
    const { call, counted } = await world(() => caller.abort())
    expect(await call(KEY, CALL, caller.signal)).to.deep.equal({ refused: 'Broken' })
    expect(counted()).to.equal(undefined)
  })

  it('of one boundary use at most half of the places, in all of its groups', async () => {
    const caller = new AbortController()
    const { call } = await world(() => {})
    const waiting = Array.from({ length: CONCURRENT_TEST_CALLS_MAX / 2 }, () => call(KEY, CALL, caller.signal))
    expect(await call(KEY, CALL, never)).to.deep.equal({ refused: 'Full' })
    expect(await call('other/shop.hello', CALL, never)).to.deep.equal({ refused: 'Full' })
    expect(await call('other/shop.hello', { ...CALL, boundaryId: 'other' }, never)).to.deep.equal({ refused: 'Gone' })
    caller.abort()
    await Promise.all(waiting)
    const gone = new AbortController()
    gone.abort()
    expect(await call(KEY, CALL, gone.signal)).to.not.deep.equal({ refused: 'Full' })
  })
})
