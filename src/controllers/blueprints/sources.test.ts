import { expect } from 'chai'
import { ControllerBench } from '../../../test/worlds/controllers.ts'
import { FakeGitFiles } from '../../adapters/gitfiles/fake.ts'
import { FakeSources } from '../../adapters/sources/fake.ts'
import { readCheckedTemplate } from '../../api/blueprints/catalogue.ts'
import { OWN_TEMPLATES_MAX } from '../../contracts/blueprints/sources.ts'
import { CREDENTIAL_KEYS } from '../../contracts/sources/providers.ts'
import type { KubeObject } from '../../core/object.ts'
import { BlueprintSource } from '../../crds/blueprintSources.ts'
import { BlueprintTemplate } from '../../crds/blueprints.ts'
import { DeploymentSource } from '../../crds/sources.ts'
import { secret } from '../../kube/builtin.ts'
import { catalogueController } from './sources.ts'
import { templateController } from './templates.ts'

const ID = '7b0c5d6e-1f2a-4b3c-8d4e-5f6a7b8c9d0e'
const HOST = '5d1f8a52-7a4e-4b52-9a55-0d6c8f3f9b11'
const ADDRESS = 'https://git.example.com/acme/blueprints.git'

const template = (slug: string, spec = '{}') => `format: 1
slug: ${slug}
name: A template
version: 1.0.0
components:
  - { name: vectors, collection: vectorclusters, resourceName: "\${deploy.name}", spec: ${spec} }
`

describe('BlueprintSource controller', () => {
  let bench: ControllerBench
  let files: FakeGitFiles
  let space: string
  beforeEach(() => {
    files = new FakeGitFiles()
    const options = {
      files,
      sources: new FakeSources(),
      read: readCheckedTemplate,
    }
    bench = new ControllerBench([catalogueController(options), templateController])
    space = bench.seedGroup('shop').boundarySpace
  })
  afterEach(() => bench.stop())

  const seed = (spec: object) => bench.seed(BlueprintSource, ID, BlueprintSource.spec.parse(spec), { namespace: space })
  const connect = (spec: object, status: object = {}) =>
    bench.client.seed(DeploymentSource.resource, {
      apiVersion: DeploymentSource.apiVersion,
      kind: DeploymentSource.kind,
      metadata: { name: HOST, namespace: space },
      spec: { displayName: 'Shop', credentials: { secretName: 'shop' }, ...spec },
      status,
    } as KubeObject)
  const status = async () =>
    ((await bench.find(BlueprintSource.resource, ID, space)) as BlueprintSource | undefined)?.status ?? {}
  const slugs = async () =>
    (await bench.client.list<BlueprintTemplate & KubeObject>(BlueprintTemplate.resource)).items
      .map(({ spec }) => spec.slug)
      .sort()
  const run = async () => {
    await bench.start()
    await bench.clock.advance(1000)
    await bench.rest()
  }

  const settle = async () => {
    for (const wait of [0, 5_000, 1_000]) {
      await bench.clock.advance(wait)
      await bench.rest()
    }
  }

  it('rejects a file with an unknown field of a component as REST does', async () => {
    files.commit(ADDRESS, 'main', 'a1', {
      'good.yaml': template('good'),
      'bad.yaml': template('bad', '{ colour: red }'),
    })
    seed({ repositoryUrl: ADDRESS })
    await run()
    expect(await slugs()).to.deep.equal(['good'])
    expect((await status()).invalidTemplates).to.have.nested.property('[0].errors[0].code', 'UnknownField')
  })

  it('imports the valid files beside one that the API server would refuse', async () => {
    files.commit(ADDRESS, 'main', 'a1', { 'bad.yaml': `${template('bad')}# \u0007\n`, 'good.yaml': template('good') })
    seed({ repositoryUrl: ADDRESS })
    await run()
    expect(await slugs()).to.deep.equal(['good'])
    expect((await status()).invalidTemplates).to.have.nested.property('[0].path', 'bad.yaml')
  })

  it('keeps and reports a template with a broken file until it is mended, deleted or moved', async () => {
    files.commit(ADDRESS, 'main', 'a1', { 'one.yaml': template('one'), 'two.yaml': template('two') })
    seed({ repositoryUrl: ADDRESS })
    await run()
    const commit = async (revision: string, texts: Record<string, string>) => {
      files.commit(ADDRESS, 'main', revision, texts)
      const requests = { syncAt: new Date(bench.clock.now()).toISOString() }
      await bench.client.mergePatch(BlueprintSource.resource, { namespace: space, name: ID }, { spec: { requests } })
      for (const wait of [0, 5_000, 1_000]) {
        await bench.clock.advance(wait)
        await bench.rest()
      }
    }
    await commit('a2', { 'one.yaml': 'format: 2', 'two.yaml': template('two') })
    expect(await slugs()).to.deep.equal(['one', 'two'])
    const broken = await status()
    expect(broken).to.include({ state: 'Ready', revision: 'a2', templateCount: 2, invalidCount: 1 })
    expect(broken.invalidTemplates).to.have.nested.property('[0].keeps', 'one')
    const ready = broken.conditions?.find(({ type }) => type === 'Ready')
    expect(ready).to.include({ status: 'False', reason: 'PartiallyAvailable' })
    expect(ready?.message).to.match(/^"one.yaml" is not valid at line 1: .* Blueprint "one" stays as it was\.$/)
    await commit('a3', { 'one.yaml': 'format: 3', 'two.yaml': template('two') })
    expect(await slugs()).to.deep.equal(['one', 'two'])
    await commit('a4', { 'two.yaml': template('two') })
    expect(await slugs()).to.deep.equal(['two'])
    expect((await status()).conditions?.find(({ type }) => type === 'Ready')).to.include({ status: 'True' })
    await commit('a5', { 'two.yaml': 'format: 2' })
    expect(await slugs()).to.deep.equal(['two'])
    await bench.client.mergePatch(BlueprintSource.resource, { namespace: space, name: ID }, { spec: { path: '/x' } })
    await commit('a6', { 'x/two.yaml': 'format: 2' })
    expect(await slugs()).to.deep.equal([])
  })

  it('retries at once with changed credentials despite the backoff of its failures', async () => {
    connect({ provider: 'Gitea', baseUrl: 'https://git.example.com' })
    const ref = { namespace: space, name: 'shop' }
    const token = (text: string) => ({ [CREDENTIAL_KEYS.token]: Buffer.from(text).toString('base64') })
    bench.client.seed(secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: ref,
      data: token('bad-token'),
    } as KubeObject)
    seed({ provider: 'Gitea', installationId: HOST, repositoryId: '1' })
    await run()
    for (let hour = 0; hour < 8; hour += 1) {
      await bench.clock.advance(3_600_000)
      await bench.rest()
    }
    const before = await status()
    expect(before.state).to.equal('Failing')
    expect(before.failures).to.be.above(3)
    await bench.client.mergePatch(secret, ref, { data: token('still-bad') })
    await settle()
    expect(await status()).to.include({ state: 'Failing', failures: 1 })
    const calls = bench.client.calls.length
    await settle()
    expect(bench.client.calls.length, 'nothing is asked meanwhile').to.equal(calls)
    await bench.client.mergePatch(secret, ref, { data: token('good-token') })
    await settle()
    expect((await status()).message ?? '').to.not.include('credential')
  })

  it('reads its repository after a push to it at any deployment source of the boundary', async () => {
    files.commit(ADDRESS, 'main', 'a1', { 'one.yaml': template('one') })
    seed({ repositoryUrl: ADDRESS })
    const gitea = { provider: 'Gitea', baseUrl: 'https://git.example.com' }
    connect(gitea)
    await run()
    files.commit(ADDRESS, 'main', 'a2', { 'two.yaml': template('two') })
    const head = { kind: 'Push', repositoryId: '5', ref: 'refs/heads/main', commit: 'b'.repeat(40), deliveryId: '7' }
    const receivedAt = new Date(bench.clock.now()).toISOString()
    const tell = (repositoryName: string) =>
      bench.client.edit(DeploymentSource.resource, { namespace: space, name: HOST }, (source) => {
        source.status = { heads: [{ ...head, repositoryName, receivedAt }] }
      })
    tell('acme/another')
    await bench.rest()
    expect(await slugs()).to.deep.equal(['one'])
    tell('acme/blueprints')
    await bench.rest()
    await bench.clock.advance(5_000)
    await bench.rest()
    await bench.clock.advance(1000)
    await bench.rest()
    expect(await slugs()).to.deep.equal(['two'])
  })

  it('backs off from 5 to 120 minutes while the host does not answer and resets on success', async () => {
    seed({ repositoryUrl: ADDRESS })
    await run()
    const wait = async () => {
      const { failures, nextAttemptAt = '' } = await status()
      const minutes = Math.round((Date.parse(nextAttemptAt) - bench.clock.now()) / 60_000)
      await bench.clock.advance(Date.parse(nextAttemptAt) - bench.clock.now() + 1_000)
      await bench.rest()
      await bench.clock.advance(1_000)
      await bench.rest()
      return `${failures} ${minutes}`
    }
    const seen: string[] = []
    for (let index = 0; index < 7; index += 1) seen.push(await wait())
    expect(seen).to.deep.equal(['1 5', '2 10', '3 20', '4 40', '5 80', '6 120', '7 120'])
    const requests = { syncAt: new Date(bench.clock.now()).toISOString() }
    await bench.client.mergePatch(BlueprintSource.resource, { namespace: space, name: ID }, { spec: { requests } })
    await bench.rest()
    await bench.clock.advance(5_000)
    await bench.rest()
    await bench.clock.advance(1_000)
    await bench.rest()
    expect((await status()).failures).to.equal(1)
    files.commit(ADDRESS, 'main', 'a1', { 'one.yaml': template('one') })
    await wait()
    expect(await status())
      .to.include({ state: 'Ready' })
      .and.not.have.any.keys('failures', 'nextAttemptAt')
  })

  it("refuses to send the token of the platform's Git host to another host", async () => {
    connect({ provider: 'Circuit', baseUrl: 'https://git.example.com', circuit: {} })
    seed({ installationId: HOST, repositoryId: '1' })
    await run()
    expect((await status()).message).to.equal('The Git host of the deployment source is not the one of this platform.')
  })

  it('reads nothing with a disabled deployment source', async () => {
    connect({ provider: 'Circuit', baseUrl: 'https://git.platform.test', circuit: { enabled: false } })
    seed({ installationId: HOST, repositoryId: '1' })
    await run()
    expect((await status()).message).to.equal('The deployment source is disabled.')
  })

  it('does not count against the limit of own templates, which rejects the newest', async () => {
    files.commit(ADDRESS, 'main', 'a1', { 'from-git.yaml': template('from-git') })
    seed({ repositoryUrl: ADDRESS })
    const own = (slug: string, creationTimestamp: string) =>
      bench.seed(BlueprintTemplate, slug, { slug, content: template(slug) }, { namespace: space, creationTimestamp })
    for (let index = 0; index < OWN_TEMPLATES_MAX; index += 1) own(`t${index}`, '2026-01-01T00:00:00Z')
    own('one-more', '2026-01-01T00:01:00Z')
    await run()
    const { items } = await bench.client.list<BlueprintTemplate & KubeObject>(BlueprintTemplate.resource)
    const phaseOf = (slug: string) => items.find(({ spec }) => spec.slug === slug)?.status?.phase
    expect(['t0', 'one-more', 'from-git'].map(phaseOf)).to.deep.equal(['Available', 'QuotaExceeded', 'Available'])
  })
})
