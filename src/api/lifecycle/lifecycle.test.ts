import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { request } from '../../../test/make/request.ts'
import { bearer, startFacade } from '../../../test/worlds/facadeServer.ts'
import { releaseName } from '../../contracts/lifecycle.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { ComponentInstall, ComponentRelease, PlatformComponent } from '../../crds/lifecycle.ts'
import { secret } from '../../kube/builtin.ts'

const ADMIN = randomUUID()
const OPERATOR = randomUUID()
const READER = randomUUID()
const CHART = { name: 'shop', url: 'oci://charts.example.com/shop' }

describe('the routes of components', () => {
  let world: Awaited<ReturnType<typeof startFacade>>
  before(async () => {
    world = await startFacade()
    world.grant(ADMIN, 'Platform Owner', '/')
    world.grant(READER, 'Platform Reader', '/')
  })
  after(() => world.stop())

  const call = (method: 'get' | 'post', path: string, caller = ADMIN, body?: object) => {
    const sent = request(world.app)[method](`/lifecycle${path}`).set('authorization', bearer(caller))
    return body === undefined ? sent : sent.send(body)
  }
  const put = (name: string, spec: object = {}, status: object = {}) => {
    const fullSpec = { title: name, kind: 'Module', namespace: 'apps', chart: CHART, ...spec }
    const object = world.put(PlatformComponent, name, fullSpec, SYSTEM_NAMESPACE)
    const written = world.client.seed(PlatformComponent.resource, { ...object, status })
    world.caches.get(PlatformComponent.resource).observeWrite(written)
  }
  const release = (component: string, version: string, spec: object = {}) =>
    world.put(
      ComponentRelease,
      releaseName(component, version),
      { component, version, digest: `sha256:${'a'.repeat(64)}`, ...spec },
      SYSTEM_NAMESPACE,
    )
  /** Creates a component with a name of its own. */
  const fresh = (spec: object = {}, status: object = {}) => {
    const name = `c-${randomUUID().slice(0, 8)}`
    put(name, spec, status)
    return name
  }
  const ended = async (component: string) => {
    for (const { metadata, spec } of (await world.client.list(ComponentInstall.resource)).items) {
      if ((spec as { component: string }).component !== component) continue
      const { name, namespace = '' } = metadata
      const status = { state: 'Succeeded' }
      await world.client.mergePatch(
        ComponentInstall.resource,
        { name, namespace },
        { status },
        { subresource: 'status' },
      )
    }
  }

  it('show a component with its releases, newest first, and masked values', async () => {
    const required = [{ key: 'auth.password', title: 'Password', isSecret: true }]
    const name = fresh({ required, values: { debug: false } }, { installedVersion: '1.9.0', state: 'Ready' })
    release(name, '1.9.0')
    release(name, '1.10.0', { isSchemaBreaking: true })
    world.client.seed(secret, {
      ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'install-configuration', namespace: SYSTEM_NAMESPACE } },
      data: { [`${name}.auth.password`]: Buffer.from('correct horse').toString('base64') },
    } as KubeObject)
    const { status, body, text } = await call('get', `/components/${name}`, READER)
    expect(status, text).to.equal(200)
    expect(body).to.deep.include({
      ...{ name, title: name, kind: 'Module', chartName: 'shop', namespace: 'apps', status: 'Ready' },
      ...{ installedVersion: '1.9.0', latestVersion: '1.10.0', isInstalled: true, isOutdated: true },
      ...{ isSelectable: false, unselectableReason: 'SchemaBreaking', dependsOn: [], pinnedBy: [] },
      values: { debug: false, auth: { password: '***' } },
    })
    expect(body.releases.map((one: { version: string }) => one.version)).to.deep.equal(['1.10.0', '1.9.0'])
    expect(text).not.to.contain('correct horse')
  })

  it('show a component outside of the cluster as installed with manual upgrade', async () => {
    const workloads = [{ kind: 'Deployment', name: 'shop' }]
    const name = fresh({ workloads }, { installedVersion: '4.2.0', state: 'Ready', isOutside: true, workloads: [] })
    const { body } = await call('get', `/components/${name}`)
    expect(body).to.deep.include({ installedVersion: '4.2.0', isInstalled: true, status: 'Ready', health: null })
    expect(body).to.include({ isSelectable: false, unselectableReason: 'ManualUpgrade', isManualUpgrade: true })
    expect((await call('get', `/components/${name}/installspec`)).body).to.include({ version: '4.2.0' })
    const refused = await call('post', `/components/${name}/repair`)
    expect([refused.status, refused.body.code]).to.deep.equal([409, 'NotInstalled'])
    expect(refused.body.error).to.contain('outside the cluster')
  })

  it('list components with a filter', async () => {
    const name = fresh({ kind: 'CrdBundle' })
    const { body } = await call('get', '/components?filter=kind:eq:CrdBundle&filter=isInstalled:eq:false')
    expect(body.items.map((one: { name: string }) => one.name)).to.deep.equal([name])
    expect(body.items[0]).not.to.have.any.keys('releases', 'values')
  })

  const unknown: [method: 'get' | 'post', path: string][] = [
    ['get', '/components/gone'],
    ['get', '/components/gone/installspec'],
    ['post', '/components/gone/install'],
    ['post', '/components/gone/repair'],
    ['get', '/releases?component=gone'],
  ]
  for (const [method, path] of unknown)
    it(`return 404 ComponentNotFound: ${method} ${path}`, async () => {
      const { status, body } = await call(method, path)
      expect([status, body.code, body.module]).to.deep.equal([404, 'ComponentNotFound', 'lifecycle'])
    })

  it('return version, values, CRDs and required values of an installation', async () => {
    const name = fresh({
      dependsOn: [{ name: 'other' }],
      crds: ['shops.example.com'],
      required: [
        { key: 'auth.password', title: 'Password', isSecret: true },
        { key: 'size', title: 'Size', type: 'Integer', default: '3' },
      ],
    })
    release(name, '2.0.0', { requiredValues: ['license'] })
    const { body } = await call('get', `/components/${name}/installspec`, READER)
    expect(body).to.deep.include({ component: name, version: '2.0.0', namespace: 'apps', values: { size: 3 } })
    expect(body).to.deep.include({ crds: ['shops.example.com'], dependsOn: ['other'] })
    expect(
      body.required.map((one: { key: string; isSecret: boolean; isSet: boolean; default: unknown }) =>
        [one.key, one.isSecret, one.isSet, one.default].join(' '),
      ),
    ).to.deep.equal(['auth.password true false ', 'size false false 3', 'license true false '])
  })

  const installed = { installedVersion: '1.0.0', state: 'Ready' }
  const refusals: [
    sentence: string,
    spec: object,
    status: object,
    body: object,
    answer: [number, string],
    extras?: object,
  ][] = [
    ['of an installed component', {}, installed, {}, [409, 'AlreadyInstalled']],
    [
      'without its dependency',
      { dependsOn: [{ name: 'absent' }] },
      {},
      {},
      [409, 'DependencyMissing'],
      { missing: ['absent'] },
    ],
    [
      'without a required value',
      { required: [{ key: 'a.b', title: 'A' }] },
      {},
      {},
      [400, 'ValueMissing'],
      { keys: ['a.b'] },
    ],
    ['of a missing release', {}, {}, { version: '9.9.9' }, [400, 'BAD_REQUEST']],
    ['with an unknown value', {}, {}, { values: { nothing: 'x' } }, [400, 'BAD_REQUEST']],
    ['with an unknown field', {}, {}, { versions: '1' }, [400, 'MODEL_BINDING_FAILED']],
  ]
  for (const [sentence, spec, status, body, [code, word], extras = {}] of refusals)
    it(`reject an installation ${sentence} and write nothing`, async () => {
      const name = fresh(spec, status)
      release(name, '1.0.0')
      const before = (await world.client.list(ComponentInstall.resource)).items.length
      const answer = await call('post', `/components/${name}/install`, ADMIN, body)
      expect([answer.status, answer.body.code], answer.text).to.deep.equal([code, word])
      expect(answer.body).to.deep.include(extras)
      expect((await world.client.list(ComponentInstall.resource)).items).to.have.length(before)
    })

  it('install one component at a time, and store values in the Secret only', async () => {
    const name = fresh({ required: [{ key: 'auth.password', title: 'Password', isSecret: true }] })
    release(name, '1.0.0')
    const dry = await call('post', `/components/${name}/install`, ADMIN, {
      values: { 'auth.password': 'hush' },
      dryRun: true,
    })
    expect([dry.status, dry.body.status, dry.body.version], dry.text).to.deep.equal([200, 'Queued', '1.0.0'])
    const begun = await call('post', `/components/${name}/install`, ADMIN, { values: { 'auth.password': 'hush' } })
    expect(begun.status, begun.text).to.equal(202)
    expect(begun.body).to.include({
      component: name,
      version: '1.0.0',
      kind: 'Install',
      status: 'Queued',
      phase: 'Checking',
    })
    expect(begun.body).to.include({ startedBy: ADMIN, finishedAt: null, canResume: false })
    const { body: one } = await call('get', `/installs/${begun.body.id}`, READER)
    expect(one).to.deep.equal(begun.body)
    const stored = await world.client.get<KubeObject & { data: Record<string, string> }>(secret, {
      ...{ name: 'install-configuration', namespace: SYSTEM_NAMESPACE },
    })
    expect(Buffer.from(stored.data[`${name}.auth.password`] ?? '', 'base64').toString()).to.equal('hush')
    expect(JSON.stringify((await world.client.list(ComponentInstall.resource)).items)).not.to.contain('hush')
    const other = fresh()
    release(other, '1.0.0')
    const second = await call('post', `/components/${other}/install`, ADMIN)
    expect([second.status, second.body.code, second.body.installId]).to.deep.equal([409, 'RolloutBusy', begun.body.id])
    await ended(name)
  })

  it('repair an installed component, and return 409 for another one', async () => {
    const name = fresh()
    const refused = await call('post', `/components/${name}/repair`)
    expect([refused.status, refused.body.code]).to.deep.equal([409, 'NotInstalled'])
    const existing = fresh({ version: '1.0.0' }, installed)
    const { status, body, text } = await call('post', `/components/${existing}/repair`)
    expect([status, body.kind, body.version], text).to.deep.equal([202, 'Repair', '1.0.0'])
    await ended(existing)
  })

  it('resume a paused install, and return 409 for another one', async () => {
    const name = randomUUID()
    const object = world.put(ComponentInstall, name, { component: 'shop' }, SYSTEM_NAMESPACE)
    const setState = (state: string) => {
      const written = world.client.seed(ComponentInstall.resource, { ...object, status: { state, version: '1.0.0' } })
      world.caches.get(ComponentInstall.resource).observeWrite(written)
    }
    setState('Succeeded')
    const refused = await call('post', `/installs/${name}/resume`)
    expect([refused.status, refused.body.code], refused.text).to.deep.equal([409, 'NotResumable'])
    setState('Paused')
    const { status, body, text } = await call('post', `/installs/${name}/resume`)
    expect([status, body.status, body.canResume], text).to.deep.equal([202, 'Queued', false])
    expect((await call('post', `/installs/${randomUUID()}/resume`)).status).to.equal(404)
    await ended('shop')
  })

  it('return the kind of drift of each component, except while it is upgrading', async () => {
    const at = (name: string) => ({ workloads: [{ kind: 'Deployment', name }] })
    const names = {
      Version: fresh({ version: '1.1.0' }, { installedVersion: '1.0.0', state: 'Ready' }),
      Missing: fresh({ version: '1.0.0', ...at('gone') }, { installedVersion: '1.0.0', state: 'Failed' }),
      Unexpected: fresh({}, { installedVersion: '1.0.0', isManaged: true, state: 'Ready' }),
      Values: fresh({ version: '1.0.0' }, { ...installed, configDigest: 'a', wantedConfigDigest: 'b' }),
      Image: fresh({ version: '1.0.0' }, { ...installed, digest: `sha256:${'b'.repeat(64)}` }),
    }
    release(names.Image, '1.0.0')
    const upgrading = fresh({ version: '1.1.0' }, { installedVersion: '1.0.0', state: 'Upgrading' })
    const { body } = await call('get', '/drift', READER)
    const kinds = new Map(body.components.map((one: { name: string; kind: string }) => [one.name, one.kind]))
    for (const [kind, name] of Object.entries(names)) expect(kinds.get(name), kind).to.equal(kind)
    expect(kinds.has(upgrading)).to.equal(false)
  })

  it('return dependencies and pinned versions', async () => {
    const other = fresh()
    const name = fresh({ dependsOn: [{ name: other, constraint: '>=1.0.0' }] })
    release(name, '1.0.0', { pins: { [other]: '1.2.0' } })
    const { body } = await call('get', '/dependencies', READER)
    expect(body.edges.filter(({ from }: { from: string }) => from === name)).to.deep.equal([
      { from: name, to: other, constraint: '>=1.0.0', kind: 'DependsOn' },
      { from: name, to: other, constraint: '1.2.0', kind: 'Pins' },
    ])
    expect((await call('get', `/components/${other}`)).body.pinnedBy).to.deep.equal([name])
  })

  it('return 403 for an installation by a Platform Reader and a list without a role', async () => {
    const name = fresh()
    expect((await call('post', `/components/${name}/install`, READER)).status).to.equal(403)
    expect((await call('get', '/components', OPERATOR)).status).to.equal(403)
  })
})
