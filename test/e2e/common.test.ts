import { expect } from 'chai'
import { call, makeCaller, until } from '../worlds/platform.ts'

type Manifest = { module: string; files: { path: string; mediaType: string; sizeBytes: number }[] }

describe('common routes', () => {
  it('GET /readyz returns the names and status of the checks without a token', async () => {
    type Readiness = { status: string; checks: { name: string; status: string; message: null }[] }
    // Not while a watch is being reopened.
    const body = await until('it is ready', async () => {
      const answer = await call<Readiness>('GET', '/readyz', undefined, { token: null })
      return answer.status === 200 && answer.body
    })
    expect(body.status).to.equal('Ready')
    expect(body.checks).to.not.have.length(0)
    expect(body.checks.every((check) => check.status === 'Healthy' && check.message === null)).to.equal(true)
  })

  it('GET /version returns versions and simulated parts without a token', async () => {
    type Version = { module: string; kubernetesVersion: string; simulated: string[] }
    const { status, body } = await call<Version>('GET', '/version', undefined, { token: null })
    expect(status).to.equal(200)
    expect(body.module).to.equal('resource-groups')
    expect(body.kubernetesVersion).to.match(/^v1\.\d+\./)
    expect(body.simulated).to.include('pods')
  })

  it('GET /docs serves every file of a manifest, with its size and type, to a signed-in caller', async () => {
    const { token } = await makeCaller()
    for (const module of ['db-vector', 'boundaries', 'resource-groups', 'rbac', 'jobs']) {
      const { status, body } = await call<Manifest>('GET', `/docs/${module}/manifest.json`, undefined, { token })
      expect([status, body.module]).to.deep.equal([200, module])
      expect(body.files, module).to.not.be.empty
      for (const { path, mediaType, sizeBytes } of body.files) {
        const file = await call('GET', `/docs/${module}/${path}`, undefined, { token })
        expect(file.status, path).to.equal(200)
        expect(file.headers.get('content-type'), path).to.equal(mediaType)
        expect(Buffer.byteLength(file.text), path).to.equal(sizeBytes)
      }
    }
    expect((await call('GET', '/docs/boundaries/manifest.json', undefined, { token: null })).status).to.equal(401)
  })

  for (const path of [
    '/docs/nothing/manifest.json',
    '/docs/boundaries/nothing.md',
    '/docs/boundaries/..%2f..%2fpackage.json',
    '/docs/boundaries/%2e%2e/%2e%2e/package.json',
    '/docs/boundaries/..%5cpackage.json',
    '/docs/boundaries//etc/passwd',
    '/docs/boundaries/boundaries.md/',
    '/docs/boundaries/boundaries.md%00.txt',
  ]) {
    it(`GET ${path} returns 404`, async () => expect((await call('GET', path)).status).to.equal(404))
  }
})
