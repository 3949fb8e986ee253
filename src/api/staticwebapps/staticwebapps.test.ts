import { expect } from 'chai'
import { BOUNDARY as B, startShop } from '../../../test/worlds/shop.ts'
import { hostSuffixOf } from '../../contracts/workloads.ts'
import { AppRuntime } from '../../crds/appruntimes.ts'
import { ComputePlan } from '../../crds/plans.ts'

const BASE = `/boundaries/${B}/resourcegroups/shop/resources/staticwebapps`
const SIZES = { cpuRequest: '1', cpuLimit: '2', memoryRequest: '2Gi', memoryLimit: '2Gi' }
const IMAGE = { image: 'docker.io/nginxinc/nginx-unprivileged:1.29' }

describe('static web apps over REST', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  before(async () => {
    server = await startShop()
    server.put(ComputePlan, 'container-nano', { family: 'ContainerInstance', displayName: 'Nano', ...SIZES })
    const version = { version: '24', builderImage: 'docker.io/library/node:24' }
    const ended = { version: '18', builderImage: 'docker.io/library/node:18', status: 'Ended' }
    server.put(AppRuntime, 'nodejs', { title: 'Node.js', versions: [version, ended] })
  })
  after(() => server.stop())

  const ask = (method: 'get' | 'post' | 'put' | 'patch', path: string, body?: object) =>
    server.ask(method, `${BASE}${path.startsWith('?') ? path : `/${path}`}`).send(body)

  it('shows absent fields of pipeline as null and accepts them back', async () => {
    const made = await ask('post', 'nulls', IMAGE)
    expect(made.body.pipeline).to.include({ buildCommand: null, builderImage: null, rootPath: '/' })
    const again = await ask('put', 'nulls', made.body)
    expect([again.status, again.body]).to.deep.equal([200, made.body])
    const part = await ask('patch', 'nulls', { pipeline: { buildCommand: 'npm run site', outputPath: 'public' } })
    expect(part.body.pipeline).to.include({ buildCommand: 'npm run site', outputPath: 'public' })
    const reset = await ask('patch', 'nulls', { pipeline: { buildCommand: null, outputPath: null } })
    expect(reset.body.pipeline).to.include({ buildCommand: null, outputPath: 'dist' })
  })

  for (const [what, proxyUrl, code] of [
    ['a cluster-internal host', 'https://kubernetes.default.svc/x', 'URL_NOT_ALLOWED'],
    ['a link-local address', 'https://169.254.169.254/latest', 'URL_NOT_ALLOWED'],
    ['a URL without TLS', 'http://api.example.com', 'URL_NOT_ALLOWED'],
    ['a URL with a password', 'https://me:secret@api.example.com', 'URL_NOT_ALLOWED'],
    ['a URL with a query', 'https://api.example.com/?a=b', 'BAD_REQUEST'],
  ] as const) {
    it(`rejects ${what} as proxyUrl`, async () => {
      const { status, body } = await ask('post', 'proxied', { ...IMAGE, proxyUrl })
      expect([status, body.code, body.field ?? body.errors?.[0].field]).to.deep.equal([400, code, 'proxyUrl'])
    })
  }

  it('accepts an ingressHost of the boundary, generates one by default, and rejects taken and foreign hosts', async () => {
    const made = await ask('post', 'hosted', IMAGE)
    expect(made.body.ingressHost).to.match(/^hosted-[0-9a-f]{8}\.example\.test$/)
    const own = `docs${hostSuffixOf(B, 'example.test')}`
    const changed = await ask('patch', 'hosted', { ingressHost: own })
    expect([changed.status, changed.body.ingressHost], JSON.stringify(changed.body)).to.deep.equal([200, own])
    const again = await ask('put', 'hosted', changed.body)
    expect([again.status, again.body]).to.deep.equal([200, changed.body])
    const conflict = await ask('post', 'other', { ...IMAGE, ingressHost: own })
    expect([conflict.status, conflict.body.code, conflict.body.field]).to.deep.equal([409, 'HOST_TAKEN', 'ingressHost'])
    const foreign = await ask('post', 'other', { ...IMAGE, ingressHost: 'docs.example.test' })
    expect([foreign.status, foreign.body.errors?.[0].field]).to.deep.equal([400, 'ingressHost'])
    const hidden = await ask('patch', 'hosted', { ingressHost: null, enableIngress: false })
    expect(hidden.body.ingressHost).to.equal(null)
  })

  it('calls the plan resourcePlanId in errors, filters and config', async () => {
    const missing = await ask('post', 'planned', { ...IMAGE, resourcePlanId: 'none' })
    expect([missing.status, missing.body.field]).to.deep.equal([422, 'resourcePlanId'])
    const other = await ask('post', 'planned', { ...IMAGE, resourcePlanId: 'vector-dev' })
    expect([other.status, other.body.errors?.[0].field]).to.deep.equal([400, 'resourcePlanId'])
    const { body: config } = await ask('get', 'config')
    const fields = config.filters.map(({ field }: { field: string }) => field)
    expect(fields).to.include('resourcePlanId').and.not.include('computePlan')
    expect((await ask('get', '?filter=computePlan:eq:x')).status).to.equal(400)
  })

  it('lists builder images without ended versions in config', async () => {
    const { body } = await ask('get', 'config')
    const values = body.enumerations.builderImage.map(({ value }: { value: string }) => value)
    expect(values).to.deep.equal(['docker.io/library/node:24'])
  })
})
