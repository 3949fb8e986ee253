import { once } from 'node:events'
import { expect } from 'chai'
import { until } from '../../../test/make/until.ts'
import { BOUNDARY as B, OWNER, startShop } from '../../../test/worlds/shop.ts'
import { fakeBlobs } from '../../adapters/blobs/fake.ts'
import { localActivatorClient } from '../../adapters/calls/localActivator.ts'
import { TEST_CALL_FAILURES, type TestAnswer, type TestCall, type TestCallFailure } from '../../contracts/testCalls.ts'
import { groupNamespace } from '../../core/names.ts'
import { refOf } from '../../core/object.ts'
import { FunctionNamespace, ServerlessFunction } from '../../crds/functions.ts'
import { RoleAssignment } from '../../crds/rbac.ts'
import { documentOf } from '../http/openapi.ts'
import { SERVED_ROUTES } from '../index.ts'

const SHOP = groupNamespace(B, 'shop')
const GROUP = `/boundaries/${B}/resourcegroups/shop`
const PATH = `${GROUP}/resources/functionnamespaces/home/functions/hello/invoke`
const [READER, STRANGER] = ['33333333-3333-4333-8333-333333333333', '44444444-4444-4444-8444-444444444444']
const IMAGE = 'docker.io/library/hello:1'

const base64 = (text: string) => Buffer.from(text).toString('base64')
const HEARD = {
  statusCode: 200,
  headers: { 'content-type': 'text/plain' },
  isColdStart: true,
  durationMilliseconds: 3.5,
}

type Headers = { properties: { headers: { anyOf: [{ maxProperties?: number }] } } }
type Document = { components: { schemas: { InvokeFunctionRequest: Headers } } }

describe('POST /functions/{name}/invoke', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  let made: TestCall[]
  let answer: TestAnswer | undefined
  /** Whether the function does not answer until the call is aborted. */
  let isEndless = false

  beforeEach(async () => {
    made = []
    isEndless = false
    answer = { ...HEARD, body: base64('Hello'), isTruncated: false }
    const calls = {
      ...localActivatorClient(() => undefined),
      async call(...[namespace, name, call, signal]: [string, string, TestCall, AbortSignal]) {
        expect([namespace, name]).to.deep.equal([SHOP, 'home.hello'])
        made.push(call)
        if (isEndless) await once(signal, 'abort')
        return answer
      },
    }
    server = await startShop({}, { functions: { blobs: fakeBlobs(), calls } })
    server.put(FunctionNamespace, 'home', { runtime: 'nodejs' }, SHOP)
    await put({}, { image: IMAGE })
  })
  afterEach(() => server.stop())

  const put = async (spec: object, status: object) => {
    const { resource } = ServerlessFunction
    const whole = { namespaceName: 'home', functionName: 'hello', handler: 'index', ...spec }
    server.put(ServerlessFunction, 'home.hello', whole, SHOP)
    const ref = { namespace: SHOP, name: 'home.hello' }
    const seen = await server.client.mergePatch(resource, ref, { status }, { subresource: 'status' })
    server.caches.get(resource).observeWrite(seen)
  }
  const invoke = (body?: object, as = OWNER) => server.ask('post', PATH, as).send(body)

  it('sends a GET to the first trigger path by default', async () => {
    const { status, body, headers } = await invoke()
    expect([status, body]).to.deep.equal([200, { ...HEARD, body: 'Hello', encoding: 'Utf8', isTruncated: false }])
    expect(headers['cache-control']).to.equal('no-store')
    expect(made).to.deep.equal([
      {
        ...{ boundaryId: B, method: 'GET', path: '/hello', body: '' },
        headers: { host: 'function', 'x-function-event': 'invoke' },
      },
    ])
  })

  it('aborts the call with 403 if the caller loses the right to make it', async () => {
    isEndless = true
    answer = undefined
    const pending = invoke().then((answered) => answered)
    await until('the call is made', () => made.length === 1)
    const { items } = await server.client.list(RoleAssignment.resource)
    for (const assignment of items) await server.client.remove(RoleAssignment.resource, refOf(assignment))
    const { status, body } = await pending
    expect([status, body.code]).to.be.deep.equal([403, 'FORBIDDEN'])
  })

  it('sends method, path, headers and body of the request without the credentials of the caller', async () => {
    await invoke({ path: '/a?b=%2F', headers: { 'X-Own': '1', authorization: 'Bearer own' }, body: 'é' })
    await invoke({ method: 'PUT', path: '/', body: base64('é'), encoding: 'Base64' })
    const own = { host: 'function', 'x-function-event': 'invoke' }
    expect(made).to.deep.equal([
      {
        boundaryId: B,
        method: 'POST',
        path: '/a?b=%2F',
        headers: { 'X-Own': '1', authorization: 'Bearer own', ...own },
        body: base64('é'),
      },
      { boundaryId: B, method: 'PUT', path: '/', headers: own, body: base64('é') },
    ])
  })

  it('returns a body that is not UTF-8 as Base64, and drops a truncated character', async () => {
    const shown = async (bytes: Buffer, isTruncated: boolean) => {
      answer = { ...HEARD, body: bytes.toString('base64'), isTruncated }
      const { body } = await invoke()
      return [body.body, body.encoding, body.isTruncated]
    }
    const half = Buffer.from('aé').subarray(0, 2)
    expect(await shown(half, true)).to.deep.equal(['a', 'Utf8', true])
    expect(await shown(half, false)).to.deep.equal([half.toString('base64'), 'Base64', false])
    expect(await shown(Buffer.from([0xff, 0xfe]), true)).to.deep.equal(['//4=', 'Base64', true])
  })

  it('returns 403 to callers who may not write the function', async () => {
    server.grant(READER, 'Reader', GROUP)
    const answers = await Promise.all([READER, STRANGER].map((caller) => invoke({}, caller)))
    expect(answers.map(({ status, body }) => [status, body.code])).to.deep.equal([
      [403, 'FORBIDDEN'],
      [403, 'FORBIDDEN'],
    ])
    expect(made).to.deep.equal([])
  })

  const refused: [why: string, body: object][] = [
    ['a path that is a URL', { path: 'http://169.254.169.254/' }],
    ['a path without a leading slash', { path: 'hello' }],
    ['a path with a line break', { path: '/a\r\nx: y' }],
    ['a path that starts with two slashes', { path: '//other.example/x' }],
    ['a path with a backslash', { path: '/\\other.example/x' }],
    ['a path with ".."', { path: '/hello/../other' }],
    ['a path with an encoded ".."', { path: '/hello/%2e%2e/other?a' }],
    ['two headers whose names differ only in case', { headers: { 'X-Own': '1', 'x-own': '2' } }],
    ['a path with a fragment', { path: '/a#b' }],
    ['a Host header', { headers: { Host: 'other' } }],
    ['an X-Function-Event header', { headers: { 'X-Function-Event': 'timer' } }],
    ['an X-Function-Key header', { headers: { 'x-function-key': 'a' } }],
    ['a Content-Length header', { headers: { 'content-length': '5' } }],
    ['a Transfer-Encoding header', { headers: { 'Transfer-Encoding': 'chunked' } }],
    ['an X-Forwarded-For header', { headers: { 'x-forwarded-for': '10.0.0.1' } }],
    ['the header of a timer with underscores', { headers: { x_function_event: 'timer' } }],
    ['a header value with a line break', { headers: { a: 'b\r\nc: d' } }],
    ['an invalid header name', { headers: { 'a b': 'c' } }],
    ['33 headers', { headers: Object.fromEntries(Array.from({ length: 33 }, (_, at) => [`a${at}`, ''])) }],
    ['an unsupported method', { method: 'CONNECT' }],
    ['a GET with a body', { method: 'GET', body: 'a' }],
    ['an invalid Base64 body', { body: '%', encoding: 'Base64' }],
    ['a body of 256 KiB', { body: 'x'.repeat(256 * 1024) }],
    ['a field url', { url: 'http://10.0.0.1/' }],
  ]
  for (const [why, body] of refused)
    it(`rejects ${why} before the call`, async () => {
      expect((await invoke(body)).status).to.equal(400)
      expect(made).to.deep.equal([])
    })

  it('returns one reason for an invalid path', async () => {
    const reasons = async (path: string) => (await invoke({ path })).body.errors.map(({ message }: Error) => message)
    expect(await reasons('hello')).to.have.lengthOf(1)
    expect(await reasons('/a//b')).to.deep.equal(['is not plain: leave out "." and ".." and empty parts'])
    expect((await invoke({ path: '/a?b=//c/../d' })).status).to.equal(200)
  })

  it('accepts 32 headers, as the OpenAPI schema says', async () => {
    const { InvokeFunctionRequest: schema } = (documentOf('all', SERVED_ROUTES) as Document).components.schemas
    const { maxProperties = 0 } = schema.properties.headers.anyOf[0]
    expect(maxProperties).to.equal(32)
    const named = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`a${at}`, '']))
    expect((await invoke({ headers: named(maxProperties) })).status).to.equal(200)
    expect((await invoke({ headers: named(maxProperties + 1) })).status).to.equal(400)
  })

  const states: [state: string, spec: object, status: object, says: RegExp][] = [
    ['is disabled', { enabled: false }, { image: IMAGE }, /is disabled: enable it first/],
    ['has no source', {}, {}, /has no source yet/],
    ['is being built', {}, { buildStatus: 'Building' }, /is not built yet/],
    ['could not be built', {}, { buildStatus: 'Failed' }, /could not be built/],
  ]
  for (const [state, spec, status, message] of states)
    it(`returns 409 at once if the function ${state}`, async () => {
      await put(spec, status)
      const { status: code, body } = await invoke()
      expect([code, body.code]).to.deep.equal([409, 'INVALID_STATE'])
      expect(body.error).to.match(message)
      expect(made).to.deep.equal([])
    })

  const failed = (reason: string, serving = false, type = 'Stalled') => ({
    ...{ image: IMAGE, serving },
    conditions: [
      { type: 'Ready', status: 'False', reason, message: 'Why it is so.' },
      ...(type === 'Stalled' ? [{ type, status: 'True', reason, message: 'Why it is so.' }] : []),
    ],
  })
  for (const reason of ['PlanNotFound', 'QuotaExceeded', 'ReferenceMissing', 'ConfigurationInvalid'])
    it(`returns 409 at once if no copy can start: ${reason}`, async () => {
      await put({}, failed(reason))
      const { status, body } = await invoke()
      expect([status, body.code, body.phase, body.status]).to.deep.equal([409, 'INVALID_STATE', reason, 'Failed'])
      expect(body.error).to.equal('Function "hello" has no copy, and cannot start one: Why it is so.')
      expect(made).to.deep.equal([])
    })
  it('returns 409 at once if the image cannot be pulled', async () => {
    await put({}, failed('ImagePullFailed', false, 'Ready'))
    expect((await invoke()).body).to.include({ code: 'INVALID_STATE', phase: 'ImagePullFailed' })
  })
  it('makes the call if an earlier copy still serves or a crashing one restarts', async () => {
    await put({}, failed('PlanNotFound', true))
    expect((await invoke()).status).to.equal(200)
    await put({}, failed('CrashLooping', false, 'Ready'))
    expect((await invoke()).status).to.equal(200)
  })
  it('makes the call if the quota refuses only further copies', async () => {
    await put({}, { ...failed('QuotaExceeded'), firstReadyAt: '2026-01-01T00:00:00Z' })
    expect((await invoke()).status).to.equal(200)
  })
  it('returns the reason if no copy accepts the call within 30 seconds', async () => {
    await put({}, failed('CrashLooping', false, 'Ready'))
    answer = { refused: 'NoCopy' }
    expect((await invoke()).body.error).to.equal(
      'No copy of function "hello" had room for the call within 30 seconds: Why it is so.',
    )
  })

  it('returns 409 at once if the namespace is stopped', async () => {
    server.put(FunctionNamespace, 'home', { runtime: 'nodejs', running: false }, SHOP)
    const { status, body } = await invoke()
    expect([status, body.code]).to.deep.equal([409, 'INVALID_STATE'])
    expect(body.error).to.match(/namespace "home" is stopped: start it first/)
    expect(made).to.deep.equal([])
  })

  it('calls the earlier image while a new source is built or after its build failed', async () => {
    for (const buildStatus of ['Building', 'Failed']) {
      await put({}, { image: IMAGE, buildStatus })
      expect((await invoke()).status).to.equal(200)
    }
  })

  it('returns 404 for a missing function', async () => {
    expect((await server.ask('post', PATH.replace('hello', 'nobody'))).status).to.equal(404)
  })

  const EXPECTED: Record<TestCallFailure | 'nobody', [number, string]> = {
    Gone: [503, 'SERVICE_UNAVAILABLE'],
    Disabled: [409, 'INVALID_STATE'],
    Full: [429, 'TOO_MANY_REQUESTS'],
    NoCopy: [502, 'UPSTREAM_FAILED'],
    TooSlow: [502, 'UPSTREAM_FAILED'],
    Broken: [502, 'UPSTREAM_FAILED'],
    Simulated: [503, 'SERVICE_UNAVAILABLE'],
    nobody: [503, 'SERVICE_UNAVAILABLE'],
  }
  for (const why of [...TEST_CALL_FAILURES, 'nobody'] as const)
    it(`returns the error code of a failed call: ${why}`, async () => {
      answer = why === 'nobody' ? undefined : { refused: why }
      const { status, body } = await invoke()
      expect([status, body.code], JSON.stringify(body)).to.deep.equal(EXPECTED[why])
    })
})
