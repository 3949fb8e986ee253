import { expect } from 'chai'
import { BOUNDARY, OWNER, startShop } from '../../../test/worlds/shop.ts'
import { OWN_TEMPLATES_MAX, SOURCES_MAX, sourceTemplateName } from '../../contracts/blueprints/catalogue.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { BlueprintSource } from '../../crds/blueprintSources.ts'
import { BlueprintTemplate } from '../../crds/blueprints.ts'
import { RoleDefinition } from '../../crds/rbac.ts'
import { DeploymentSource } from '../../crds/sources.ts'

const B = `/boundaries/${BOUNDARY}/resources/blueprints`
const OUTER = boundaryNamespace(BOUNDARY)
const WRITER = '33333333-3333-4333-8333-333333333333'
const READER = '44444444-4444-4444-8444-444444444444'
const [FIRST, SECOND] = ['7b0c5d6e-1f2a-4b3c-8d4e-5f6a7b8c9d0e', '8c1d6e7f-2a3b-4c4d-9e5f-6a7b8c9d0e1f']
const URL_OF = 'https://git.example.com/acme/blueprints.git'

const template = (slug: string, name = 'A template') => `format: 1
slug: ${slug}
name: ${name}
version: 1.0.0
components:
  - { name: vectors, collection: vectorclusters, resourceName: "\${deploy.name}" }
`

describe('sources of blueprints over REST', () => {
  let world: Awaited<ReturnType<typeof startShop>>
  beforeEach(async () => {
    world = await startShop()
    world.grant(READER, 'Reader', `/boundaries/${BOUNDARY}`)
  })
  afterEach(() => world.stop())

  const add = (body: object, as = OWNER) => world.ask('post', `${B}/sources`, as).send(body)
  const change = (id: string, body: object) => world.ask('patch', `${B}/sources/${id}`).send(body)
  const put = (id: string, spec: object = {}, status: object = {}, creationTimestamp = '2026-01-01T00:00:00Z') => {
    const { apiVersion, kind, resource } = BlueprintSource
    const metadata = { name: id, namespace: OUTER, creationTimestamp, generation: 1 }
    const whole = BlueprintSource.spec.parse({ repositoryUrl: URL_OF, ...spec })
    const object = world.client.seed(resource, {
      apiVersion,
      kind,
      metadata,
      spec: whole,
      status: { syncedGeneration: 1, ...status },
    } as KubeObject)
    world.caches.get(resource).observeWrite(object)
  }
  const keep = (slug: string, source: string, content = template(slug)) =>
    world.put(BlueprintTemplate, sourceTemplateName(slug, source), { slug, content, sourceId: source }, OUTER)

  it('are made of an address, changed, listed and removed', async () => {
    const made = await add({ repositoryUrl: URL_OF })
    expect([made.status, made.body]).to.deep.equal([
      201,
      {
        ...{ id: made.body.id, provider: 'Git', repositoryUrl: URL_OF, repositoryFullName: 'acme/blueprints' },
        ...{ repositoryId: null, installationId: null, ref: 'main', path: '/', enabled: true, status: 'Pending' },
        ...{ message: null, revision: null, templateCount: 0, invalidTemplates: [], lastSyncAt: null },
        createdAt: made.body.createdAt,
      },
    ])
    const { id } = made.body
    expect((await change(id, { ref: 'next', enabled: null })).body).to.include({
      ref: 'next',
      path: '/',
      enabled: true,
    })
    expect((await change(id, { enabled: false })).body).to.include({ ref: 'next', enabled: false, status: 'Disabled' })
    expect((await change(id, { repositoryUrl: 'https://git.example.com/x' })).status).to.equal(400)
    expect((await world.ask('get', `${B}/sources?filter=enabled:eq:false`)).body.items).to.have.length(1)
    expect((await world.ask('delete', `${B}/sources/${id}`)).status).to.equal(204)
    expect((await world.ask('delete', `${B}/sources/${id}`)).status).to.equal(404)
  })

  const refused: [string, object, number, string][] = [
    ['neither an address nor an installation', {}, 400, 'BAD_REQUEST'],
    ['half an installation', { installationId: '1' }, 400, 'BAD_REQUEST'],
    [
      'an address and an installation',
      { repositoryUrl: URL_OF, installationId: '1', repositoryId: '1' },
      400,
      'BAD_REQUEST',
    ],
    ['an address without TLS', { repositoryUrl: 'http://git.example.com/x' }, 400, 'URL_NOT_ALLOWED'],
    ['an address over ssh', { repositoryUrl: 'ssh://git@git.example.com/x' }, 400, 'URL_NOT_ALLOWED'],
    ['an address of the inside', { repositoryUrl: 'https://10.0.0.1/x' }, 400, 'URL_NOT_ALLOWED'],
    ['an address with a password', { repositoryUrl: 'https://a:b@git.example.com/x' }, 400, 'URL_NOT_ALLOWED'],
    ['an address with a query', { repositoryUrl: 'https://git.example.com/x?a=b' }, 400, 'BAD_REQUEST'],
    ['a folder with odd characters', { repositoryUrl: URL_OF, path: '/a\nb' }, 400, 'BAD_REQUEST'],
    ['a provider that there is not', { repositoryUrl: URL_OF, provider: 'Circuit' }, 400, 'BAD_REQUEST'],
    ['an unknown field', { repositoryUrl: URL_OF, branch: 'main' }, 400, 'MODEL_BINDING_FAILED'],
    ['an installation that there is not', { installationId: '1', repositoryId: '1' }, 422, 'REFERENCE_NOT_FOUND'],
  ]
  for (const [title, body, status, code] of refused) {
    it(`are refused for ${title}`, async () => {
      const answer = await add(body)
      expect([answer.status, answer.body.code]).to.deep.equal([status, code])
    })
  }

  it('are one for the same folder of a repository at a ref, and so many in all', async () => {
    put(FIRST, { path: '/a' })
    expect((await add({ repositoryUrl: `${URL_OF.replace('.git', '')}/`, path: 'a/' })).body).to.include({
      code: 'ALREADY_EXISTS',
      sourceId: FIRST,
    })
    const { body } = await add({ repositoryUrl: URL_OF, path: '/b' })
    expect((await change(body.id, { path: '/a' })).body.code).to.equal('ALREADY_EXISTS')
    expect((await change(body.id, { path: '/b' })).status).to.equal(200)
    for (let index = 2; index < SOURCES_MAX; index += 1) await add({ repositoryUrl: URL_OF, path: `/${index}` })
    const last = await add({ repositoryUrl: URL_OF, path: '/last' })
    expect([last.status, last.body.code, last.body.limit]).to.deep.equal([422, 'QUOTA_EXCEEDED', SOURCES_MAX])
  })

  it('are made of an installation by whoever may have a token of it', async () => {
    const spec = {
      provider: 'Gitea',
      displayName: 'Shop',
      baseUrl: 'https://git.example.com',
      credentials: { secretName: 'x' },
    }
    world.put(DeploymentSource, SECOND, spec, OUTER)
    const body = { installationId: SECOND, repositoryId: '5', repositoryFullName: 'acme/shop' }
    const made = await add(body)
    expect(made.body).to.include({ ...body, provider: 'Gitea', repositoryUrl: null })
    world.put(DeploymentSource, FIRST, { ...spec, provider: 'GitHub', installationId: '77' }, OUTER)
    expect((await add({ ...body, installationId: '77' })).body.provider).to.equal('GitHub')
    expect((await add({ ...body, installationId: FIRST })).body.code).to.equal('REFERENCE_NOT_FOUND')
    const scope = `/boundaries/${BOUNDARY}`
    const actions = ['blueprints/read', 'blueprints/templates/write']
    world.put(RoleDefinition, SECOND, { displayName: 'Librarian', actions, assignableScopes: ['/boundaries/*'] })
    world.grant(WRITER, 'Librarian', scope)
    expect((await add({ repositoryUrl: URL_OF }, WRITER)).status).to.equal(201)
    const without = await add({ ...body, ref: 'next' }, WRITER)
    expect([without.status, without.body.action]).to.deep.equal([403, 'kernel/deployments/token'])
    const moved = await world.ask('patch', `${B}/sources/${made.body.id}`, WRITER).send({ path: '/secret' })
    expect(moved.status).to.equal(403)
    expect((await world.ask('patch', `${B}/sources/${made.body.id}`, WRITER).send({ enabled: false })).status).to.equal(
      200,
    )
  })

  it('are read on request, once at a time, and not while they are switched off', async () => {
    put(FIRST, {}, { state: 'Ready', templateCount: 1 })
    put(SECOND, { path: '/b', enabled: false })
    expect((await world.ask('post', `${B}/sources/${FIRST}/sync`, READER)).status).to.equal(403)
    const first = await world.ask('post', `${B}/sources/${FIRST}/sync`)
    expect([first.status, first.body.status]).to.deep.equal([202, 'Syncing'])
    expect((await world.ask('post', `${B}/sources/${FIRST}/sync`)).status).to.equal(200)
    expect((await world.ask('post', `${B}/sources/${SECOND}/sync`)).body.code).to.equal('INVALID_STATE')
    expect((await world.ask('post', `${B}/sources/${BOUNDARY}/sync`)).status).to.equal(404)
  })

  it('are told of together with what the platform brings, and read together', async () => {
    world.put(BlueprintTemplate, 'store', { slug: 'store', content: template('store') }, SYSTEM_NAMESPACE)
    const invalid = { path: 'x.yaml', errors: [{ severity: 'Error', code: 'Syntax', path: '', message: 'is none' }] }
    put(
      FIRST,
      {},
      {
        state: 'Ready',
        templateCount: 2,
        invalidCount: 1,
        invalidTemplates: [invalid],
        lastSyncAt: '2026-01-02T00:00:00Z',
      },
    )
    const { body } = await world.ask('get', `${B}/catalog/status`, READER)
    expect(body).to.deep.include({
      templateCount: 3,
      invalidCount: 1,
      lastSyncAt: '2026-01-02T00:00:00Z',
      isSyncing: false,
    })
    expect(body.builtIn).to.include({ status: 'Ready', templateCount: 1, repositoryUrl: null })
    expect(body.sources[0].invalidTemplates[0].errors[0]).to.include({ code: 'Syntax', line: null })
    const refreshed = await world.ask('post', `${B}/catalog/refresh`)
    expect([refreshed.status, refreshed.body.id, refreshed.body.status]).to.deep.equal([
      202,
      body.builtIn.id,
      'Syncing',
    ])
    expect((await world.ask('post', `${B}/catalog/refresh`)).status).to.equal(200)
    expect((await world.ask('get', `${B}/catalog/status`)).body.isSyncing).to.equal(true)
  })

  it('hide what the platform brings, the older before the newer, and stand behind the boundary', async () => {
    const originOf = async (slug: string) => {
      const { body } = await world.ask('get', `${B}/${slug}`)
      const { body: list } = await world.ask('get', `${B}?filter=slug:eq:${slug}`)
      expect(list.items.map(({ id }: { id: string }) => id)).to.deep.equal(body.id === undefined ? [] : [body.id])
      expect((await world.ask('get', `${B}/${body.id}`)).body.id).to.equal(body.id)
      return `${body.origin} ${body.sourceId ?? ''} ${body.isEnabled}`.replace('  ', ' ')
    }
    world.put(BlueprintTemplate, 'store', { slug: 'store', content: template('store') }, SYSTEM_NAMESPACE)
    keep('store', FIRST)
    expect(await originOf('store'), 'of a source that is gone').to.equal('BuiltIn true')
    put(SECOND, { path: '/b' }, { revision: 'abc' }, '2026-01-01T00:00:00Z')
    put(FIRST, {}, {}, '2026-01-02T00:00:00Z')
    keep('store', SECOND)
    expect(await originOf('store')).to.equal(`Source ${SECOND} true`)
    expect((await world.ask('get', `${B}/store`)).body.revision).to.equal('abc')
    const refusal = await world.ask('delete', `${B}/templates/store`)
    expect([refusal.status, refusal.body.code, refusal.body.origin]).to.deep.equal([409, 'NOT_OWNED', 'Source'])
    await change(SECOND, { enabled: false })
    expect(await originOf('store')).to.equal(`Source ${FIRST} true`)
    await change(FIRST, { enabled: false })
    expect(await originOf('store')).to.equal('BuiltIn true')
    expect((await world.ask('post', `${B}/templates`).send({ content: template('store') })).status).to.equal(201)
    expect(await originOf('store')).to.equal('Boundary true')
  })

  it('that are switched off show what nobody else has, and it is not deployed', async () => {
    put(FIRST, { enabled: false })
    keep('search', FIRST)
    const { body } = await world.ask('get', `${B}/search`)
    expect(body).to.include({ origin: 'Source', isEnabled: false, isValid: true })
    const path = `/boundaries/${BOUNDARY}/resourcegroups/shop/resources/blueprints/search/deploy`
    const answer = await world
      .ask('post', path)
      .send({ blueprintId: body.id, clusterId: BOUNDARY, name: 'find', parameters: {} })
    expect([answer.status, answer.body.code]).to.deep.equal([409, 'INVALID_STATE'])
  })

  it('say of one that kubectl made why it is not read', async () => {
    put(FIRST, {}, { phase: 'NameOccupied', statusMessage: 'It is read already.' })
    const { body } = await world.ask('get', `${B}/sources`)
    expect(body.items[0]).to.include({ status: 'Failing', message: 'It is read already.' })
  })

  it('do not count among the templates that a boundary keeps itself', async () => {
    put(FIRST)
    keep('from-git', FIRST)
    for (let index = 1; index < OWN_TEMPLATES_MAX; index += 1)
      world.put(BlueprintTemplate, `t${index}`, { slug: `t${index}`, content: template(`t${index}`) }, OUTER)
    const post = (slug: string) => world.ask('post', `${B}/templates`).send({ content: template(slug) })
    expect((await post('last')).status).to.equal(201)
    const beyond = await post('one-more')
    expect([beyond.status, beyond.body.code, beyond.body.limit]).to.deep.equal([
      422,
      'QUOTA_EXCEEDED',
      OWN_TEMPLATES_MAX,
    ])
    expect((await post('last')).status).to.equal(200)
  })
})
