import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { CLUSTER } from '../../../test/worlds/facadeServer.ts'
import { BOUNDARY, OWNER, startShop } from '../../../test/worlds/shop.ts'
import { sourceTemplateName } from '../../contracts/blueprints/sources.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../core/names.ts'
import { BlueprintSource } from '../../crds/blueprintSources.ts'
import { BlueprintTemplate } from '../../crds/blueprints.ts'
import { DEFAULT_BLUEPRINTS } from '../../crds/defaultBlueprints.ts'
import { DenyAssignment } from '../../crds/rbac.ts'
import { DeploymentSource } from '../../crds/sources.ts'

const B = `/boundaries/${BOUNDARY}/resources/blueprints`
const OUTER = boundaryNamespace(BOUNDARY)
const URL = 'https://git.example.com/acme/shop.git'
const HOST = randomUUID()

describe('blueprint sources over REST', () => {
  let world: Awaited<ReturnType<typeof startShop>>
  beforeEach(async () => {
    world = await startShop()
    const credentials = { secretName: 'token' }
    const host = { provider: 'Gitea', displayName: 'Host', baseUrl: 'https://git.example.com', credentials }
    world.put(DeploymentSource, HOST, host, OUTER)
  })
  afterEach(() => world.stop())

  const add = (body: object = { repositoryUrl: URL }) => world.ask('post', `${B}/sources`).send(body)
  const outcomeOf = async (body: object) => {
    const answer = await add(body)
    return `${answer.status} ${answer.body.code ?? answer.body.provider}`
  }
  /** Plays the controller. */
  const reads = (id: string, slug: string, content: string, status: object = {}) => {
    world.client.edit(BlueprintSource.resource, { namespace: OUTER, name: id }, (source) => {
      const { requests } = source.spec as { requests: { syncAt?: string } }
      const known = { state: 'Ready', revision: 'abc', templateCount: 1, invalidCount: 2 }
      const lastSyncAt = '2026-01-01T00:00:00.000Z'
      const { generation: syncedGeneration } = source.metadata
      source.status = { ...known, lastSyncAt, syncedGeneration, syncedAt: requests.syncAt, ...status }
    })
    return world.put(BlueprintTemplate, sourceTemplateName(id, slug), { slug, content, sourceId: id }, OUTER)
  }

  it('sorts by creation, the newest first, and filters by status and time', async () => {
    const { id } = (await add({ repositoryUrl: URL, path: '/a' })).body
    world.client.edit(BlueprintSource.resource, { namespace: OUTER, name: id }, ({ metadata }) => {
      metadata.creationTimestamp = '2026-01-01T00:00:00Z'
    })
    expect(await outcomeOf({ repositoryUrl: URL, path: '/b' })).to.equal('201 Git')
    const paths = async (query: string) => {
      const { status, body } = await world.ask('get', `${B}/sources?${query}`)
      return [status, ...(body.items ?? []).map(({ path }: { path: string }) => path)]
    }
    expect(await paths('')).to.deep.equal([200, '/b', '/a'])
    expect(await paths('sort=createdAt')).to.deep.equal([200, '/a', '/b'])
    expect(await paths('sort=status&filter=status:eq:pending')).to.have.length(3)
    expect(await paths('filter=status:eq:Ready')).to.deep.equal([200])
    expect(await paths('filter=createdAt:ge:2099-01-01T00:00:00Z')).to.deep.equal([200])
  })

  const refusals: [string, object, string][] = [
    ['a public repository of an unknown host', { repositoryUrl: URL }, '201 Git'],
    ['a repository of a known host', { repositoryUrl: 'https://github.com/acme/shop' }, '201 GitHub'],
    ['a repository of a connected host', { installationId: HOST, repositoryId: '7' }, '201 Gitea'],
    ['an address with its full name', { repositoryUrl: URL, repositoryFullName: 'Acme/shop' }, '201 Git'],
    ['an id with its full name', { installationId: HOST, repositoryId: '7', repositoryFullName: 'a/b' }, '201 Gitea'],
    ['an address with another full name', { repositoryUrl: URL, repositoryFullName: 'acme/till' }, '400 BAD_REQUEST'],
    ['a full name alone', { repositoryFullName: 'acme/shop' }, '400 BAD_REQUEST'],
    ['no repository', {}, '400 BAD_REQUEST'],
    ['an address and an id', { repositoryUrl: URL, installationId: HOST, repositoryId: '7' }, '400 BAD_REQUEST'],
    ['an installation without a repository', { installationId: HOST }, '400 BAD_REQUEST'],
    ['a link-local address', { repositoryUrl: 'https://169.254.169.254/x.git' }, '400 URL_NOT_ALLOWED'],
    ['an address without TLS', { repositoryUrl: 'http://git.example.com/x.git' }, '400 URL_NOT_ALLOWED'],
    ['an unknown installation', { installationId: randomUUID(), repositoryId: '7' }, '422 REFERENCE_NOT_FOUND'],
    ['a branch that starts with dashes', { repositoryUrl: URL, ref: '--upload-pack=x' }, '400 BAD_REQUEST'],
    ['a path with ".."', { repositoryUrl: URL, path: '/../x' }, '400 BAD_REQUEST'],
    ['an empty path', { repositoryUrl: URL, path: '' }, '400 BAD_REQUEST'],
    ['a path with a space', { repositoryUrl: URL, path: '/our blueprints' }, '201 Git'],
  ]
  for (const [sentence, body, expected] of refusals)
    it(`answers ${expected} for ${sentence}`, async () => expect(await outcomeOf(body)).to.equal(expected))

  it('rejects a change to what another source reads', async () => {
    await add({ repositoryUrl: URL, path: '/a' })
    const { body } = await add({ repositoryUrl: URL, path: '/b' })
    const change = (path: string) => world.ask('patch', `${B}/sources/${body.id}`).send({ path })
    expect((await change('/a')).body.code).to.equal('ALREADY_EXISTS')
    expect((await change('/b')).status).to.equal(200)
    expect((await change('/c')).status).to.equal(200)
  })

  it('normalizes the path', async () => {
    const { body } = await add({ repositoryUrl: URL, path: './.github/' })
    expect(body.path).to.equal('/.github')
    const change = (path: string) => world.ask('patch', `${B}/sources/${body.id}`).send({ path })
    expect((await change('shop/')).body.path).to.equal('/shop')
    expect((await change('/shop/..')).body.code).to.equal('BAD_REQUEST')
    expect((await change('')).body.code).to.equal('BAD_REQUEST')
    expect(await outcomeOf({ repositoryUrl: URL, path: './shop' })).to.equal('409 ALREADY_EXISTS')
    // kubectl may write it like this.
    world.put(BlueprintSource, randomUUID(), { repositoryUrl: URL, path: './docs/' }, OUTER)
    expect(await outcomeOf({ repositoryUrl: URL, path: '/docs' })).to.equal('409 ALREADY_EXISTS')
  })

  it('derives repositoryFullName from the address before the first sync', async () => {
    expect((await add()).body).to.include({ status: 'Pending', repositoryFullName: 'acme/shop' })
    const connected = await add({ installationId: HOST, repositoryId: '7' })
    expect(connected.body).to.include({ status: 'Pending', repositoryFullName: null })
  })

  it('rejects a second source with the same repository, branch and path', async () => {
    expect(await outcomeOf({ repositoryUrl: URL })).to.equal('201 Git')
    expect(await outcomeOf({ repositoryUrl: URL.replace('.git', '/') })).to.equal('409 ALREADY_EXISTS')
    expect(await outcomeOf({ repositoryUrl: URL, ref: 'next' })).to.equal('201 Git')
    expect(await outcomeOf({ repositoryUrl: URL, path: '/more' })).to.equal('201 Git')
  })

  it('returns QUOTA_EXCEEDED for the 21st source of a boundary', async () => {
    for (let index = 0; index < 20; index += 1)
      world.put(BlueprintSource, randomUUID(), { repositoryUrl: `${URL}${index}` }, OUTER)
    const { status, body } = await add()
    expect([status, body.code, body.quota]).to.deep.equal([422, 'QUOTA_EXCEEDED', 'blueprintSources'])
  })

  it('starts a sync on request, with 202 and then 200 while it runs', async () => {
    const { body: source } = await add()
    expect(source).to.include({ status: 'Pending', ref: 'main', path: '/', enabled: true })
    reads(source.id, 'shop', DEFAULT_BLUEPRINTS[0] ?? '')
    const sync = `${B}/sources/${source.id}/sync`
    const first = await world.ask('post', sync)
    expect([first.status, first.body.status]).to.deep.equal([202, 'Syncing'])
    expect((await world.ask('post', sync)).status).to.equal(200)
    const { body: status } = await world.ask('get', `${B}/catalog/status`)
    expect(status).to.deep.include({ isSyncing: true, invalidCount: 2, lastSyncAt: '2026-01-01T00:00:00.000Z' })
    expect(status.sources.map(({ id }: { id: string }) => id)).to.deep.equal([source.id])
    expect(status.templateCount).to.equal(status.builtIn.templateCount + 1)
    expect((await world.ask('post', `${B}/catalog/refresh`)).status).to.equal(200)
    reads(source.id, 'shop', DEFAULT_BLUEPRINTS[0] ?? '')
    const refreshed = await world.ask('post', `${B}/catalog/refresh`)
    expect([refreshed.status, refreshed.body.id]).to.deep.equal([202, status.builtIn.id])
    expect((await world.ask('get', `${B}/sources`)).body.items[0].status).to.equal('Syncing')
  })

  it('warns that the earlier template stays for an invalid file, and shows no revision for it', async () => {
    const { body: source } = await add()
    const error = { severity: 'Error', code: 'Syntax', path: '', line: 1, message: 'is no YAML' }
    const invalidTemplates = [{ path: 'shop.yaml', errors: [error], keeps: 'vector-database' }]
    const { metadata } = reads(source.id, 'vector-database', DEFAULT_BLUEPRINTS[0] ?? '', { invalidTemplates })
    await world.client.mergePatch(
      BlueprintTemplate.resource,
      { namespace: OUTER, name: metadata.name },
      { spec: { sourcePath: 'shop.yaml' } },
    )
    const [shown] = (await world.ask('get', `${B}/sources`)).body.items[0].invalidTemplates
    expect(shown.errors).to.deep.equal([
      { ...error, column: null },
      {
        ...{ severity: 'Warning', code: 'SpecInvalid', path: '', line: null, column: null },
        message: 'blueprint "vector-database" stays as it was until this file is fixed or deleted',
      },
    ])
    expect((await world.ask('get', `${B}/vector-database`)).body).to.include({ sourceId: source.id, revision: null })
  })

  it('shows the next attempt after a failure', async () => {
    const { body: source } = await add()
    const failing = { state: 'Failing', message: 'The host is away.', nextAttemptAt: '2026-01-01T00:05:00.000Z' }
    reads(source.id, 'shop', DEFAULT_BLUEPRINTS[0] ?? '', failing)
    expect((await world.ask('get', `${B}/sources`)).body.items[0]).to.include({
      status: 'Failing',
      message: 'The host is away. The next attempt is at 2026-01-01T00:05:00.000Z.',
    })
  })

  it('ranks templates of sources between boundary and platform, and the older source first', async () => {
    const [content = ''] = DEFAULT_BLUEPRINTS
    const slug = 'vector-database'
    const { body: older } = await add()
    const { body: younger } = await add({ repositoryUrl: URL, path: '/more' })
    for (const [id, at] of [
      [younger.id, '2026-01-02T00:00:00Z'],
      [older.id, '2026-01-01T00:00:00Z'],
    ]) {
      reads(id, slug, content.replace('version: 1.0.0', `version: ${id === older.id ? '1.0.1' : '1.0.2'}`))
      world.client.edit(BlueprintSource.resource, { namespace: OUTER, name: id }, ({ metadata }) => {
        metadata.creationTimestamp = at
      })
    }
    const { body: shown } = await world.ask('get', `${B}/${slug}`)
    expect(shown).to.include({
      origin: 'Source',
      sourceId: older.id,
      version: '1.0.1',
      revision: 'abc',
      isEnabled: true,
    })
    expect((await world.ask('delete', `${B}/templates/${slug}`)).body).to.include({
      code: 'NOT_OWNED',
      origin: 'Source',
    })
    await world.ask('patch', `${B}/sources/${older.id}`).send({ enabled: false })
    expect((await world.ask('get', `${B}/${slug}`)).body.sourceId).to.equal(younger.id)
    await world.ask('patch', `${B}/sources/${younger.id}`).send({ enabled: false })
    world.put(BlueprintTemplate, slug, { slug, content }, SYSTEM_NAMESPACE)
    expect((await world.ask('get', `${B}/${slug}`)).body).to.include({ origin: 'BuiltIn', isEnabled: true })
    const own = content.replace('version: 1.0.0', 'version: 2.0.0')
    expect((await world.ask('post', `${B}/templates`).send({ content: own })).status).to.equal(201)
    expect((await world.ask('get', `${B}/${slug}`)).body).to.include({ origin: 'Boundary', version: '2.0.0' })
  })

  it('disables the templates of a disabled source and deletes them with it', async () => {
    const { body: source } = await add()
    const slug = 'vector-database'
    reads(source.id, slug, DEFAULT_BLUEPRINTS[0] ?? '')
    const path = `${B}/sources/${source.id}`
    expect((await world.ask('patch', path).send({ enabled: false, ref: null })).body).to.include({
      status: 'Disabled',
      ref: 'main',
    })
    const { body: shown } = await world.ask('get', `${B}/${slug}`)
    expect(shown.isEnabled).to.equal(false)
    const deploy = `/boundaries/${BOUNDARY}/resourcegroups/shop/resources/blueprints/${slug}/deploy`
    const refused = await world.ask('post', deploy).send({ blueprintId: shown.id, clusterId: CLUSTER, name: 'a' })
    expect([refused.status, refused.body.code]).to.deep.equal([409, 'INVALID_STATE'])
    expect((await world.ask('post', `${path}/sync`)).status).to.equal(409)
    expect((await world.ask('delete', path)).status).to.equal(204)
    expect((await world.ask('get', `${B}/${slug}`)).status).to.equal(404)
  })

  it('requires the right to use the credentials for creation and for changes', async () => {
    const { body: source } = await add({ installationId: HOST, repositoryId: '7' })
    const denied = { principalId: OWNER, principalType: 'User', reason: 'test', scopeIncarnation: 'life' }
    const token = { actions: ['kernel/deployments/token'], dataActions: [], scope: `/boundaries/${BOUNDARY}` }
    world.put(DenyAssignment, randomUUID(), { ...denied, ...token }, OUTER)
    const refused = await add({ installationId: HOST, repositoryId: '8' })
    expect([refused.status, refused.body.action]).to.deep.equal([403, 'kernel/deployments/token'])
    const path = `${B}/sources/${source.id}`
    expect((await world.ask('patch', path).send({ path: '/secret' })).status).to.equal(403)
    expect((await world.ask('patch', path).send({ enabled: false, path: '/' })).status).to.equal(200)
    expect(await outcomeOf({ repositoryUrl: URL })).to.equal('201 Git')
  })

  it('prevents the deletion of the deployment source with its credentials', async () => {
    const { body: source } = await add({ installationId: HOST, repositoryId: '7' })
    const { status, body } = await world.ask('delete', `/boundaries/${BOUNDARY}/sources/gitea/${HOST}`, OWNER)
    expect([status, body.usedBy?.[0]?.name]).to.deep.equal([409, source.id])
  })

  it('returns QUOTA_EXCEEDED for the 201st template of a boundary itself', async () => {
    const [content = ''] = DEFAULT_BLUEPRINTS
    for (let index = 0; index < 200; index += 1)
      world.put(BlueprintTemplate, `own-${index}`, { slug: `own-${index}`, content: 'format: 1' }, OUTER)
    const { status, body } = await world.ask('post', `${B}/templates`).send({ content })
    expect([status, body.code, body.quota]).to.deep.equal([422, 'QUOTA_EXCEEDED', 'blueprintTemplates'])
  })
})
