import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect } from 'chai'
import { codeOf, makeFacade } from '../../../test/worlds/facade.ts'
import { DOCUMENTED_MODULES, loadDocumentation } from './documentation.ts'
import { commonRoutes } from './index.ts'

describe('documentation files', () => {
  const folder = mkdtempSync(join(tmpdir(), 'freehold-docs-'))
  writeFileSync(join(folder, 'vector.md'), '# Vectors\n\nThey are long.\n')
  writeFileSync(join(folder, 'secret.md'), '# Not listed\n')
  after(() => rmSync(folder, { recursive: true }))
  const documentation = loadDocumentation(folder, '1.2.3', (module) =>
    module === 'db-vector' ? { openapi: '3.1.0' } : undefined,
  )
  const facade = makeFacade({}, { documentation })

  it('are listed per module in manifest.json', async () => {
    const { body } = await facade.call(commonRoutes, 'GET', '/docs/db-vector/manifest.json')
    expect(body).to.deep.equal({
      module: 'db-vector',
      title: 'Vector databases',
      version: '1.2.3',
      files: [
        { path: 'vector.md', title: 'Vectors', mediaType: 'text/markdown; charset=utf-8', sizeBytes: 26 },
        { path: 'openapi.json', title: 'OpenAPI document', mediaType: 'application/json', sizeBytes: 19 },
      ],
    })
    expect((await facade.call(commonRoutes, 'GET', '/docs/jobs/manifest.json')).body).to.deep.include({ files: [] })
  })

  it('are served unchanged', async () => {
    expect((await facade.call(commonRoutes, 'GET', '/docs/db-vector/vector.md')).text).to.contain('They are long.')
    expect((await facade.call(commonRoutes, 'GET', '/docs/db-vector/openapi.json')).text).to.equal(
      '{"openapi":"3.1.0"}',
    )
  })

  for (const path of [
    'db-vector/secret.md',
    'db-vector/../vector.md',
    'db-vector/./vector.md',
    'db-vector//vector.md',
    `db-vector/${folder}/vector.md`,
    'db-vector/vector.md/',
    'jobs/vector.md',
    'nothing/manifest.json',
    '__proto__/manifest.json',
    'constructor/vector.md',
  ]) {
    it(`return NOT_FOUND at ${path.replace(folder, '<folder>')}`, async () => {
      expect((await codeOf(facade.call(commonRoutes, 'GET', `/docs/${path}`))).code).to.equal('NOT_FOUND')
    })
  }

  it('exist for every module of the interface', () => {
    const golden = resolve(import.meta.dirname, '../http/interface.json')
    const { modules } = JSON.parse(readFileSync(golden, 'utf8')) as { modules: string[] }
    expect(Object.keys(DOCUMENTED_MODULES).sort()).to.deep.equal(modules.sort())
  })

  it('contain every page of docs/areas', () => {
    const pages = readdirSync(resolve(import.meta.dirname, '../../../docs/areas'))
    const named = new Set(Object.values(DOCUMENTED_MODULES).flatMap(({ areas }) => areas))
    expect(pages.filter((page) => !named.has(page.replace(/\.md$/, '')))).to.deep.equal([])
    expect(pages.length).to.be.greaterThan(10)
  })

  it('exist for boundaries, resource groups and rbac', () => {
    const real = loadDocumentation(resolve(import.meta.dirname, '../../../docs/areas'), '0', () => undefined)
    for (const module of ['boundaries', 'resource-groups', 'rbac']) {
      expect(real.manifest(module)?.files.length, module).to.be.greaterThan(0)
    }
  })
})

describe('GET /readyz', () => {
  const check = (name: string, ready: boolean) => ({ name, isReady: () => ready })
  for (const [title, checks, status] of [
    ['200 if all checks are ready', [check('caches', true), check('tokens', true)], 200],
    ['503 if one check is not ready', [check('caches', true), check('tokens', false)], 503],
  ] as const) {
    it(`returns ${title}, without messages`, async () => {
      const base = makeFacade()
      const { call } = makeFacade({}, { platform: { ...base.services.platform, readiness: checks } })
      const answer = await call(commonRoutes, 'GET', '/readyz')
      expect(answer.status).to.equal(status)
      const body = answer.body as { status: string; checks: { name: string; message: null }[] }
      expect(body.status).to.equal(status === 200 ? 'Ready' : 'NotReady')
      expect(body.checks.map(({ name, message }) => [name, message])).to.deep.equal([
        ['caches', null],
        ['tokens', null],
      ])
    })
  }
})

describe('GET /.well-known/oauth-protected-resource', () => {
  it('returns the authorization server to anonymous callers', async () => {
    const { body } = await makeFacade().call(commonRoutes, 'GET', '/.well-known/oauth-protected-resource')
    expect(body).to.include({ resource: 'https://api.test' })
    expect(body).to.deep.include({
      authorization_servers: ['https://id.test/realms/test'],
      bearer_methods_supported: ['header'],
    })
  })
})

describe('GET /version', () => {
  it('returns the version of the platform', async () => {
    const { body } = await makeFacade().call(commonRoutes, 'GET', '/version')
    expect(body).to.deep.equal({
      module: 'resource-groups',
      version: '1.2.3',
      commit: 'abc',
      builtAt: '2026-01-01T00:00:00Z',
      kubernetesVersion: 'v1.36.3',
      simulated: [],
    })
  })
})
