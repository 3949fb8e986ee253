import { createHmac, randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { DeploymentSourceDto } from '../../src/api/sources/record.ts'
import { sourceTemplateName } from '../../src/contracts/blueprints/sources.ts'
import { boundaryNamespace } from '../../src/core/names.ts'
import { BlueprintSource } from '../../src/crds/blueprintSources.ts'
import { BlueprintTemplate } from '../../src/crds/blueprints.ts'
import { RoleDefinition } from '../../src/crds/rbac.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { makeRepository } from '../make/gitRepository.ts'
import {
  call,
  type ErrorBody,
  expectCall,
  itemsOf,
  makeBoundary,
  makeCaller,
  uniqueName,
  until,
} from '../worlds/platform.ts'
import { serveGitToPlatform } from '../worlds/providers/gitBackend.ts'
import { administrator, clientWithToken, testPlatform } from '../worlds/tenant.ts'

type Source = {
  id: string
  status: string
  message: string | null
  revision: string | null
  templateCount: number
  invalidTemplates: { path: string; errors: { code: string; line: number | null }[] }[]
}
type Blueprint = {
  id: string
  slug: string
  name: string
  origin: string
  sourceId: string | null
  isEnabled: boolean
  revision: string | null
}
type Begun = { deploymentSourceId: string; webhookUrl: string; webhookSecret: string }

const template = (slug: string, name = 'Search') => `format: 1
slug: ${slug}
name: ${name}
version: 1.0.0
components:
  - { name: vectors, collection: vectorclusters, resourceName: "\${deploy.name}" }
`

/** Git's own server program, asked by the platform over https. */
describe('blueprint sources', () => {
  let folder: string
  let close: (() => Promise<void>) | undefined
  let admin: KubeClient
  let boundaryId: string
  let namespace: string
  let catalogue: string
  let repository: Awaited<ReturnType<typeof makeRepository>>
  let source: Source
  const address = (name: string) => `https://${testPlatform().git.host}/${name}.git`

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-blueprints-'))
    close = await serveGitToPlatform(folder, { username: 'git', password: 'good' }, testPlatform().git)
    admin = await administrator()
    boundaryId = (await makeBoundary()).id
    namespace = boundaryNamespace(boundaryId)
    catalogue = `/boundaries/${boundaryId}/resources/blueprints`
    repository = await makeRepository(folder, 'open/blueprints', { canFilter: true })
  })
  after(async () => {
    await close?.()
    await admin.close()
    await rm(folder, { recursive: true, force: true })
  })

  const sourceNow = async (id = source.id) => {
    const found = (await itemsOf<Source>(`${catalogue}/sources`)).find((one) => one.id === id)
    if (found === undefined) throw new Error(`There is no source ${id}.`)
    return found
  }
  const isAt = (revision: string, id?: string) =>
    until(`the source is at ${revision}`, async () => {
      const found = await sourceNow(id)
      if (found.status !== 'Ready' || found.revision !== revision) throw new Error(JSON.stringify(found))
      return found
    })
  const sync = async () => (await call<Source>('POST', `${catalogue}/sources/${source.id}/sync`)).status
  const ofSources = async () =>
    (await itemsOf<Blueprint>(`${catalogue}?filter=origin:eq:Source`)).map(({ slug, name }) => `${slug} ${name}`).sort()
  const refusal = (work: Promise<unknown>) =>
    work.then(
      () => 'none',
      (error: unknown) =>
        isKubeError(error) ? `${error.status} ${error.denial?.message ?? error.message}` : String(error),
    )

  it('adds the templates of a repository to the catalogue of the boundary', async () => {
    const revision = await repository.push('main', {
      'search.yaml': template('search'),
      'a/store.yaml': template('store'),
      'x.md': '',
    })
    source = (
      await expectCall<Source>(201, 'POST', `${catalogue}/sources`, { repositoryUrl: address('open/blueprints') })
    ).body
    const { templateCount, invalidTemplates } = await isAt(revision)
    expect([templateCount, invalidTemplates]).to.deep.equal([2, []])
    expect(await ofSources()).to.deep.equal(['search Search', 'store Search'])
    const { body } = await expectCall<Blueprint>(200, 'GET', `${catalogue}/search`)
    expect(body).to.include({ origin: 'Source', sourceId: source.id, isEnabled: true, revision })
    const again = await call('POST', `${catalogue}/sources`, { repositoryUrl: address('open/blueprints') })
    expect([again.status, again.body.code]).to.deep.equal([409, 'ALREADY_EXISTS'])
    const kept = await call('DELETE', `${catalogue}/templates/search`)
    expect([kept.status, kept.body.code]).to.deep.equal([409, 'NOT_OWNED'])
  })

  it('follows changed, removed and invalid templates of the repository', async () => {
    const files = {
      'search.yaml': template('search', 'Found'),
      'bad.yaml': 'format: 1\nslug: [',
      'new.json': '{"format":1}',
      'odd.yaml': `${template('odd', 'Odd')}# \u0007\n`,
    }
    const revision = await repository.push('main', files)
    expect(await sync()).to.equal(202)
    const { invalidTemplates, templateCount } = await isAt(revision)
    expect(templateCount).to.equal(1)
    expect(invalidTemplates.map(({ path, errors }) => `${path} ${errors[0]?.code}`)).to.deep.equal([
      'bad.yaml Syntax',
      'new.json MissingField',
      'odd.yaml Syntax',
    ])
    await until('the list follows', async () => (await ofSources()).join() === 'search Found')
    const { body } = await expectCall<{ isSyncing: boolean; invalidCount: number; sources: Source[] }>(
      200,
      'GET',
      `${catalogue}/catalog/status`,
    )
    expect(body).to.deep.include({ isSyncing: false, invalidCount: 3 })
    await expectCall(202, 'POST', `${catalogue}/catalog/refresh`)
  })

  it('keeps the templates while the repository cannot be read', async () => {
    await expectCall(200, 'PATCH', `${catalogue}/sources/${source.id}`, { ref: 'gone' })
    await until('it fails', async () => (await sourceNow()).status === 'Failing')
    expect((await sourceNow()).message).to.match(
      /^The repository has no branch or tag "gone"\. The next attempt is at 20.*Z\.$/,
    )
    expect(await ofSources()).to.deep.equal(['search Found'])
    await expectCall(200, 'PATCH', `${catalogue}/sources/${source.id}`, { ref: 'main', path: null })
    await until('it is read again', async () => (await sourceNow()).status === 'Ready')
  })

  it('disables its templates, and refuses to sync, while the source is disabled', async () => {
    await expectCall(200, 'PATCH', `${catalogue}/sources/${source.id}`, { enabled: false })
    const { body } = await expectCall<Blueprint>(200, 'GET', `${catalogue}/search`)
    expect(body).to.include({ origin: 'Source', isEnabled: false })
    expect(await sync()).to.equal(409)
    await expectCall(200, 'PATCH', `${catalogue}/sources/${source.id}`, { enabled: true })
    await until('it is read again', async () => (await sourceNow()).status === 'Ready')
  })

  it('refuses writes of its templates with kubectl, also by an Owner of the boundary', async () => {
    const owner = await makeCaller({ Owner: `/boundaries/${boundaryId}` })
    const tenant = await clientWithToken(owner.token)
    try {
      const { apiVersion, kind, resource } = BlueprintTemplate
      const name = sourceTemplateName(source.id, 'search')
      const forged = { slug: 'forged', content: template('forged'), sourceId: source.id }
      const make = (metadata: KubeObject['metadata']) =>
        tenant.create(resource, { apiVersion, kind, metadata, spec: forged })
      const mayNot = 'only the platform writes what comes from a source'
      await until('kubectl is let in', () => tenant.get(resource, { namespace, name }))
      expect(await refusal(make({ name: 'forged', namespace }))).to.include(mayNot)
      expect(await refusal(make({ name: sourceTemplateName(source.id, 'forged'), namespace }))).to.include(mayNot)
      const spec = { content: template('search', 'Forged') }
      expect(await refusal(tenant.mergePatch(resource, { namespace, name }, { spec }))).to.include(mayNot)
      expect(await refusal(tenant.remove(resource, { namespace, name }))).to.include(
        'is deleted with its file in the repository',
      )
      const twin = { repositoryUrl: address('open/blueprints') }
      const id = 'aaaaaaaa-0000-4000-8000-000000000001'
      await tenant.create(BlueprintSource.resource, {
        apiVersion,
        kind: 'BlueprintSource',
        metadata: { name: id, namespace },
        spec: twin,
      })
      await until('the second source of the same repository is NameOccupied', async () => {
        const { status } = (await tenant.get(BlueprintSource.resource, {
          namespace,
          name: id,
        })) as unknown as BlueprintSource
        return status?.phase === 'NameOccupied'
      })
      await until('REST shows it as Failing', async () => (await sourceNow(id)).status === 'Failing')
      await tenant.remove(BlueprintSource.resource, { namespace, name: id })
    } finally {
      await tenant.close()
    }
  })

  it('requires kernel/deployments/token for a source of an installation, by REST and by kubectl', async () => {
    const displayName = uniqueName('Librarian')
    const role = { displayName, actions: ['blueprints/*'], assignableScopes: ['/boundaries/*'] }
    const { apiVersion, kind, resource } = RoleDefinition
    await admin.create(resource, { apiVersion, kind, metadata: { name: randomUUID() }, spec: role })
    const { token } = await makeCaller({ [displayName]: `/boundaries/${boundaryId}` })
    const installed = { installationId: randomUUID(), repositoryId: 'repository' }
    const { status, body } = await call('POST', `${catalogue}/sources`, installed, { token })
    expect([status, (body as { action?: string }).action]).to.deep.equal([403, 'kernel/deployments/token'])
    const tenant = await clientWithToken(token)
    try {
      const make = (spec: object) =>
        tenant.create(BlueprintSource.resource, {
          apiVersion: BlueprintSource.apiVersion,
          kind: BlueprintSource.kind,
          metadata: { name: randomUUID(), namespace },
          spec,
        })
      const open = await until('kubectl is let in', () => make({ repositoryUrl: address('open/other') }))
      expect(await refusal(make(installed))).to.include('that needs kernel/deployments/token at the boundary')
      await tenant.remove(BlueprintSource.resource, { namespace, name: open.metadata.name })
    } finally {
      await tenant.close()
    }
  })

  it('returns 404 or 403 to tenants of another boundary', async () => {
    const other = (await makeBoundary()).id
    const { token } = await makeCaller({ Owner: `/boundaries/${other}` })
    const path = `/boundaries/${other}/resources/blueprints`
    const answers: [string, string, number][] = [
      ['POST', `${path}/sources/${source.id}/sync`, 404],
      ['DELETE', `${path}/sources/${source.id}`, 404],
      ['GET', `${path}/search`, 404],
      ['DELETE', `${path}/templates/search`, 404],
      ['GET', `${catalogue}/sources`, 403],
      ['POST', `${catalogue}/sources/${source.id}/sync`, 403],
    ]
    for (const [method, at, status] of answers)
      expect((await call(method as 'GET', at, undefined, { token })).status, `${method} ${at}`).to.equal(status)
    const { body } = await expectCall<{ sources: Source[] }>(200, 'GET', `${path}/catalog/status`, undefined, { token })
    expect(body.sources).to.deep.equal([])
  })

  it('reads a private repository of an installation, and syncs when a push is delivered', async () => {
    const hidden = await makeRepository(folder, 'hidden', { canFilter: false })
    const first = await hidden.push('main', { 'hidden.yaml': template('hidden') })
    const body = { displayName: 'Hidden', baseUrl: address('hidden'), accessToken: 'good' }
    const begun = (await expectCall<Begun>(201, 'POST', `/boundaries/${boundaryId}/sources/git/create`, body)).body
    await until('the deployment source is ready', async () => {
      const [found] = await itemsOf<DeploymentSourceDto>(`/boundaries/${boundaryId}/sources`)
      return found?.status === 'Ready'
    })
    const installed = { installationId: begun.deploymentSourceId, repositoryId: 'repository' }
    const made = (await expectCall<Source>(201, 'POST', `${catalogue}/sources`, installed)).body
    expect(made).to.include({ provider: 'Git' })
    await isAt(first, made.id)
    const second = await hidden.push('main', { 'hidden.yaml': template('hidden', 'Pushed') })
    const push = JSON.stringify({
      ref: 'refs/heads/main',
      after: second,
      repository: { id: 1, full_name: 'acme/hidden' },
    })
    const signature = createHmac('sha256', begun.webhookSecret).update(push).digest('hex')
    const headers = {
      'content-type': 'application/json',
      'x-hub-signature-256': `sha256=${signature}`,
      'x-freehold-event': 'push',
      'x-freehold-delivery': 'one',
    }
    expect((await fetch(begun.webhookUrl, { method: 'POST', headers, body: push })).status).to.equal(202)
    await isAt(second, made.id)
    await until('the list follows', async () => (await ofSources()).includes('hidden Pushed'))
    await expectCall(204, 'DELETE', `${catalogue}/sources/${made.id}`)
  })

  it('removes its templates when it is deleted, and keeps those of the boundary', async () => {
    await expectCall(201, 'POST', `${catalogue}/templates`, { content: template('search', 'Own') })
    const { body } = await expectCall<Blueprint>(200, 'GET', `${catalogue}/search`)
    expect(body).to.include({ origin: 'Boundary', name: 'Own' })
    await expectCall(204, 'DELETE', `${catalogue}/sources/${source.id}`)
    expect(await ofSources()).to.deep.equal([])
    await until('its templates are gone', async () => {
      const { items } = await admin.list(BlueprintTemplate.resource, { namespace })
      return items.map(({ metadata }) => metadata.name).join() === 'search'
    })
    const gone = await call<ErrorBody>('POST', `${catalogue}/sources/${source.id}/sync`)
    expect([gone.status, gone.body.code]).to.deep.equal([404, 'NOT_FOUND'])
  })
})
