import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { PlatformCluster } from '../../src/crds/clusters.ts'
import { request } from '../make/request.ts'
import { bearer } from '../worlds/facadeServer.ts'
import { askAtOnce, outcomes } from './contest.ts'
import { NAME, OWNER, type ResourceCase, type Server, type World } from './resourceCase.ts'

/** The common behaviour of kinds with a public host: a host belongs to one resource. */
export function hostTests({ body, hosted }: ResourceCase, world: World): void {
  const { base, create } = world

  const sent = (app: Server['app'], method: 'post' | 'patch', name: string) =>
    request(app)[method](`${base}/${name}`).set('authorization', bearer(OWNER)).send(hosted)

  it('gives a host to one of several concurrent POSTs', async () => {
    const answers = await askAtOnce(world.server, (app, index) => sent(app, 'post', `site-${index}`))
    expect(outcomes(answers)).to.deep.equal(['201', ...Array(answers.length - 1).fill('409 HOST_TAKEN')])
    const fields = new Set(answers.filter(({ status }) => status === 409).map((refusal) => refusal.body.field))
    expect(Object.keys(hosted ?? {}), 'the field that names it').to.include.members([...fields])
  })

  it('gives a host to one of several concurrent PATCHes', async () => {
    for (let index = 0; index < 6; index += 1) expect((await create(`site-${index}`, body)).status).to.equal(201)
    const answers = await askAtOnce(world.server, (app, index) => sent(app, 'patch', `site-${index}`))
    expect(outcomes(answers)).to.deep.equal(['200', ...Array(answers.length - 1).fill('409 HOST_TAKEN')])
  })

  it('returns 409 HOST_TAKEN, and names the holder only to callers who may read it', async () => {
    const { server } = world
    expect((await create('first', hosted ?? {})).status).to.equal(201)
    const refused = await create('second', hosted ?? {})
    expect(refused.body.code).to.equal('HOST_TAKEN')
    const named = `is taken by "first" of ${base.split('/').at(-1)} in group "${base.split('/')[4]}".`
    expect(refused.body.error).to.include(named)
    expect((await create('third', body)).status).to.equal(201)
    const maker = randomUUID()
    server.grant(maker, 'Contributor', `${base}/third`)
    const asked = request(server.app).patch(`${base}/third`).set('authorization', bearer(maker))
    const unnamed = await asked.send(hosted)
    expect(unnamed.body.code).to.equal('HOST_TAKEN')
    expect(unnamed.body.error).to.include('is taken. ').and.not.include('first')
  })

  const takesDomains = hosted !== undefined && 'customDomains' in hosted
  const itOfDomains = takesDomains ? it : () => undefined
  itOfDomains('rejects custom domains below the domain of any cluster', async () => {
    const { server } = world
    server.put(PlatformCluster, randomUUID(), {
      displayName: 'East',
      domain: 'apps.east.example.org',
      isPlatform: false,
    })
    for (const host of ['a.apps.east.example.org', 'apps.east.example.org', 'a.b.svc.cluster.local']) {
      const refused = await create(NAME, { ...hosted, customDomains: [host] })
      expect([refused.status, refused.body.errors?.[0]?.field], host).to.deep.equal([400, 'customDomains'])
    }
  })

  it('claims no host for a refused POST', async () => {
    const refused = await create(NAME, { ...hosted, tags: { 'freehold.dev/x': 'y' } })
    expect(refused.status).to.equal(400)
    expect((await create('another', hosted ?? {})).status).to.equal(201)
  })
}
