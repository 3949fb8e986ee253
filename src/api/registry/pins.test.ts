import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { request } from '../../../test/make/request.ts'
import { bearer } from '../../../test/worlds/facadeServer.ts'
import { BOUNDARY, HERE, OTHER, REPOSITORY, registryFacade } from '../../../test/worlds/registryFacade.ts'
import { groupNamespace } from '../../core/names.ts'
import { refOf } from '../../core/object.ts'
import { PlatformJob } from '../../crds/jobs.ts'
import { RegistryPin } from '../../crds/registry.ts'

describe('registry pins over REST', () => {
  type World = Awaited<ReturnType<typeof registryFacade>>
  let facade: World['facade']
  let withRole: World['withRole']
  let deny: World['deny']
  let asOwner: World['asOwner']
  beforeEach(async () => {
    ;({ facade, withRole, deny, asOwner } = await registryFacade())
  })
  afterEach(() => facade.stop())

  it('rejects repositories that cannot exist, and returns expiresAt in UTC', async () => {
    const pin = (repository: string) => {
      const body = { boundary: BOUNDARY, repository, digests: [], expiresAt: '2999-01-01T02:00:00+02:00' }
      return asOwner('put', '/v1/internal/registries/pins').send(body)
    }
    for (const name of [`${BOUNDARY}/shop/zz/report`, `${BOUNDARY}/shop/jobs`, `${OTHER}/shop/jobs/report`])
      expect((await pin(name)).status, name).to.equal(400)
    const { status, body } = await pin(REPOSITORY)
    expect([status, body.expiresAt]).to.deep.equal([200, '2999-01-01T00:00:00Z'])
  })

  it('changes nothing and keeps the ETag if a pin is sent back', async () => {
    const path = '/v1/internal/registries/pins'
    const body = { boundary: BOUNDARY, repository: REPOSITORY, digests: [], expiresAt: '2999-01-01T00:00:00Z' }
    const made = await asOwner('put', path).send({ ...body, keepLast: 3 })
    const { body: list } = await asOwner('get', `${path}?boundary=${BOUNDARY}`)
    const again = await asOwner('put', path).send(list.items[0])
    expect([again.status, again.body]).to.deep.equal([200, made.body])
    expect(again.headers.etag).to.equal(made.headers.etag)
  })

  /** Deletes pins right after they are listed, as a concurrent caller would. @returns restores the client */
  function removingPinsOnceListed(): () => void {
    const list = facade.client.list.bind(facade.client)
    facade.client.list = (async (...given: Parameters<typeof list>) => {
      const found = await list(...given)
      if (given[0] === RegistryPin.resource)
        for (const pin of found.items) await facade.client.remove(RegistryPin.resource, refOf(pin))
      return found
    }) as typeof list
    return () => {
      facade.client.list = list
    }
  }

  it('returns 204 for a deletion if the pin is deleted concurrently', async () => {
    const [path, query] = ['/v1/internal/registries/pins', `?boundary=${BOUNDARY}&repository=${REPOSITORY}`]
    const body = { boundary: BOUNDARY, repository: REPOSITORY, digests: [], expiresAt: '2999-01-01T00:00:00Z' }
    expect((await asOwner('put', path).send(body)).status).to.equal(200)
    const restore = removingPinsOnceListed()
    const { status } = await asOwner('delete', path + query)
    restore()
    expect(status).to.equal(204)
  })

  it('returns 409 for a deletion with If-Match if the pin is changed concurrently or does not exist', async () => {
    const [path, query] = ['/v1/internal/registries/pins', `?boundary=${BOUNDARY}&repository=${REPOSITORY}`]
    const body = { boundary: BOUNDARY, repository: REPOSITORY, digests: [], expiresAt: '2999-01-01T00:00:00Z' }
    const put = (keepLast: number) => asOwner('put', path).send({ ...body, keepLast })
    const etag = (await put(3)).headers.etag ?? ''
    const remove = facade.client.remove.bind(facade.client)
    facade.client.remove = (async (...given: Parameters<typeof remove>) => {
      facade.client.remove = remove
      await put(4)
      return remove(...given)
    }) as typeof remove
    const held = await asOwner('delete', path + query).set('if-match', etag)
    facade.client.remove = remove
    expect([held.status, held.body.code]).to.deep.equal([409, 'CONFLICT'])
    expect(held.text).to.include(REPOSITORY)
    expect((await asOwner('get', path + query)).body.items).to.have.length(1)
    expect((await asOwner('delete', path + query)).status).to.equal(204)
    const nothing = await asOwner('delete', path + query).set('if-match', etag)
    expect([nothing.status, nothing.body.error]).to.deep.equal([
      409,
      'If-Match needs something that exists, and this does not: there is nothing to delete.',
    ])
  })

  it('lists the pins of a boundary or a repository for callers who may change them', async () => {
    const path = '/v1/internal/registries/pins'
    const body = { boundary: BOUNDARY, digests: [], expiresAt: '2999-01-01T00:00:00Z' }
    const names = [REPOSITORY, `${BOUNDARY}/shop/jobs/other`]
    for (const repository of names)
      expect((await asOwner('put', path).send({ ...body, repository })).status).to.equal(200)
    const list = async (query: string) => (await asOwner('get', `${path}?boundary=${query}`)).body
    const repositories = async (query: string) =>
      (await list(query)).items.map((pin: { repository: string }) => pin.repository)
    expect(await repositories(BOUNDARY)).to.have.members(names)
    expect(await repositories(`${BOUNDARY}&repository=${REPOSITORY}`)).to.deep.equal([REPOSITORY])
    expect(await repositories(`${BOUNDARY}&filter=repository:contains:other`)).to.deep.equal([names[1]])
    const [pin] = (await list(`${BOUNDARY}&repository=${REPOSITORY}`)).items
    expect(pin).to.include({ boundary: BOUNDARY, expiresAt: '2999-01-01T00:00:00Z' })
    expect((await asOwner('get', path)).status).to.equal(400)
    expect((await asOwner('get', `${path}?boundary=${randomUUID()}`)).status).to.equal(404)
    const reader = request(facade.app)
      .get(`${path}?boundary=${BOUNDARY}`)
      .set('authorization', bearer(withRole('Reader', `/boundaries/${BOUNDARY}`)))
    expect((await reader).status).to.equal(403)
  })

  it('omits pins of resources that a deny hides, and rejects changes where the caller may not build', async () => {
    const path = '/v1/internal/registries/pins'
    const body = { boundary: BOUNDARY, digests: [], expiresAt: '2999-01-01T00:00:00Z' }
    const [unread, unbuilt] = [`${BOUNDARY}/shop/jobs/unread`, `${BOUNDARY}/shop/jobs/unbuilt`]
    for (const repository of [REPOSITORY, unread, unbuilt])
      expect((await asOwner('put', path).send({ ...body, repository })).status).to.equal(200)
    const person = withRole('Owner', HERE)
    const scopeOf = (name: string) => `${HERE}/resourcegroups/shop/resources/jobs/${name}`
    for (const name of ['unread', 'unbuilt'])
      facade.put(PlatformJob, name, { image: 'busybox' }, groupNamespace(BOUNDARY, 'shop'))
    deny(person, ['jobs/read'], scopeOf('unread'))
    deny(person, ['kernel/deployments/token'], scopeOf('unbuilt'))
    const as = (method: 'get' | 'put' | 'delete', query = '') =>
      request(facade.app)
        [method](path + query)
        .set('authorization', bearer(person))
    const { items } = (await as('get', `?boundary=${BOUNDARY}`)).body
    expect(items.map(({ repository }: { repository: string }) => repository)).to.deep.equal([REPOSITORY])
    const put = await as('put').send({ ...body, repository: unbuilt, keepLast: 7 })
    const removed = await as('delete', `?boundary=${BOUNDARY}&repository=${unbuilt}`)
    expect([put.status, removed.status]).to.deep.equal([403, 403])
    expect(put.body.scope).to.equal(scopeOf('unbuilt'))
    expect((await as('put').send({ ...body, repository: REPOSITORY })).status).to.equal(200)
  })

  it('returns the ETag of a pin if the list is limited to its repository', async () => {
    const path = '/v1/internal/registries/pins'
    const query = `?boundary=${BOUNDARY}&repository=${REPOSITORY}`
    const body = { boundary: BOUNDARY, repository: REPOSITORY, digests: [], expiresAt: '2999-01-01T00:00:00Z' }
    const written = await asOwner('put', path).send(body)
    const { etag = '' } = (await asOwner('get', path + query)).headers
    expect(etag).to.equal(written.headers.etag)
    expect((await asOwner('get', `${path}?boundary=${BOUNDARY}`)).headers).to.not.have.property('etag')
    const changed = await asOwner('put', path)
      .set('if-match', etag)
      .send({ ...body, keepLast: 2 })
    expect(changed.status).to.equal(200)
    expect((await asOwner('delete', path + query).set('if-match', etag)).status).to.equal(409)
    const next = (await asOwner('get', path + query)).headers.etag ?? ''
    expect((await asOwner('delete', path + query).set('if-match', next)).status).to.equal(204)
    expect((await asOwner('get', path + query)).headers).to.not.have.property('etag')
  })

  it('recreates a pin that is deleted concurrently, but returns 409 with If-Match', async () => {
    const path = '/v1/internal/registries/pins'
    const body = { boundary: BOUNDARY, repository: REPOSITORY, digests: [], expiresAt: '2999-01-01T00:00:00Z' }
    const put = () => asOwner('put', path).send({ ...body, keepLast: 7 })
    expect((await asOwner('put', path).send(body)).status).to.equal(200)
    const asBefore = removingPinsOnceListed()
    const { status, body: made } = await put()
    const held = await put().set('if-match', '"abc-7"')
    asBefore()
    expect([status, made.keepLast]).to.deep.equal([200, 7])
    expect([held.status, held.body.code]).to.deep.equal([409, 'CONFLICT'])
  })
})
