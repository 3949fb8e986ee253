import { expect } from 'chai'
import { SERVED_ROUTES } from '../../src/api/index.ts'
import { testPlatform } from '../worlds/tenant.ts'

describe('pages without a token', () => {
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(testPlatform().facadeUrl + path, { headers })

  it('GET / returns HTML that lists simulated parts', async () => {
    const answer = await get('/', { accept: 'text/html' })
    expect(answer.headers.get('content-type')).to.match(/^text\/html/)
    expect(await answer.text())
      .to.contain('Simulated here')
      .and.to.contain('pods')
  })

  it('GET /openapi.json returns all routes, which /reference displays', async () => {
    expect(await (await get('/reference')).text()).to.contain('swagger-ui-bundle.js')
    const answer = await get('/openapi.json')
    expect(answer.status).to.equal(200)
    const { openapi, paths, servers } = (await answer.json()) as {
      openapi: string
      paths: Record<string, object>
      servers: { url: string }[]
    }
    expect([openapi, servers[0]?.url]).to.deep.equal(['3.1.0', '/'])
    const operations = Object.values(paths).flatMap((methods) => Object.keys(methods))
    // One path of blueprints has two names for its parameter.
    expect(operations).to.have.length(SERVED_ROUTES.length - 1)
  })

  it('GET /docs lists the modules, whose manifests require a token', async () => {
    const { modules } = (await (await get('/docs')).json()) as { modules: { module: string; manifest: string }[] }
    expect(modules.map(({ module }) => module)).to.include.members(['db-vector', 'rbac'])
    for (const { manifest } of modules) expect((await get(manifest)).status, manifest).to.equal(401)
  })
})
