import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { testKeys } from '../../../test/make/registry.ts'
import { request } from '../../../test/make/request.ts'
import { until } from '../../../test/make/until.ts'
import { bearer, startFacade } from '../../../test/worlds/facadeServer.ts'
import { BOUNDARY, HERE, OTHER, REPOSITORY, registryFacade } from '../../../test/worlds/registryFacade.ts'
import { RegistryError } from '../../adapters/registry/port.ts'
import { PLATFORM_ACTOR } from '../../contracts/registry/names.ts'
import { NO_IMAGE_USES } from '../../contracts/registry/retention.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { PlatformJob } from '../../crds/jobs.ts'
import { BoundaryTrust } from '../../crds/rbac.ts'
import { RegistryRepository, RetentionRun } from '../../crds/registry.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { BoundarySpace } from './space.ts'

describe('registry over REST', () => {
  type World = Awaited<ReturnType<typeof registryFacade>>
  let facade: World['facade']
  let world: World['world']
  let withRole: World['withRole']
  let deny: World['deny']
  let asOwner: World['asOwner']
  beforeEach(async () => {
    ;({ facade, world, withRole, deny, asOwner } = await registryFacade())
  })
  afterEach(() => facade.stop())

  const basic = (user: string, password: string) => `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
  const ask = (authorization: string, scope = `repository:${REPOSITORY}:pull,push,delete`) =>
    request(facade.app).get('/registry/auth/token').query({ scope }).set('authorization', authorization)
  const granted = async (person: string, scope?: string) => {
    const { status, body } = await ask(basic('token', person), scope)
    return status === 200 ? (body.scope ?? '').replace(`repository:${REPOSITORY}:`, '') : status
  }

  it('grants pull and push according to role and scope, and never delete', async () => {
    const resource = `${HERE}/resourcegroups/shop/resources/jobs/report`
    const cases: [string, string, string][] = [
      ['Owner', HERE, 'pull,push'],
      ['Contributor', HERE, 'pull,push'],
      ['Contributor', resource, 'pull,push'],
      ['Contributor', `${HERE}/resourcegroups/shop/resources/jobs/other`, ''],
      ['Reader', HERE, 'pull'],
      ['Reader', `${HERE}/resourcegroups/shop`, 'pull'],
      ['Contributor', `/boundaries/${OTHER}`, ''],
      ['Secrets Officer', HERE, ''],
    ]
    for (const [role, scope, expected] of cases)
      expect(await granted(withRole(role, scope)), `${role} at ${scope}`).to.equal(expected)
  })

  it('writes one audit line for a request with many denied scopes', async () => {
    const person = withRole('Reader', `${HERE}/resourcegroups/shop`)
    const scopes = Array.from({ length: 15 }, (_, index) => `repository:${OTHER}/made-up/jobs/job-${index}:push`)
    const query = [...scopes, `repository:${'x'.repeat(200)}:pull`].map((scope) => `scope=${scope}`).join('&')
    const answer = await request(facade.app)
      .get(`/registry/auth/token?${query}`)
      .set('authorization', basic('token', person))
    expect(answer.status).to.equal(200)
    const audited = await world.service.audit.newest(100, () => true)
    expect(audited.map(({ action, detail }) => `${action}: ${detail}`)).to.deep.equal([
      `Refused: not granted: repository:${OTHER}/made-up/jobs/job-0:push and 14 others`,
    ])
  })

  it('records denied scopes in the audit, also if only some of them were denied', async () => {
    const person = withRole('Reader', `${HERE}/resourcegroups/shop`)
    for (const password of [person, 'no-token'])
      await ask(basic('token', password), `repository:${REPOSITORY}:pull,push`)
    await request(facade.app)
      .post('/v1/internal/registries/mint-boundary-credential')
      .set('authorization', `Bearer ${person}`)
      .send({ boundary: BOUNDARY })
    const refused = await world.service.audit.newest(100, ({ action }) => action === 'Refused')
    expect(refused.map(({ detail }) => detail)).to.deep.equal([
      `boundary credential: kernel/deployments/token is missing at ${HERE}`,
      `wrong credentials, for repository:${REPOSITORY}:pull,push`,
      `not granted: repository:${REPOSITORY}:push`,
    ])
  })

  it('lets a deny assignment win over every grant', async () => {
    for (const [action, expected] of [
      ['registry/pull', 'push'],
      ['jobs/read', 'push'],
      ['registry/push', 'pull'],
      ['jobs/write', 'pull'],
      ['registry/*', ''],
    ] as const) {
      const person = withRole('Contributor', HERE)
      deny(person, [action])
      expect(await granted(person), action).to.equal(expected)
    }
  })

  it('lets a boundary trust grant pull only', async () => {
    const person = withRole('Owner', `/boundaries/${OTHER}`)
    expect(await granted(person)).to.equal('')
    const spec = { boundaryId: BOUNDARY, trustedBoundaryId: OTHER, actions: ['registry/pull'] }
    const lives = { boundaryIncarnation: 'life', trustedBoundaryIncarnation: 'life' }
    facade.put(BoundaryTrust, randomUUID(), { ...spec, ...lives }, SYSTEM_NAMESPACE)
    expect(await granted(person)).to.equal('pull')
  })

  it('grants nothing for missing groups, unknown collections and malformed repositories', async () => {
    const person = withRole('Owner', HERE)
    for (const name of ['shop/rockets/report', 'none/jobs/report', 'shop/jobs', 'shop/jobs/report/x'])
      expect(await granted(person, `repository:${BOUNDARY}/${name}:pull`), name).to.equal('')
  })

  it('recognises a group that another replica has just created, for users and for pull credentials of nodes', async () => {
    const person = withRole('Owner', HERE)
    await facade.caches.stopAll()
    const metadata = {
      name: 'new',
      namespace: boundaryNamespace(BOUNDARY),
      annotations: { [INCARNATION_ANNOTATION]: 'l' },
    }
    const { apiVersion, kind } = ResourceGroup
    facade.client.seed(ResourceGroup.resource, { apiVersion, kind, metadata, spec: {} })
    const repository = `${BOUNDARY}/new/jobs/report`
    const scope = `repository:${repository}:pull`
    expect(await granted(person, scope)).to.equal(scope)
    const password = await world.service.keys.issue({
      ...{ kind: 'Boundary', principalId: PLATFORM_ACTOR, principalType: 'Platform' },
      limit: { repositories: `${BOUNDARY}/new/*`, actions: ['pull'] },
      lives: { [`${BOUNDARY}/new`]: 'l' },
      expiresAt: Date.now() + 60_000,
    })
    const { status, body } = await ask(basic('node', password), scope)
    expect([status, body.scope]).to.deep.equal([200, scope])
  })

  it('rejects a build password after its expiry, a new incarnation of its group, or the end of its user', async () => {
    const person = withRole('Owner', HERE)
    const mint = (change: object = {}) =>
      testKeys().issue({
        kind: 'Build',
        principalId: person,
        principalType: 'User',
        limit: { repositories: REPOSITORY, actions: ['pull'] },
        lives: { [`${BOUNDARY}/shop`]: 'life' },
        expiresAt: Date.now() + 60_000,
        ...change,
      })
    const scopeOf = async (password: string) => {
      const { status, body } = await ask(basic('build', password))
      return status === 200 ? body.scope : status
    }
    expect(await scopeOf(await mint())).to.equal(`repository:${REPOSITORY}:pull`)
    expect(await scopeOf(await mint({ lives: { [`${BOUNDARY}/shop`]: 'another life' } }))).to.equal(401)
    expect(await scopeOf(await mint({ lives: { [`${BOUNDARY}/gone`]: 'life' } }))).to.equal(401)
    expect(await scopeOf(await mint({ kind: 'Refresh' })), 'a refresh token is no password').to.equal(401)
    expect(await scopeOf(await mint({ expiresAt: Date.now() - 1000 }))).to.equal(401)
    world.ended.add(person)
    expect(await scopeOf(await mint()), 'who is disabled').to.equal(401)
  })

  it('rejects a build token after its resource is deleted, even if it is recreated', async () => {
    const person = withRole('Owner', HERE)
    const minted = async () => {
      const answer = await request(facade.app)
        .post('/v1/internal/registries/mint-build-token')
        .set('authorization', bearer(person))
        .send({ boundary: BOUNDARY, resourceGroup: 'shop', kind: 'jobs', name: 'report' })
      return answer.body.token as string
    }
    const scopeOf = async (token: string) => {
      const { status, body } = await ask(basic('build', token))
      return status === 200 ? body.scope : status
    }
    const first = await minted()
    expect(await scopeOf(first)).to.equal(`repository:${REPOSITORY}:pull,push`)
    const ref = { namespace: groupNamespace(BOUNDARY, 'shop'), name: 'report' }
    await facade.client.remove(PlatformJob.resource, ref)
    await until('the job is gone', async () => (await scopeOf(first)) === 401)
    facade.put(PlatformJob, 'report', { image: 'python', computePlan: 'job-small' }, ref.namespace)
    expect(await scopeOf(first)).to.equal(401)
    expect(await scopeOf(await minted())).to.equal(`repository:${REPOSITORY}:pull,push`)
  })

  it('issues a refresh token that expires with the access token, and after 8 hours at most', async () => {
    const { signIn, keys } = world.service
    const person = withRole('Owner', HERE)
    const account = randomUUID()
    const now = Date.now()
    const hours = (count: number) => now + count * 3_600_000
    const { byToken } = signIn
    signIn.byToken = async (token) => {
      const caller = await byToken(token)
      return caller && { ...caller, expiresAt: hours(1) }
    }
    const isGood = async (authorization: string, at: number) => {
      const { body } = await ask(authorization).query({ offline_token: 'true' })
      return (await keys.read(body.refresh_token, at)) !== undefined
    }
    const seen = [
      await isGood(basic('token', person), hours(0.9)),
      await isGood(basic('token', person), hours(1.1)),
      await isGood(basic(account, `secret of ${account}`), hours(7.9)),
      await isGood(basic(account, `secret of ${account}`), hours(8.1)),
    ]
    expect(seen).to.deep.equal([true, false, true, false])
  })

  it('delays push tokens while a retention run deletes, but not pull tokens', async () => {
    const person = withRole('Owner', HERE)
    const name = randomUUID()
    const run = facade.put(RetentionRun, name, {}, SYSTEM_NAMESPACE)
    const acting = facade.client.seed(RetentionRun.resource, { ...run, status: { state: 'Running' } })
    facade.caches.get(RetentionRun.resource).observeWrite(acting)
    const answers: number[] = []
    const held = ask(basic('token', person)).then(({ status }) => answers.push(status))
    for (const _ of 'four')
      expect(await granted(person, `repository:${REPOSITORY}:pull`), 'without waiting').to.equal('pull')
    expect(answers, 'a request to push waits').to.deep.equal([])
    const over = facade.client.seed(RetentionRun.resource, { ...acting, status: { state: 'Succeeded' } })
    facade.caches.get(RetentionRun.resource).observeWrite(over)
    await held
    expect(answers, 'until the run is over').to.deep.equal([200])
  })

  it('returns REFERENCE_NOT_FOUND for a token of something that does not exist', async () => {
    const nobody = randomUUID()
    const build = { boundary: BOUNDARY, resourceGroup: 'shop', kind: 'jobs', name: 'report' }
    const cases: [string, object, string, string][] = [
      ['boundary-credential', { boundary: nobody }, 'boundary', `There is no boundary "${nobody}".`],
      ['build-token', { ...build, boundary: nobody }, 'boundary', `There is no boundary "${nobody}".`],
      ['build-token', { ...build, resourceGroup: 'none' }, 'resourceGroup', 'There is no resource group "none".'],
      ['build-token', { ...build, kind: 'rockets' }, 'kind', 'There is no kind "rockets".'],
      ['build-token', { ...build, name: 'none' }, 'name', 'There is no such resource: "none".'],
    ]
    const mint = (what: string, body: object) =>
      request(facade.app)
        .post(`/v1/internal/registries/mint-${what}`)
        .set('authorization', bearer(withRole('Owner', '/')))
        .send(body)
    for (const [what, body, field, message] of cases) {
      const { status, body: error } = await mint(what, body)
      expect([status, error.code, error.field, error.error]).to.deep.equal([422, 'REFERENCE_NOT_FOUND', field, message])
    }
    const { status, body, headers } = await mint('build-token', build)
    expect([status, body.repository, headers['cache-control']]).to.deep.equal([200, REPOSITORY, 'no-store'])
  })

  it('returns 503, and no empty list, while the audit log cannot be read', async () => {
    world.service.audit.newest = () => Promise.reject(new Error('The disk is away.'))
    const { status, body } = await asOwner('get', '/resources/registries/audit')
    expect([status, body.code]).to.deep.equal([503, 'SERVICE_UNAVAILABLE'])
  })

  it('validates the filters of the audit log, and ignores the case of actions', async () => {
    const audit = (query: string) => asOwner('get', `/resources/registries/audit?${query}`)
    for (const query of ['action=zz', 'boundary=x']) expect((await audit(query)).status, query).to.equal(400)
    expect((await audit(`action=retain&boundary=${BOUNDARY}`)).status).to.equal(200)
  })

  it('lists a scheduled retention run only once it is due', async () => {
    const names = [randomUUID(), randomUUID(), randomUUID()] as const
    facade.put(RetentionRun, names[0], { trigger: 'Manual' }, SYSTEM_NAMESPACE)
    for (const [name, notBefore] of [
      [names[1], '2999-01-01T03:00:00Z'],
      [names[2], '2020-01-01T03:00:00Z'],
    ] as const)
      facade.put(RetentionRun, name, { trigger: 'Scheduled', notBefore }, SYSTEM_NAMESPACE)
    const { body } = await asOwner('get', '/v1/registries/retention/runs')
    const told = body.items.map(
      ({ trigger, startedAt }: Record<string, string>) => `${trigger} ${startedAt?.slice(0, 4)}`,
    )
    expect(told).to.have.lengthOf(2).and.to.include('Scheduled 2020')
  })

  it('yields to other requests during a retention preview', async () => {
    const all = Array.from({ length: 40 }, (_, index) => `${BOUNDARY}/shop/jobs/job-${index}`)
    for (const repository of all) {
      const spec = { repository, announcedAt: '2026-01-01T00:00:00Z' }
      facade.put(RegistryRepository, randomUUID(), spec, boundaryNamespace(BOUNDARY))
    }
    let [evaluated, atTurn] = [0, 0]
    const uses = async () => () => {
      if (evaluated++ === 0) setImmediate(() => (atTurn = evaluated))
      for (const until = performance.now() + 1; performance.now() < until; );
      return NO_IMAGE_USES
    }
    Object.assign(world.service, { uses })
    const { body } = await asOwner('get', '/v1/registries/retention/preview')
    expect([body.totals.repositories, evaluated]).to.deep.equal([40, 40])
    expect(atTurn).to.be.within(1, 39)
  })

  it('refuses pushes to a boundary whose images have reached the limit, with what to delete, but no pulls', async () => {
    Object.assign(world.service, { space: new BoundarySpace(world.registry, 150) })
    const owner = withRole('Owner', HERE)
    expect(await granted(owner)).to.equal('pull,push')
    // A size is known for some time.
    Object.assign(world.service, { space: new BoundarySpace(world.registry, 150) })
    for (const text of ['one', 'two']) world.registry.push(REPOSITORY, text, { text })
    const { status, body } = await ask(basic('token', owner))
    expect([status, body.code]).to.deep.equal([422, 'QUOTA_EXCEEDED'])
    expect(body).to.include({ quota: 'images', limit: 150 })
    expect(body.errors).to.have.length(1)
    expect(body.errors[0]).to.include({ code: 'DENIED' })
    expect(body.errors[0].message).to.include('Delete pins and resource groups')
    expect(await granted(owner, `repository:${REPOSITORY}:pull`)).to.equal('pull')
    const minted = await request(facade.app)
      .post('/v1/internal/registries/mint-build-token')
      .set('authorization', bearer(owner))
      .send({ boundary: BOUNDARY, resourceGroup: 'shop', kind: 'jobs', name: 'report' })
    expect([minted.status, minted.body.quota]).to.deep.equal([422, 'images'])
    facade.group(OTHER, 'shop')
    const other = withRole('Owner', `/boundaries/${OTHER}`)
    expect((await ask(basic('token', other), `repository:${OTHER}/shop/jobs/report:push`)).status).to.equal(200)
  })

  it('permits pushes while the size of a boundary cannot be read', async () => {
    const bytesOf = () => Promise.reject(new RegistryError('Unreadable', 'The disk is away.'))
    Object.assign(world.service, { space: new BoundarySpace({ bytesOf }, 1) })
    expect(await granted(withRole('Owner', HERE))).to.equal('pull,push')
  })

  it('returns 503 ENGINE_MISSING without a configured registry', async () => {
    const bare = await startFacade({}, { registry: undefined })
    try {
      const answer = await request(bare.app).get('/registry/auth/token')
      expect([answer.status, answer.body.code]).to.deep.equal([503, 'ENGINE_MISSING'])
      const minted = await request(bare.app)
        .post('/v1/internal/registries/mint-boundary-credential')
        .set('authorization', bearer(randomUUID()))
        .send({ boundary: BOUNDARY })
      expect(minted.status).to.equal(503)
    } finally {
      await bare.stop()
    }
  })
})
