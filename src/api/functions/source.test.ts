import { expect } from 'chai'
import { request } from '../../../test/make/request.ts'
import { until } from '../../../test/make/until.ts'
import { postedAtOnce } from '../../../test/worlds/atOnce.ts'
import { bearer } from '../../../test/worlds/facadeServer.ts'
import { BOUNDARY as B, OWNER, startShop } from '../../../test/worlds/shop.ts'
import { fakeBlobs } from '../../adapters/blobs/fake.ts'
import type { BlobRef, BlobStore } from '../../adapters/blobs/port.ts'
import { localActivatorClient } from '../../adapters/calls/localActivator.ts'
import { FUNCTION_RUNTIME_NAMES, FUNCTION_RUNTIMES, functionObjectName } from '../../contracts/functions.ts'
import { groupNamespace } from '../../core/names.ts'
import { FunctionNamespace, ServerlessFunction } from '../../crds/functions.ts'

const NAMESPACE = groupNamespace(B, 'shop')
const PATH = `/boundaries/${B}/resourcegroups/shop/resources/functionnamespaces/calls/functions/hello`
const FILES = [{ path: 'index.mjs', content: "export default () => new Response('Hello')" }]

describe('sources of functions over REST', () => {
  const ref = { namespace: NAMESPACE, name: functionObjectName('calls', 'hello') }
  let server: Awaited<ReturnType<typeof startShop>>
  let store: BlobStore
  let written: BlobRef[]
  let meanwhile: () => Promise<unknown>

  beforeEach(async () => {
    store = fakeBlobs()
    written = []
    meanwhile = async () => undefined
    const blobs: BlobStore = {
      ...store,
      async write(...given) {
        written.push(given[0])
        const isNew = await store.write(...given)
        await meanwhile()
        return isNew
      },
    }
    server = await startShop({}, { functions: { blobs, calls: localActivatorClient(() => undefined) } })
    server.put(FunctionNamespace, 'calls', { runtime: 'nodejs' }, NAMESPACE)
    const spec = { namespaceName: 'calls', functionName: 'hello', handler: 'index' }
    server.put(ServerlessFunction, ref.name, spec, NAMESPACE)
  })
  afterEach(() => server.stop())

  const upload = (ifMatch?: string) =>
    request(server.app)
      .post(`${PATH}/source`)
      .set({ authorization: bearer(OWNER), ...(ifMatch !== undefined && { 'if-match': ifMatch }) })
      .send({ files: FILES })
  const etag = async () => (await server.ask('get', PATH)).headers.etag
  const changed = () => server.client.mergePatch(ServerlessFunction.resource, ref, { spec: { timeoutSeconds: 77 } })
  const left = async () => {
    const found = await Promise.all(written.map((each) => store.read(each)))
    return found.filter((each) => each !== undefined).length
  }

  it('accepts one of two concurrent uploads that together exceed the quota of the boundary', async () => {
    server.group(B, 'other')
    const other = groupNamespace(B, 'other')
    server.put(FunctionNamespace, 'calls', { runtime: 'nodejs' }, other)
    const spec = { namespaceName: 'calls', functionName: 'hello', handler: 'index' }
    const stored = { fileCount: 1, parts: 1, deploymentId: B, uploadedAt: '2026-11-01T10:00:00Z', uploadedBy: OWNER }
    const source = { ...stored, hash: 'a'.repeat(64), sizeBytes: 32 * 1024 ** 2 }
    for (let index = 0; index < 8; index += 1) {
      const functionName = `full-${index}`
      const sizeBytes = source.sizeBytes - (index === 0 ? 250 : 0)
      const full = { ...spec, functionName, source: { ...source, sizeBytes } }
      server.put(ServerlessFunction, `calls.${functionName}`, full, other)
    }
    server.put(ServerlessFunction, ref.name, spec, other)
    const paths = [PATH, PATH.replace('/shop/', '/other/')]
    const posts = paths.map((path) => ({ path: `${path}/source`, body: { files: FILES } }))
    meanwhile = () => until('both have kept their files', () => written.length >= 2)
    const answers = await postedAtOnce(server.client, [server.app, await server.another()], posts)
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 422])
    expect(answers.map(({ body }) => body.quota)).to.include('functionSources')
    expect(await left(), 'only what was counted').to.equal(1)
  })

  for (const runtime of FUNCTION_RUNTIME_NAMES) {
    const expected = FUNCTION_RUNTIMES[runtime].server === undefined ? [422, 'FEATURE_UNSUPPORTED', runtime] : [200]
    it(`returns ${expected[0]} for an upload to ${runtime}`, async () => {
      server.put(FunctionNamespace, 'calls', { runtime }, NAMESPACE)
      const { status, body } = await upload()
      expect([status, ...(status === 200 ? [] : [body.code, body.value])]).to.deep.equal(expected)
      expect(await left()).to.equal(status === 200 ? 1 : 0)
    })
  }

  it('stores the files and returns the new ETag', async () => {
    const answer = await upload(await etag())
    expect([answer.status, answer.headers.etag]).to.deep.equal([200, await etag()])
    expect(await left()).to.equal(1)
  })

  it('deletes the files if If-Match names them, and returns 409 otherwise', async () => {
    const { headers } = await upload()
    const tag = (await server.ask('get', `${PATH}/source`)).headers.etag ?? ''
    const forget = async (ifMatch: string) => {
      const { status, body } = await server.ask('delete', `${PATH}/source`).set('if-match', ifMatch)
      return [status, body.code]
    }
    for (const other of ['"stale"', `W/${tag}`, `"${'0'.repeat(64)}"`])
      expect(await forget(other), other).to.deep.equal([409, 'CONFLICT'])
    expect(await forget(`"stale", ${tag}`)).to.deep.equal([204, undefined])
    expect((await server.ask('get', `${PATH}/source`)).status).to.equal(404)
    const again = await upload()
    expect(await forget(headers.etag ?? ''), 'of the function before').to.deep.equal([409, 'CONFLICT'])
    expect(await forget(again.headers.etag ?? ''), 'of the function now').to.deep.equal([204, undefined])
  })

  it('rejects an upload with an outdated If-Match before it writes the files', async () => {
    const seen = await etag()
    await changed()
    await server.caches
      .get(ServerlessFunction.resource)
      .observeWrite(await server.client.get(ServerlessFunction.resource, ref))
    const { status, body } = await upload(seen)
    expect([status, body.code]).to.deep.equal([409, 'CONFLICT'])
    expect(written).to.deep.equal([])
  })

  it('deletes the files if the function changed during the upload', async () => {
    meanwhile = changed
    const { status, body } = await upload(await etag())
    expect([status, body.code]).to.deep.equal([409, 'CONFLICT'])
    expect([written.length, await left()]).to.deep.equal([1, 0])
  })

  it('keeps the files if a concurrent upload stored the same ones', async () => {
    meanwhile = async () => {
      meanwhile = async () => undefined
      await upload()
    }
    const { status, body } = await upload(await etag())
    expect([status, body.code]).to.deep.equal([409, 'CONFLICT'])
    expect(await left()).to.be.greaterThan(0)
    const stored = await server.ask('get', `${PATH}/source`)
    expect(stored.status).to.equal(200)
  })
})
