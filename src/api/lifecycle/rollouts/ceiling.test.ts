import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { request } from '../../../../test/make/request.ts'
import { bearer, startFacade } from '../../../../test/worlds/facadeServer.ts'
import { FakeClusterInspector, FakeRoleCeiling } from '../../../adapters/clusterinspector/fake.ts'

const APPLY = '/lifecycle/preflight/projector-ceiling/apply'
const rule = { apiGroups: ['data.freehold.dev'], resources: ['vectorclusters'], verbs: ['get'] }

describe('POST /lifecycle/preflight/projector-ceiling/apply', () => {
  const owner = randomUUID()
  const reader = randomUUID()
  let facade: Awaited<ReturnType<typeof startFacade>>
  let ceiling: FakeRoleCeiling
  beforeEach(async () => {
    ceiling = new FakeRoleCeiling()
    const change = { name: 'freehold-project-reader', stored: undefined, rules: [rule], added: [rule], removed: [] }
    ceiling.differing = [change]
    facade = await startFacade({}, { rollouts: { inspector: new FakeClusterInspector(), ceiling, version: '1.0.0' } })
    facade.grant(owner, 'Platform Owner', '/')
    facade.grant(reader, 'Platform Reader', '/')
  })
  afterEach(() => facade.stop())

  const apply = async (query: string, caller = owner) => {
    const { status, body } = await request(facade.app).post(`${APPLY}${query}`).set('authorization', bearer(caller))
    return { status, body, told: `${status} ${body.code ?? ''}`.trim() }
  }

  it('compares with the running release only', async () => {
    const { body } = await apply('?release=v1.0.0&dryRun=true')
    const head = { release: '1.0.0', dryRun: true, isApplied: false, appliedAt: null }
    expect(body).to.deep.equal({ ...head, added: [rule], removed: [] })
    expect(ceiling.differing).to.have.length(1)
    expect((await apply('?release=2.0.0')).told).to.equal('404 ReleaseNotFound')
    expect((await apply('')).told).to.equal('400 BAD_REQUEST')
    expect((await apply('?release=1.0.0&dryRun=maybe')).told).to.equal('400 BAD_REQUEST')
    expect((await apply('?release=1.0.0', reader)).told).to.equal('403 FORBIDDEN')
  })

  it('applies the change with the permissions of the caller', async () => {
    const refused = await apply('?release=1.0.0')
    expect(refused.told).to.equal('403 forbidden')
    expect(refused.body.error).to.match(/^The API server does not let you change freehold-project-reader: /)
    ceiling.mayApply = bearer(owner)
    const { body } = await apply('?release=1.0.0')
    expect(body).to.deep.include({ isApplied: true, added: [rule] })
    expect(body.appliedAt).to.match(/Z$/)
    expect((await apply('?release=1.0.0')).body).to.deep.include({ isApplied: true, added: [], appliedAt: null })
  })
})
