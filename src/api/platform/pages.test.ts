import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import express from 'express'
import { request } from '../../../test/make/request.ts'
import type { Platform } from './index.ts'
import { platformPages } from './pages.ts'

const PLATFORM: Platform = {
  version: '1.2.3',
  commit: '<abc>',
  builtAt: '2026-01-01T00:00:00Z',
  kubernetesVersion: 'v1.36.3',
  simulated: ['pods', 'volumes'],
  readiness: [],
}

describe('platformPages', () => {
  const servers: Server[] = []
  async function served(platform: Platform = PLATFORM): Promise<string> {
    const app = express()
    app.use(platformPages(platform))
    app.use((_request, response) => void response.status(404).json({ code: 'NOT_FOUND' }))
    const server = createServer(app).listen(0, '127.0.0.1')
    servers.push(server)
    await once(server, 'listening')
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }
  after(() => {
    for (const server of servers) server.close()
  })
  const asBrowser = (url: string) => request(url).get('/').set('accept', 'text/html,*/*;q=0.8')

  it('shows version, simulated parts and links at /, without scripts', async () => {
    const answer = await asBrowser(await served()).expect(200, /multi-tenant cloud platform/)
    expect(answer.text).to.contain('Simulated here:</strong> pods, volumes')
    expect(answer.text).to.contain('Version 1.2.3, commit &#60;abc&#62;, on Kubernetes v1.36.3')
    for (const path of ['/reference', '/openapi.json', '/docs']) expect(answer.text).to.contain(`href="${path}"`)
    expect(answer.text).to.not.contain('<script')
    expect(answer.headers['content-security-policy']).to.match(/^default-src 'none'; style-src 'sha256-/)
  })

  it('shows that nothing is simulated', async () => {
    const { text } = await asBrowser(await served({ ...PLATFORM, simulated: [] }))
    expect(text).to.contain('Everything here is real').and.to.not.contain('Simulated here')
  })

  it('returns JSON at / to programs', async () => {
    const { body, headers } = await request(await served()).get('/')
    expect(body).to.include({ name: 'Freehold', version: '1.2.3' })
    expect(body.links).to.include({ 'OpenAPI document': '/openapi.json' })
    expect(headers.vary).to.contain('Accept')
  })

  it('serves the API reference from its own files only', async () => {
    const url = await served()
    const { text, headers } = await request(url).get('/reference').expect(200)
    expect(headers['content-security-policy']).to.match(/script-src 'self'; style-src 'self'/)
    expect(headers['content-security-policy']).to.not.contain('unsafe')
    const files = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file = '']) => file)
    const own = files.filter((file) => file.startsWith('/reference/'))
    expect(own).to.have.length(4)
    expect(files.filter((file) => /^(https?:)?\/\//.test(file))).to.deep.equal([])
    for (const file of own) {
      const answer = await request(url).get(file).expect(200)
      expect(Number(answer.headers['content-length'])).to.be.greaterThan(50)
    }
    const start = await request(url)
      .get('/reference/start.js')
      .expect('content-type', /javascript/)
    expect(start.text).to.contain("url: '/openapi.json'").and.to.contain('validatorUrl: null')
  })

  for (const path of ['/reference/', '/reference/index.js', '/reference/..%2fpackage.json', '/Reference', '/other']) {
    it(`passes ${path} to the routes`, async () => {
      await request(await served())
        .get(path)
        .expect(404, { code: 'NOT_FOUND' })
    })
  }
})
