import { expect } from 'chai'
import { ControllerBench } from '../../../test/worlds/controllers.ts'
import { FakeGitFiles } from '../../adapters/gitfiles/fake.ts'
import { FakeSources } from '../../adapters/sources/fake.ts'
import { OWN_TEMPLATES_MAX, SOURCES_MAX, sourceTemplateName } from '../../contracts/blueprints/catalogue.ts'
import { TEMPLATES_OF_A_SOURCE } from '../../contracts/blueprints/repository.ts'
import { readTemplate } from '../../contracts/blueprints/validate.ts'
import type { KubeObject } from '../../core/object.ts'
import { BLUEPRINT_COLLECTIONS } from '../../crds/blueprintCollections.ts'
import { BlueprintSource } from '../../crds/blueprintSources.ts'
import { BlueprintTemplate } from '../../crds/blueprints.ts'
import { DeploymentSource } from '../../crds/sources.ts'
import { secret } from '../../kube/builtin.ts'
import { blueprintSourceController } from './sources.ts'
import { templateController } from './templates.ts'

const ID = '7b0c5d6e-1f2a-4b3c-8d4e-5f6a7b8c9d0e'
const DEPLOYMENT_SOURCE = '5d1f8a52-7a4e-4b52-9a55-0d6c8f3f9b11'
const URL_OF = 'https://git.example.com/acme/blueprints.git'
const [MOMENT, MINUTE, HOUR] = [5_000, 60_000, 3_600_000]

type Source = BlueprintSource & KubeObject
type Template = BlueprintTemplate & KubeObject

const template = (slug: string, version = '1.0.0') => `format: 1
slug: ${slug}
name: A template
version: ${version}
components:
  - { name: vectors, collection: vectorclusters, resourceName: "\${deploy.name}" }
`

describe('the controller of sources of blueprints', () => {
  let bench: ControllerBench
  let files: FakeGitFiles
  let space: string
  beforeEach(() => {
    files = new FakeGitFiles()
    const read = (content: string) => readTemplate(content, BLUEPRINT_COLLECTIONS)
    const options = { files, read, sources: new FakeSources(), circuitUrl: undefined }
    bench = new ControllerBench([blueprintSourceController(options), templateController])
    space = bench.seedGroup('shop').boundarySpace
  })
  afterEach(() => bench.stop())

  const seed = (spec: object = { repositoryUrl: URL_OF }, name = ID, more: object = {}) =>
    bench.seed(BlueprintSource, name, BlueprintSource.spec.parse(spec), { namespace: space, ...more })
  const status = async (name = ID) =>
    ((await bench.find(BlueprintSource.resource, name, space)) as Source | undefined)?.status ?? {}
  const names = async () =>
    (await bench.client.list<Template>(BlueprintTemplate.resource)).items.map(({ metadata }) => metadata.name).sort()
  const nameOf = (slug: string, source = ID) => sourceTemplateName(slug, source)
  const change = async (spec: object) => {
    await bench.client.mergePatch(BlueprintSource.resource, { namespace: space, name: ID }, { spec })
    await later(MOMENT)
  }
  const later = async (milliseconds: number) => {
    await bench.clock.advance(milliseconds)
    await bench.rest()
  }

  it('keeps the templates of the repository, and asks for nothing more until an hour has passed', async () => {
    files.push(URL_OF, 'a1', { 'one.yaml': template('one'), 'two.yaml': template('two'), 'README.md': 'x' })
    seed()
    await bench.start()
    expect(await names()).to.deep.equal([nameOf('one'), nameOf('two')])
    const told = { state: 'Ready', revision: 'a1', templateCount: 2, invalidCount: 0, phase: 'Available' }
    expect(await status()).to.deep.include(told)
    const stored = (await bench.find(BlueprintTemplate.resource, nameOf('one'), space)) as Template
    expect(stored.spec).to.deep.equal({ slug: 'one', content: template('one'), sourceId: ID })
    expect(stored.metadata.ownerReferences?.[0]).to.include({ kind: 'BlueprintSource', name: ID })
    bench.writes()
    await later(HOUR - MINUTE)
    expect([files.reads, bench.writes()]).to.deep.equal([1, []])
    files.push(URL_OF, 'a2', { 'two.yaml': template('two', '1.1.0') })
    await later(2 * MINUTE)
    expect(files.reads).to.equal(2)
    expect(await names()).to.deep.equal([nameOf('two')])
    expect(await status()).to.deep.include({ revision: 'a2', templateCount: 1 })
  })

  it('goes on with the others where one file is not valid, and keeps what that one was', async () => {
    files.push(URL_OF, 'a1', { 'one.yaml': template('one'), 'two.yaml': template('two') })
    seed()
    await bench.start()
    files.push(URL_OF, 'a2', { 'one.yaml': 'format: [', 'two.yaml': template('two', '2.0.0') })
    await change({ requests: { syncAt: '2026-01-01T00:00:00.000Z' } })
    const told = await status()
    expect(told).to.deep.include({
      state: 'Ready',
      templateCount: 2,
      invalidCount: 1,
      syncedAt: '2026-01-01T00:00:00.000Z',
    })
    expect(told.invalidTemplates?.[0]).to.include({ path: 'one.yaml' })
    const kept = (await bench.find(BlueprintTemplate.resource, nameOf('one'), space)) as Template
    expect(kept.spec.content).to.equal(template('one'))
    files.push(URL_OF, 'a3', { 'two.yaml': template('two', '2.0.0') })
    await change({ requests: { syncAt: '2026-01-01T00:00:01.000Z' } })
    expect(await names()).to.deep.equal([nameOf('two')])
  })

  it('has so many templates and no more, whatever was there before', async () => {
    const many = (stem: string) =>
      Object.fromEntries(
        [...Array(TEMPLATES_OF_A_SOURCE).keys()].map((index) => [`${stem}${index}.yaml`, template(`${stem}${index}`)]),
      )
    files.push(URL_OF, 'a1', many('x'))
    seed()
    await bench.start()
    files.push(URL_OF, 'a2', { ...many('x'), ...many('a') })
    await change({ requests: { syncAt: '2026-01-01T00:00:00.000Z' } })
    expect(await status()).to.include({ templateCount: TEMPLATES_OF_A_SOURCE, invalidCount: TEMPLATES_OF_A_SOURCE })
    expect((await names()).every((name) => name.startsWith('a'))).to.equal(true)
  })

  it('keeps what is there while a repository does not answer, and asks less and less often', async () => {
    files.push(URL_OF, 'a1', { 'one.yaml': template('one') })
    seed()
    await bench.start()
    files.isAway = true
    await later(HOUR)
    const told = await status()
    expect(told).to.deep.include({
      state: 'Failing',
      failures: 1,
      templateCount: 1,
      phase: 'PartiallyAvailable',
      status: 'Degraded',
    })
    expect(told.message).to.include('does not answer')
    expect(await names()).to.deep.equal([nameOf('one')])
    await later(MINUTE)
    expect((await status()).failures).to.equal(2)
    await later(MINUTE)
    expect((await status()).failures).to.equal(2)
    files.isAway = false
    await later(MINUTE)
    expect(await status()).to.deep.include({ state: 'Ready', phase: 'Available' })
    expect(await status()).not.to.have.any.keys('failures', 'message')
  })

  it('reads nothing while it is switched off, and reads at once when it is on again', async () => {
    files.push(URL_OF, 'a1', { 'one.yaml': template('one') })
    seed()
    await bench.start()
    await change({ enabled: false })
    files.push(URL_OF, 'a2', { 'two.yaml': template('two') })
    await later(2 * HOUR)
    expect([files.reads, (await status()).state, await names()]).to.deep.equal([1, 'Disabled', [nameOf('one')]])
    await change({ enabled: true })
    expect([(await status()).state, await names()]).to.deep.equal(['Ready', [nameOf('two')]])
  })

  it('reads with the token of an installation, and after a push that its source was told of', async () => {
    const clone = 'https://provider.test/acme/site.git'
    files.push(clone, 'a1', { 'one.yaml': template('one') })
    Object.assign(files.repositories.get(clone) ?? {}, { token: 'clone-token' })
    const gitea = {
      provider: 'Gitea',
      displayName: 'Shop',
      baseUrl: 'https://provider.test',
      credentials: { secretName: 'shop' },
    }
    bench.seed(DeploymentSource, DEPLOYMENT_SOURCE, gitea, { namespace: space })
    const data = { token: Buffer.from('good-token').toString('base64') }
    bench.client.seed(secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'shop', namespace: space },
      data,
    } as KubeObject)
    seed({ installationId: DEPLOYMENT_SOURCE, repositoryId: '1' })
    await bench.start()
    expect(await status()).to.deep.include({ state: 'Ready', provider: 'Gitea', repositoryUrl: clone })
    files.push(clone, 'a2', { 'two.yaml': template('two') })
    const head = {
      kind: 'Push',
      repositoryId: '1',
      repositoryName: 'acme/site',
      ref: 'refs/heads/main',
      commit: 'a2',
      deliveryId: '7',
    }
    const heads = [{ ...head, receivedAt: '2026-01-01T00:00:00Z' }]
    const ref = { namespace: space, name: DEPLOYMENT_SOURCE }
    await bench.client.mergePatch(DeploymentSource.resource, ref, { status: { heads } }, {
      subresource: 'status',
    } as never)
    await later(MOMENT)
    expect([files.reads, await names()]).to.deep.equal([2, [nameOf('two')]])
  })

  it('says which deployment source is missing', async () => {
    seed({ installationId: 'nobody', repositoryId: '1' })
    await bench.start()
    expect((await status()).message).to.include('"nobody"')
  })

  it('reads the older of two that read the same, and so many in all', async () => {
    const [other, third] = ['8c1d6e7f-2a3b-4c4d-9e5f-6a7b8c9d0e1f', '9d2e7f80-3b4c-4d5e-8f60-718293a4b5c6']
    const at = (minute: number) => ({ creationTimestamp: `2026-01-01T00:${String(minute).padStart(2, '0')}:00Z` })
    files.push(URL_OF, 'a1', { 'one.yaml': template('one') })
    seed({ repositoryUrl: URL_OF }, ID, at(1))
    seed({ repositoryUrl: URL_OF.replace('.git', '') }, other, at(2))
    for (let index = 3; index <= SOURCES_MAX; index += 1) {
      const id = `00000000-0000-4000-8000-0000000000${10 + index}`
      seed({ repositoryUrl: `https://git.example.com/${index}` }, id, at(index))
    }
    seed({ repositoryUrl: 'https://git.example.com/one-more' }, third, at(30))
    await bench.start()
    expect((await status(other)).phase).to.equal('NameOccupied')
    expect((await status(third)).phase).to.equal('QuotaExceeded')
    expect(await names()).to.deep.equal([nameOf('one')])
  })

  it('counts the templates that a boundary keeps itself, and not those of its sources', async () => {
    files.push(URL_OF, 'a1', { 'one.yaml': template('one') })
    seed()
    const own = (slug: string, creationTimestamp: string) =>
      bench.seed(BlueprintTemplate, slug, { slug, content: template(slug) }, { namespace: space, creationTimestamp })
    for (let index = 0; index < OWN_TEMPLATES_MAX; index += 1) own(`t${index}`, '2026-01-01T00:00:00Z')
    own('one-more', '2026-01-01T00:01:00Z')
    await bench.start()
    const phaseOf = async (name: string) =>
      ((await bench.find(BlueprintTemplate.resource, name, space)) as Template).status?.phase
    expect(await phaseOf('t0')).to.equal('Available')
    expect(await phaseOf('one-more')).to.equal('QuotaExceeded')
    expect(await phaseOf(nameOf('one'))).to.equal('Available')
  })
})
