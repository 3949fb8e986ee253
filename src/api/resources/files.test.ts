import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import { until } from '../../../test/make/until.ts'
import { bearer, startFacade } from '../../../test/worlds/facadeServer.ts'
import { LocalVolumeFiles } from '../../adapters/volumefiles/fake.ts'
import { PlatformError } from '../../core/errors.ts'
import { refOf } from '../../core/object.ts'
import { RoleAssignment } from '../../crds/rbac.ts'
import { area, dataAction } from '../http/route.ts'
import { byteRange, downloadHeaders } from './fileHeaders.ts'
import { componentWithFiles, fileRoutes } from './files.ts'

const [ANNA, BEN, B] = [
  '11111111-1111-4111-8111-111111111111',
  '22222222-2222-4222-8222-222222222222',
  '6f1c3a52-0f0e-4d67-9b2e-3c1f2f8f7a1b',
]
const JSON_BODY = { 'content-type': 'application/json' }
const GROUP = `/boundaries/${B}/resourcegroups/orders`

describe('file routes', () => {
  let world: Awaited<ReturnType<typeof startFacade>>
  let folder: string
  let url: string
  let hasVolumes: boolean
  beforeEach(async () => {
    hasVolumes = true
    folder = mkdtempSync(join(tmpdir(), 'files-'))
    const volumeFiles = new LocalVolumeFiles()
    volumeFiles.add('n', 'claim', folder)
    const owner = { apiVersion: 'v1', kind: 'Shop', name: 'shop', uid: '1' }
    const routes = area('apps', 'platform', [
      fileRoutes('{RG}/apps/{appName}', {
        read: dataAction('apps/readFiles'),
        write: dataAction('apps/writeFiles'),
        find: async ({ parameters }, component) => {
          if (parameters.appName !== 'shop') throw new PlatformError('NOT_FOUND', 'There is no such app.')
          const { name } = componentWithFiles([{ name: 'web' }], component)
          const volumes = [{ path: '/data', claim: 'claim' }]
          return {
            component: name,
            hasVolumes,
            namespace: 'n',
            owner,
            volumes,
            identity: { user: 65_532 },
            rights: async () => [],
          }
        },
      }),
    ]).routes
    world = await startFacade({ routes }, { volumeFiles })
    world.boundary(B)
    world.group(B, 'orders')
    world.grant(ANNA, 'Contributor', GROUP)
    world.grant(BEN, 'Reader', GROUP)
    url = `http://127.0.0.1:${(await world.facade.listen(0, '127.0.0.1')).port}${GROUP}/resources/apps/shop/files`
  })
  afterEach(async () => {
    await world.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  const ask = (method: string, path: string, { body, headers = {}, as = ANNA }: Asked = {}) =>
    fetch(`${url}${path}`, {
      method,
      headers: { authorization: bearer(as), ...headers },
      ...(body !== undefined && { body, duplex: 'half' }),
    } as RequestInit)
  type Asked = { body?: string | ReadableStream; headers?: Record<string, string>; as?: string }
  const json = async (method: string, path: string, value: object) => {
    const answer = await ask(method, path, { body: JSON.stringify(value), headers: JSON_BODY })
    return [answer.status, (await answer.json()) as { code?: string; path?: string }] as const
  }
  const refused = async (answer: Promise<Response>) => {
    const { status, ...found } = await answer.then(async (one) => ({
      status: one.status,
      ...((await one.json()) as { code: string }),
    }))
    return `${status} ${found.code}`
  }

  it('list a directory with its component', async () => {
    writeFileSync(join(folder, 'a'), 'one')
    const { component, path, entries, truncated } = (await (await ask('GET', '?path=/data')).json()) as {
      component: string
      path: string
      entries: { name: string }[]
      truncated: boolean
    }
    expect([component, path, truncated, entries.map(({ name }) => name)]).to.deep.equal(['web', '/data', false, ['a']])
    expect((await ask('GET', '')).status).to.equal(200)
  })

  it('download a file, or the bytes of a Range', async () => {
    writeFileSync(join(folder, 'ä "b'), '0123456789')
    const path = `/download?path=${encodeURIComponent('/data/ä "b')}`
    const whole = await ask('GET', path)
    expect([whole.status, await whole.text()]).to.deep.equal([200, '0123456789'])
    expect(whole.headers.get('content-disposition')).to.equal(
      `attachment; filename="_ _b"; filename*=UTF-8''%C3%A4%20%22b`,
    )
    expect(whole.headers.get('content-length')).to.equal('10')
    const part = await ask('GET', path, { headers: { range: 'bytes=2-4' } })
    expect([part.status, part.headers.get('content-range'), await part.text()]).to.deep.equal([
      206,
      'bytes 2-4/10',
      '234',
    ])
    expect((await ask('GET', path, { headers: { range: 'bytes=10-' } })).status).to.equal(416)
    expect(await refused(ask('GET', '/download?path=/data'))).to.equal('400 BAD_REQUEST')
  })

  it('download a directory as an archive', async () => {
    mkdirSync(join(folder, 'sub'))
    writeFileSync(join(folder, 'sub/a'), 'one')
    const answer = await ask('GET', '/archive?path=/data/sub')
    expect(answer.headers.get('content-type')).to.equal('application/gzip')
    expect(answer.headers.get('content-disposition')).to.include('sub.tar.gz')
    expect(gunzipSync(await answer.bytes()).toString()).to.include('one')
  })

  it('upload a file of any length and media type', async () => {
    const upload = (query: string, body: Asked['body'], headers = {}) =>
      ask('POST', `/upload?path=/data&${query}`, { ...(body !== undefined && { body }), headers })
    const made = await upload('name=a', 'one')
    expect([made.status, ((await made.json()) as { path: string }).path]).to.deep.equal([201, '/data/a'])
    const large = new ReadableStream({
      pull(controller) {
        controller.enqueue(new Uint8Array(1024 * 1024).fill(97))
        if ((controller.desiredSize ?? 0) <= 0) controller.close()
      },
    })
    expect((await upload('name=a', large, { 'content-type': 'text/plain' })).status).to.equal(200)
    const { length } = readFileSync(join(folder, 'a'))
    expect([length > 0, length % (1024 * 1024)]).to.deep.equal([true, 0])
    expect((await upload('name=empty', undefined)).status).to.equal(201)
    expect(await refused(upload('name=a&overwrite=false', 'x'))).to.equal('409 ALREADY_EXISTS')
    expect(await refused(upload('name=a', 'x', { 'content-encoding': 'gzip' }))).to.equal('400 MODEL_BINDING_FAILED')
    expect(await refused(upload('name=..', 'x'.repeat(10_000_000)))).to.equal('400 PATH_NOT_ALLOWED')
    expect(readdirSync(folder).sort()).to.deep.equal(['a', 'empty'])
  })

  it('return 403 and remove the file when the permission ends during an upload', async () => {
    const body = new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(100_000)) })
    const answer = ask('POST', '/upload?path=/data&name=slow', { body })
    await until('it is being written', () => /^\.upload-/.test(readdirSync(folder).join()))
    const { items } = await world.client.list(RoleAssignment.resource)
    for (const assignment of items) await world.client.remove(RoleAssignment.resource, refOf(assignment))
    const { status } = await answer
    expect(status).to.equal(403)
    await until('nothing is left', () => readdirSync(folder).length === 0)
  })

  it('remove the file when the client disconnects during an upload', async () => {
    const stop = new AbortController()
    const body = new ReadableStream({
      // The first bytes, and then nothing.
      start: (controller) => controller.enqueue(new Uint8Array(100_000)),
    })
    const init = { method: 'POST', headers: { authorization: bearer(ANNA) }, body, duplex: 'half', signal: stop.signal }
    const sent = fetch(`${url}/upload?path=/data&name=a`, init as RequestInit).catch(() => undefined)
    await until('it is being written', () => /^\.upload-/.test(readdirSync(folder).join()))
    stop.abort()
    await sent
    await until('nothing is left', () => readdirSync(folder).length === 0)
  })

  it('create directories, move files and remove them', async () => {
    expect((await json('POST', '/directory', { path: '/data/x/y' }))[0]).to.equal(201)
    expect((await json('POST', '/directory', { path: '/data/x/y' }))[0]).to.equal(200)
    writeFileSync(join(folder, 'a'), 'one')
    const [status, { path }] = await json('POST', '/move', { from: '/data/a', to: '/data/x/y/b' })
    expect([status, path]).to.deep.equal([200, '/data/x/y/b'])
    expect((await json('POST', '/directory', { path: '/data/x/y/b' }))[1].code).to.equal('ALREADY_EXISTS')
    expect(await refused(ask('DELETE', '?path=/data/x'))).to.equal('409 DIRECTORY_NOT_EMPTY')
    expect((await ask('DELETE', '?path=/data/x&recursive=true')).status).to.equal(204)
    expect(await refused(ask('DELETE', '?path=/data/x'))).to.equal('404 NOT_FOUND')
    expect(await refused(ask('DELETE', '?path=/data&recursive=true'))).to.equal('400 PATH_NOT_ALLOWED')
  })

  it('reject new names with invisible characters, and serve existing ones', async () => {
    for (const name of ['in\u00adex', 'a\u202egnp', 'zero\u200bwidth', ' ', 'back\\slash', 'line\nbreak']) {
      const [query, path] = [encodeURIComponent(name), `/data/${name}`]
      expect(await refused(ask('POST', `/upload?path=/data&name=${query}`, { body: 'x' })), query).to.equal(
        '400 PATH_NOT_ALLOWED',
      )
      for (const below of [path, `${path}/below`])
        expect((await json('POST', '/directory', { path: below }))[1].code, query).to.equal('PATH_NOT_ALLOWED')
      writeFileSync(join(folder, 'seen'), 'one')
      expect((await json('POST', '/move', { from: '/data/seen', to: path }))[1].code, query).to.equal(
        'PATH_NOT_ALLOWED',
      )
    }
    writeFileSync(join(folder, 'in\u00adex'), 'one')
    const hidden = encodeURIComponent('/data/in\u00adex')
    expect((await ask('GET', `/download?path=${hidden}`)).status).to.equal(200)
    expect((await json('POST', '/move', { from: '/data/in\u00adex', to: '/data/été' }))[0]).to.equal(200)
    mkdirSync(join(folder, 'in\u00adex'))
    expect((await ask('POST', `/upload?path=${hidden}&name=a`, { body: 'x' })).status).to.equal(201)
    expect((await ask('DELETE', `?path=${hidden}&recursive=true`)).status).to.equal(204)
  })

  it('reject paths outside of the volumes', async () => {
    symlinkSync('/etc', join(folder, 'out'))
    for (const path of ['/etc/passwd', '/data/../etc/passwd', '/data/out/passwd', '/data/%00', '/data/..%2f..%2fetc'])
      expect(await refused(ask('GET', `/download?path=${path}`)), path).to.equal('400 PATH_NOT_ALLOWED')
  })

  it('return INSTANCE_STOPPED without a volume, after PATH_NOT_ALLOWED for invalid paths', async () => {
    hasVolumes = false
    const json = { body: JSON.stringify({ from: '/data/a', to: '/etc/a' }), headers: JSON_BODY }
    for (const [method, path, given] of [
      ['GET', '?path=/etc', {}],
      ['GET', '/download?path=/data/../etc/passwd', {}],
      ['GET', '/archive?path=/data/..', {}],
      ['POST', '/upload?path=/&name=a', { body: 'x' }],
      ['POST', '/upload?path=/data&name=a%2fb', { body: 'x' }],
      ['POST', '/move', json],
      ['DELETE', '?path=/database', {}],
    ] as const)
      expect(await refused(ask(method, path, given)), `${method} ${path}`).to.equal('400 PATH_NOT_ALLOWED')
    for (const path of ['', '?path=/data/a', '/download?path=/data/a'])
      expect(await refused(ask('GET', path)), path).to.equal('409 INSTANCE_STOPPED')
  })

  it('require the data actions of the kind', async () => {
    expect(await refused(ask('GET', '', { as: BEN }))).to.equal('403 FORBIDDEN')
    expect(await refused(ask('DELETE', '?path=/data/a', { as: BEN }))).to.equal('403 FORBIDDEN')
  })

  it('return 400 for a component without a volume', async () =>
    expect(await refused(ask('GET', '?component=worker'))).to.equal('400 BAD_REQUEST'))
})

describe('componentWithFiles', () => {
  const two = [{ name: 'web' }, { name: 'worker' }]
  it('returns the only component with a volume', () =>
    expect(componentWithFiles([{ name: 'web' }], undefined).name).to.equal('web'))
  it('returns the named component', () => expect(componentWithFiles(two, 'worker').name).to.equal('worker'))
  it('requires a name if several components have a volume', () =>
    expect(() => componentWithFiles(two, undefined)).to.throw('name one'))
  it('rejects a component without a volume', () =>
    expect(() => componentWithFiles(two, 'x')).to.throw('has no persistent volume'))
  it('throws if no component has a volume', () =>
    expect(() => componentWithFiles([], undefined)).to.throw('has a persistent volume'))
})

describe('byteRange', () => {
  const cases: [string, string | undefined, ReturnType<typeof byteRange>][] = [
    ['returns the first byte of an open range', 'bytes=5-', { first: 5 }],
    ['returns the first and last byte', 'bytes=0-0', { first: 0, last: 0 }],
    ['returns the length of a suffix range', 'bytes=-7', { suffix: 7 }],
    ['returns undefined for an absent header', undefined, undefined],
    ['returns undefined for several ranges', 'bytes=0-1,3-4', undefined],
    ['returns undefined for a range that ends before it begins', 'bytes=5-4', undefined],
    ['returns undefined for a malformed range', 'bytes=-', undefined],
    ['returns undefined for other units', 'lines=1-2', undefined],
  ]
  for (const [title, header, expected] of cases)
    it(title, () => expect(byteRange(header, undefined)).to.deep.equal(expected))
  it('returns undefined with If-Range', () => expect(byteRange('bytes=5-', '"abc"')).to.equal(undefined))
  it('is answered with Content-Range (downloadHeaders)', () => {
    const file = {
      name: 'a',
      path: '/a',
      type: 'File' as const,
      sizeBytes: 9,
      modifiedAt: '2026-01-02T03:04:05Z',
      mode: '',
      linkTarget: null,
    }
    expect(downloadHeaders(file, { first: 2, last: 4 }, 3)).to.deep.include({
      'content-length': '3',
      'content-range': 'bytes 2-4/9',
      'last-modified': 'Fri, 02 Jan 2026 03:04:05 GMT',
    })
  })
})
