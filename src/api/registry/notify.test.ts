import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { stillClock } from '../../../test/make/clock.ts'
import { request } from '../../../test/make/request.ts'
import { until } from '../../../test/make/until.ts'
import { BOUNDARY, HERE, OTHER, REPOSITORY, registryFacade } from '../../../test/worlds/registryFacade.ts'
import { AuditError, AuditShareError } from '../../adapters/audit/port.ts'
import { OBJECT_COUNT_POLICY } from '../../contracts/objectLimits.ts'
import { PLATFORM_ACTOR, PLATFORM_READER } from '../../contracts/registry/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { currentOrigin } from '../../core/origin.ts'
import { RegistryRepository } from '../../crds/registry.ts'
import { KubeError } from '../../kube/errors.ts'

describe('notifications of the registry', () => {
  type World = Awaited<ReturnType<typeof registryFacade>>
  let facade: World['facade']
  let world: World['world']
  let withRole: World['withRole']
  beforeEach(async () => {
    ;({ facade, world, withRole } = await registryFacade())
  })
  afterEach(() => facade.stop())

  const askToken = (person: string, scope: string) =>
    request(facade.app)
      .get('/registry/auth/token')
      .query({ scope })
      .set('authorization', `Basic ${Buffer.from(`token:${person}`).toString('base64')}`)

  /** Sends a notification of the registry with its secret. */
  const notified = (event: { action: string; target: object; actor?: object }) =>
    request(facade.app)
      .post('/v1/internal/registries/notify')
      .set('x-freehold-registry-secret', world.service.notifySecret())
      .send({ events: [{ id: randomUUID(), ...event }] })

  it('returns 503 for a notification if the audit is full, and accepts it later', async () => {
    const { audit } = world.service
    const target = { repository: REPOSITORY, digest: `sha256:${'a'.repeat(64)}`, mediaType: 'application/manifest' }
    const notify = () => notified({ action: 'push', target })
    const append = audit.append
    audit.append = () => Promise.reject(new AuditError('The audit of this day is full.'))
    const { status, body } = await notify()
    expect([status, body.code]).to.deep.equal([503, 'SERVICE_UNAVAILABLE'])
    audit.append = append
    expect((await notify()).status).to.equal(202)
    expect((await audit.newest(1, () => true))[0]).to.include({ action: 'Push', actor: '', boundary: BOUNDARY })
  })

  it('records pushes and pulls of nodes and builds, but not those of the platform reader', async () => {
    const repository = `${BOUNDARY}/shop/jobs/built`
    const target = { repository, digest: `sha256:${'b'.repeat(64)}`, tag: 'v1', mediaType: 'application/manifest' }
    const tell = (action: string, name: string) => notified({ action, target, actor: { name } })
    const digestRecord = async () => {
      const { items } = await facade.client.list<RegistryRepository & KubeObject>(RegistryRepository.resource)
      return items.find(({ spec }) => spec.repository === repository)?.spec.digests[target.digest]
    }
    await tell('push', PLATFORM_READER)
    await tell('pull', PLATFORM_READER)
    expect(await digestRecord()).to.equal(undefined)
    await tell('push', PLATFORM_ACTOR)
    expect(await digestRecord()).to.have.keys('pushedAt')
    await tell('pull', PLATFORM_ACTOR)
    expect(await digestRecord()).to.have.keys('pushedAt', 'lastPulledAt')
    const told = await world.service.audit.newest(10, (entry) => entry.repository === repository)
    expect(told.map(({ action, actor }) => `${action} ${actor}`)).to.deep.equal(['Pull freehold', 'Push freehold'])
  })

  it('announces which tags were pushed since a repository was read, and that all must be read after a deletion', async () => {
    const repository = `${BOUNDARY}/shop/jobs/tagged`
    const tell = async (action: string, tag?: string) => {
      const target = { repository, digest: `sha256:${'d'.repeat(64)}`, tag, mediaType: 'application/manifest' }
      await notified({ action, target })
      const { items } = await facade.client.list<RegistryRepository & KubeObject>(RegistryRepository.resource)
      const found = items.find(({ spec }) => spec.repository === repository)
      return { found, tags: found?.spec.changedTags }
    }
    /** As the controller does. */
    const read = async (found: Awaited<ReturnType<typeof tell>>['found']) => {
      const ref = { namespace: found?.metadata.namespace, name: found?.metadata.name ?? '' }
      facade.client.edit(RegistryRepository.resource, ref, (object) => {
        Object.assign(object, { status: { readAt: found?.spec.announcedAt, digests: [] } })
      })
      const seen = () => facade.caches.get(RegistryRepository.resource).get(ref.namespace, ref.name)
      const readAt = () => (seen() as RegistryRepository | undefined)?.status?.readAt
      await until('the facade sees it', () => readAt() === found?.spec.announcedAt)
    }
    const first = await tell('push', 'v1')
    expect(first.tags).to.equal(undefined)
    await read(first.found)
    expect((await tell('push', 'v2')).tags).to.deep.equal(['v2'])
    const third = await tell('push', 'v3')
    expect(third.tags).to.deep.equal(['v2', 'v3'])
    await read(third.found)
    expect((await tell('push', 'v3')).tags).to.deep.equal(['v3'])
    expect((await tell('delete')).tags).to.equal(undefined)
    expect((await tell('push', 'v4')).tags).to.equal(undefined)
  })

  describe('with a boundary that pushes without end', () => {
    const ELSEWHERE = `${OTHER}/shop/jobs/quiet`
    const digestOf = (at: number) => `sha256:${at.toString(16).padStart(64, '0')}`
    const pushed = (repository: string, at: number) =>
      notified({ action: 'push', target: { repository, digest: digestOf(at), mediaType: 'application/manifest' } })
    const digestsOf = async (repository: string) => {
      const { items } = await facade.client.list<RegistryRepository & KubeObject>(RegistryRepository.resource)
      return Object.keys(items.find(({ spec }) => spec.repository === repository)?.spec.digests ?? {})
    }
    const count = (verb?: string) => facade.client.count(verb, RegistryRepository.resource)
    const writes = () => count() - count('get') - count('list') - count('watch')

    it('waits for a few of its writes, audits all pushes, and records them later with fewer writes', async () => {
      facade.group(OTHER, 'shop')
      for (let at = 0; at < 200; at += 1) expect((await pushed(REPOSITORY, at)).status).to.equal(202)
      expect((await pushed(ELSEWHERE, 1)).status).to.equal(202)
      expect(await digestsOf(ELSEWHERE)).to.have.length(1)
      const told = await world.service.audit.newest(1_000, ({ repository }) => repository === REPOSITORY)
      expect(told).to.have.length(200)
      await until('all pushes are recorded', async () => (await digestsOf(REPOSITORY)).length === 200)
      expect(writes()).to.be.within(20, 100)
    })

    it('writes on behalf of the boundary, so that its calls to the API server delay its own first', async () => {
      const callers: (string | undefined)[] = []
      facade.client.fail('create', RegistryRepository.resource, () => void callers.push(currentOrigin()?.caller))
      await pushed(`${BOUNDARY}/shop/jobs/origin`, 1)
      expect(callers).to.deep.equal([BOUNDARY])
    })

    it('accepts notifications of a boundary without room in the audit, so that those of others arrive', async () => {
      const { audit } = world.service
      const append = audit.append.bind(audit)
      audit.append = async (entries, options) => {
        if (entries.some(({ boundary }) => boundary === BOUNDARY)) throw new AuditShareError('It is used up.')
        return append(entries, options)
      }
      expect((await pushed(REPOSITORY, 1)).status).to.equal(202)
      const answer = await askToken(withRole('Owner', HERE), `repository:${REPOSITORY}:pull,push,delete`)
      expect([answer.status, answer.body.code]).to.deep.equal([429, 'TOO_MANY_REQUESTS'])
      const other = withRole('Owner', `/boundaries/${OTHER}`)
      expect((await askToken(other, `repository:${ELSEWHERE}:pull`)).status).to.equal(200)
    })

    it('takes any number of notifications from the registry, but few without its secret', async () => {
      const limited = await registryFacade({ limits: { anonymousRequestsPerMinute: 5 } }, { clock: stillClock })
      try {
        const send = (shown: string) =>
          request(limited.facade.app)
            .post('/v1/internal/registries/notify')
            .set('x-freehold-registry-secret', shown)
            .send({ events: [] })
        const statuses = async (shown: string) => {
          const found: number[] = []
          for (let at = 0; at < 12; at += 1) found.push((await send(shown)).status)
          return new Set(found)
        }
        expect([...(await statuses(limited.world.service.notifySecret()))]).to.deep.equal([202])
        expect([...(await statuses('wrong'))]).to.deep.equal([401, 429])
      } finally {
        await limited.facade.stop()
      }
    })
  })

  // The registry repeats a notification until it is accepted, and sends no other meanwhile.
  for (const [where, refused] of [
    ['has reached its limit of objects', { denial: { policy: OBJECT_COUNT_POLICY, message: 'this boundary is full' } }],
    ['is being deleted', { causes: [{ field: '', message: 'the namespace is being terminated' }] }],
  ] as const)
    it(`accepts a notification for a boundary that ${where}`, async () => {
      const repository = `${BOUNDARY}/shop/jobs/${randomUUID()}`
      const target = { repository, digest: `sha256:${'c'.repeat(64)}`, mediaType: 'application/manifest' }
      facade.client.fail('create', RegistryRepository.resource, () => {
        throw new KubeError('Forbidden', 'Cannot create it.', { status: 403, ...refused })
      })
      const { status } = await notified({ action: 'push', target })
      expect(status).to.equal(202)
      const told = await world.service.audit.newest(10, (entry) => entry.repository === repository)
      expect(told).to.have.lengthOf(1)
    })

  it('rejects notifications without the secret of the registry', async () => {
    const repository = `${BOUNDARY}/shop/containers/made-up`
    const target = { repository, digest: `sha256:${'a'.repeat(64)}`, mediaType: 'application/manifest' }
    for (const shown of [undefined, '', 'undefined', 'wrong']) {
      const asked = request(facade.app).post('/v1/internal/registries/notify')
      if (shown !== undefined) asked.set('x-freehold-registry-secret', shown)
      const answer = await asked.send({ events: [{ id: randomUUID(), action: 'push', target }] })
      expect(answer.status, shown).to.equal(401)
    }
    const { items: made } = await facade.client.list<RegistryRepository & KubeObject>(RegistryRepository.resource)
    expect(made.filter(({ spec }) => spec.repository === repository)).to.deep.equal([])
  })

  it('asks for the secret of the registry before it reads a notification', async () => {
    const send = (body: object, shown = '') =>
      request(facade.app)
        .post('/v1/internal/registries/notify')
        .set('x-freehold-registry-secret', shown)
        .set('content-type', 'application/vnd.docker.distribution.events.v2+json')
        .send(JSON.stringify(body).slice(0, -1))
    expect((await send({ events: [] })).status).to.equal(401)
    const { status, body } = await send({ events: [] }, world.service.notifySecret())
    expect([status, body.code]).to.deep.equal([400, 'MODEL_BINDING_FAILED'])
  })
})
