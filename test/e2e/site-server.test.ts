import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { choosePorts } from '../../scripts/controlplane/ports.ts'
import { DEFAULT_SITE, SITE_VARIABLE, siteConfiguration } from '../../src/contracts/staticwebapps/configuration.ts'
import { SITE_START } from '../../src/contracts/staticwebapps/start.ts'
import { debianIsMissing, folderOnPath, unpackDebian } from '../cluster/debian.ts'
import { until } from '../make/until.ts'

type Site = typeof DEFAULT_SITE

const FILES = {
  'index.html': `<h1>home</h1>${' '.repeat(1000)}`,
  '404.html': 'nothing here',
  'about.html': 'about',
  'docs/index.html': 'docs',
  'assets/index-4f3a2b1c.js': 'let a = 1',
  'my-dashboard.js': 'let b = 2',
  '.env': 'SECRET=1',
  '.well-known/security.txt': 'Contact: mail',
  _redirects: [
    '# comment',
    '/old /about 301',
    '/blog/* /docs/:splat 302',
    '/shell/* /about.html 200',
    '/away https://example.com/x?y=1',
    '/bad { return 200; }',
    '/docs/* /nowhere',
    '/old /twice',
    '',
  ].join('\n'),
}

describe('web server of a static web app', () => {
  const ended: (() => Promise<unknown>)[] = []
  let program = ''
  before(async function () {
    // nginx of the Debian release on which the images of sites are built.
    const onPath = folderOnPath('nginx')
    const why = onPath === undefined ? debianIsMissing('nginx') : undefined
    if (why !== undefined) {
      console.log(`    skipped: ${why}`)
      this.skip()
    }
    program = join(onPath ?? join(await unpackDebian('nginx', ['nginx', 'libpcre2-8-0']), 'usr/sbin'), 'nginx')
  })
  afterEach(async () => {
    for (const end of ended.splice(0)) await end()
  })

  async function serve(site: Partial<Site> = {}): Promise<(path: string, headers?: object) => Promise<Response>> {
    const root = await mkdtemp(join(tmpdir(), 'site-'))
    const [files, work] = [join(root, 'files'), join(root, 'work')]
    await chmod(root, 0o755)
    for (const [name, text] of Object.entries(FILES)) {
      await mkdir(dirname(join(files, name)), { recursive: true })
      await writeFile(join(files, name), text)
    }
    const types = join(root, 'mime.types')
    await writeFile(types, 'types { text/html html; application/javascript js; text/plain txt; }')
    // A port that the kernel does not assign to a connection while the program starts.
    const { port } = await choosePorts(root, ['port'])
    const configuration = siteConfiguration({ ...DEFAULT_SITE, ...site }, { port, files, work, types })
    const env = { PATH: process.env.PATH, SITE_FILES: files, SITE_WORK: work, SITE_SERVER: program }
    const log = openSync(join(root, 'log'), 'w')
    const stdio = ['ignore', log, 'pipe'] as const
    const server = spawn('/bin/sh', ['-c', SITE_START], {
      stdio: [...stdio],
      env: { ...env, [SITE_VARIABLE]: configuration },
    })
    let output = ''
    server.stderr?.on('data', (data) => {
      output += String(data)
    })
    ended.push(async () => {
      if (server.exitCode === null) {
        const exit = once(server, 'exit')
        server.kill('SIGTERM')
        await exit
      }
      await rm(root, { recursive: true })
    })
    const get = (path: string, headers = {}) =>
      fetch(`http://127.0.0.1:${port}${path}`, {
        headers: { 'accept-encoding': 'identity', ...headers },
        redirect: 'manual',
      })
    const exit = once(server, 'exit').then(() => Promise.reject(new Error(`The web server ended: ${output}`)))
    exit.catch(() => undefined)
    await Promise.race([exit, until('the web server answers', () => get('/'))])
    return get
  }
  const answer = async (response: Promise<Response>) => {
    const { status, headers } = await response
    return `${status} ${headers.get('location') ?? headers.get('cache-control')}`
  }
  const text = async (response: Promise<Response>) => (await (await response).text()).trim()

  it('answers paths without a file with index.html for a single page, and otherwise with 404.html', async () => {
    const single = await serve()
    expect(await text(single('/deep/link'))).to.equal('<h1>home</h1>')
    expect(await text(single('/about'))).to.equal('about')
    expect((await single('/.env')).status).to.equal(404)
    const many = await serve({ isSinglePage: false })
    const missing = await many('/deep/link')
    expect([missing.status, (await missing.text()).trim()]).to.deep.equal([404, 'nothing here'])
    expect(await answer(many('/docs'))).to.equal('301 /docs/')
    expect(await text(many('/docs/'))).to.equal('docs')
    expect(await text(many('/.well-known/security.txt'))).to.equal('Contact: mail')
    expect((await many('/_redirects')).status).to.equal(404)
    expect((await many('/assets/')).status).to.equal(404)
  })

  it('sends cacheControl, a year for names with a hash, and no-cache for missing files', async () => {
    const get = await serve({ isSinglePage: false, cacheControl: 'private, max-age=5' })
    expect(await answer(get('/'))).to.equal('200 private, max-age=5')
    expect(await answer(get('/my-dashboard.js'))).to.equal('200 private, max-age=5')
    expect(await answer(get('/assets/index-4f3a2b1c.js'))).to.equal('200 public, max-age=31536000, immutable')
    expect(await answer(get('/assets/index-99999999.js'))).to.equal('404 no-cache')
  })

  it('compresses, and answers If-None-Match and Range', async () => {
    const get = await serve()
    const whole = await get('/')
    const etag = whole.headers.get('etag') ?? ''
    expect((await get('/', { 'if-none-match': etag })).status).to.equal(304)
    const range = await get('/', { range: 'bytes=0-3' })
    expect([range.status, await range.text()]).to.deep.equal([206, '<h1>'])
    const compressed = await get('/', { 'accept-encoding': 'gzip' })
    expect([compressed.headers.get('content-encoding'), compressed.headers.get('vary')]).to.deep.equal([
      'gzip',
      'Accept-Encoding',
    ])
    expect(await compressed.text()).to.equal(FILES['index.html'])
  })

  it('sends headers with quotes, dollars and backslashes unchanged', async () => {
    const value = `default-src 'self' "$uri" \\ ${'$'}{dollar}; x{}`
    const get = await serve({ headers: { 'X-Policy': value } })
    expect((await get('/')).headers.get('x-policy')).to.equal(value)
    expect((await get('/.env')).headers.get('x-policy')).to.equal(value)
  })

  it('redirects as _redirects defines, after files, and ignores invalid lines', async () => {
    const get = await serve({ isSinglePage: false })
    expect(await answer(get('/old?a=1'))).to.equal('301 /about?a=1')
    expect(await answer(get('/blog/2026/x?b=2'))).to.equal('302 /docs/2026/x?b=2')
    expect(await answer(get('/away'))).to.equal('301 https://example.com/x?y=1')
    expect(await text(get('/shell/any/thing'))).to.equal('about')
    expect(await text(get('/docs/index.html'))).to.equal('docs')
    expect(await answer(get('/docs/gone'))).to.equal('301 /nowhere')
    expect((await get('/bad')).status).to.equal(404)
  })

  it('serves files while proxyUrl is unreachable, and returns 502 without caching for /api', async () => {
    const get = await serve({ proxyUrl: 'https://api.example.invalid/v1/' })
    expect(await answer(get('/'))).to.equal('200 public, max-age=300')
    expect((await get('/api/x')).status).to.equal(502)
    expect(await answer(get('/api/x'))).to.match(/^502 (null|no-cache)$/)
  })
})
