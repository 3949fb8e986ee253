import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { containerNames } from '../../src/contracts/containerinstances.ts'
import { ContainerInstance } from '../../src/crds/containerinstances.ts'
import { deployment, persistentVolumeClaim } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import { call, expectCall, makeCaller, uniqueName, until } from '../worlds/platform.ts'
import { administrator, clientWithToken } from '../worlds/tenant.ts'
import { makeBesideVault, type VaultPlace } from '../worlds/vaultWorld.ts'

type Instance = {
  status: string
  statusMessage: string
  revision: number
  publicUrl: string | null
  publicComponent: string | null
  publicPort: number | null
}
type Page<T> = { items: T[] }
type Crate = { id: string; component: string; revision: number; ready: boolean; status: string }

const web = { name: 'web', image: 'docker.io/library/nginx:1.29', ports: [{ name: 'http', port: 8080 }] }

describe('container instances', () => {
  let client: KubeClient
  let at: VaultPlace
  let namespace: string
  let base: string

  before(async () => {
    client = await administrator()
    const place = await makeBesideVault('containerinstances', 'a-canary-for-containers')
    at = place
    namespace = place.namespace
    base = place.base
  })
  after(() => client.close())

  const make = async (body: object) => {
    const name = uniqueName('site')
    await expectCall(201, 'POST', `${base}/${name}`, body)
    return name
  }
  const read = async (name: string) => (await expectCall<Instance>(200, 'GET', `${base}/${name}`)).body
  const runs = (name: string, revision: number) =>
    until(`${name} runs revision ${revision}`, async () => {
      const found = await read(name)
      if (found.status !== 'Running' || found.revision !== revision)
        throw new Error(`${found.status} ${found.revision}: ${found.statusMessage}`)
      return found
    })
  /** Without terminating ones. */
  const crates = async (name: string) =>
    (await expectCall<Page<Crate>>(200, 'GET', `${base}/${name}/crates`)).body.items.filter(
      ({ status }) => status !== 'Terminating',
    )
  const stored = async (name: string) => client.get(deployment, { namespace, name })

  it('runs components, lists their copies, rolls back to a revision, and deletes its volumes', async () => {
    const worker = { name: 'worker', image: 'docker.io/library/node:24', dependsOn: ['web'] }
    const disk = { name: 'disk', kind: 'Persistent', size: '1Gi' }
    const mounts = [{ volume: 'disk', path: '/srv' }]
    const body = {
      components: [
        { ...web, replicas: 2 },
        { ...worker, mounts },
      ],
      volumes: [disk],
      isPublic: true,
    }
    const name = await make(body)
    const { publicUrl } = await runs(name, 1)
    expect(publicUrl).to.match(new RegExp(`^https://${name}-[0-9a-f]{8}\\.`))
    const copies = await crates(name)
    expect(copies.map(({ component }) => component).sort()).to.deep.equal(['web', 'web', 'worker'])
    const { body: one } = await expectCall<{ events: { reason: string }[] }>(
      200,
      'GET',
      `${base}/${name}/crates/${copies[0]?.id}`,
    )
    expect(one.events.map(({ reason }) => reason)).to.include('Scheduled')
    await expectCall(200, 'GET', `${base}/${name}/crates/${copies[0]?.id}/logs`)
    await expectCall(404, 'GET', `${base}/${name}/crates/none`)

    const image = 'docker.io/library/nginx:1.30'
    await expectCall(200, 'PATCH', `${base}/${name}`, {
      components: [
        { ...web, image },
        { ...worker, mounts },
      ],
    })
    await runs(name, 2)
    expect((await crates(name)).map(({ component, revision }) => `${component} ${revision}`).sort()).to.deep.equal([
      'web 2',
      'worker 1',
    ])
    const { body: diff } = await expectCall<{ changes: { path: string }[] }>(
      200,
      'GET',
      `${base}/${name}/revisions/1/diff/2`,
    )
    expect(diff.changes.map(({ path }) => path)).to.deep.equal(['/components/0/image', '/components/0/replicas'])
    const stale = await call('POST', `${base}/${name}/revisions/1/rollback?ifMatchRevision=1`)
    expect([stale.status, stale.body.code, (stale.body as { currentRevision?: number }).currentRevision]).to.deep.equal(
      [409, 'CONFLICT', 2],
    )
    await expectCall(200, 'POST', `${base}/${name}/revisions/1/rollback?ifMatchRevision=2`)
    await runs(name, 3)
    await expectCall(200, 'POST', `${base}/${name}/components/web/actions/redeploy`)
    await runs(name, 4)
    const { body: revisions } = await expectCall<Page<{ reason: string }>>(200, 'GET', `${base}/${name}/revisions`)
    const reasons = revisions.items.map(({ reason }) => reason)
    expect(reasons).to.deep.equal(['Redeployed', 'RolledBack', 'Updated', 'Created'])
    await expectCall(202, 'PUT', `${base}/${name}/actions/stop`)
    await until('it is stopped', async () => (await read(name)).status === 'Stopped')
    await expectCall(202, 'PUT', `${base}/${name}/actions/start`)
    await runs(name, 4)

    await expectCall(202, 'DELETE', `${base}/${name}`)
    await until(`${name} is gone`, async () => {
      const { status } = await call('GET', `${base}/${name}`)
      if (status !== 404) throw new Error(String(status))
      return true
    })
    const claim = await client
      .get(persistentVolumeClaim, { namespace, name: containerNames(name).volume('disk') })
      .catch((error: unknown) => error)
    expect(isKubeError(claim, 'NotFound')).to.equal(true)
  })

  it('lists, takes PUT of its own record, and returns the URL of an instance before its creation', async () => {
    const name = await make({ components: [web], running: false })
    const { items } = (await expectCall<Page<{ name: string }>>(200, 'GET', `${base}?search=${name}`)).body
    expect(items.map((one) => one.name)).to.deep.equal([name])
    const { body: config } = await expectCall<{ sorts: string[] }>(200, 'GET', `${base}/config`)
    expect(config.sorts).to.include('name')
    await until('it has a revision and is stopped', async () => {
      const { revision, status } = await read(name)
      return revision === 1 && status === 'Stopped'
    })
    const before = await read(name)
    expect((await expectCall<Instance>(200, 'PUT', `${base}/${name}`, before)).body).to.deep.equal(before)
    type Single = { number: number; isCurrent: boolean; spec: Record<string, unknown>; parameters: object }
    const { body: first, headers } = await expectCall<Single>(200, 'GET', `${base}/${name}/revisions/1`)
    expect(headers.get('etag')).to.match(/^"1-/)
    expect([first.number, first.isCurrent, first.parameters]).to.deep.equal([1, true, {}])
    expect(first.spec).to.deep.include({ computePlan: 'container-small', registryCredential: null, volumes: [] })
    expect((first.spec.components as object[])[0]).to.include({ name: 'web', runAsUser: null, livenessProbe: null })
    expect((await read(name)).revision).to.equal(1)
    const across = `/boundaries/${at.boundaryId}/resources`
    const asked = { resourceGroup: at.group, name: 'to-come' }
    const { body: url } = await expectCall<Record<string, unknown>>(
      200,
      'POST',
      `${across}/containerinstances/url`,
      asked,
    )
    expect(JSON.stringify(url)).to.match(/to-come-[0-9a-f]{8}\./)
    const elsewhere = await call('POST', `${across}/containerinstances/url`, { ...asked, clusterId: randomUUID() })
    expect([elsewhere.status, elsewhere.body.code]).to.deep.equal([422, 'CLUSTER_NOT_PROJECTED'])
    const plans = (
      await expectCall<Page<{ id: string; name: string }>>(200, 'GET', `${across}/containerinstancecomputeplans`)
    ).body.items
    const [plan] = plans
    const { body: one } = await expectCall<{ id: string }>(
      200,
      'GET',
      `${across}/containerinstancecomputeplans/${plan?.id}`,
    )
    expect(one.id).to.equal(plan?.id)
  })

  it('shows the public component and port that it chose, and PUT of its record stores no choice', async () => {
    const other = { name: 'other', image: web.image, ports: [{ name: 'http', port: 9090 }] }
    const silent = { name: 'silent', image: web.image }
    const cases: [object, string, number | null][] = [
      [{ components: [web, silent], isPublic: false, publicComponent: 'silent' }, 'silent', null],
      [{}, 'web', 8080],
      [{ publicComponent: 'other' }, 'other', 9090],
      [{ publicPort: 9090 }, 'other', 9090],
    ]
    for (const [asked, component, port] of cases) {
      const name = await make({ components: [web, other], isPublic: true, ...asked })
      await runs(name, 1)
      const shown = await read(name)
      expect([shown.publicComponent, shown.publicPort]).to.deep.equal([component, port])
      const stored = await client.get(ContainerInstance.resource, { namespace, name })
      await expectCall(200, 'PUT', `${base}/${name}`, shown)
      const after = await client.get(ContainerInstance.resource, { namespace, name })
      expect(after.spec).to.deep.equal(stored.spec)
    }
  })

  it('refuses a spec with the field and code of the fault', async () => {
    const path = `${base}/${uniqueName('site')}`
    const other = { name: 'other', image: web.image }
    const cases: [object, string, string][] = [
      [{}, '400 MODEL_BINDING_FAILED', 'components'],
      [{ components: null }, '400 MODEL_BINDING_FAILED', 'components'],
      [{ components: [web, { ...other, computePlan: 'vector-dev' }] }, '400 BAD_REQUEST', 'components.1.computePlan'],
      [{ components: [{ ...web, computePlan: 'none' }] }, '422 PLAN_NOT_FOUND', 'components.0.computePlan'],
      [{ components: [{ ...web, runAsUser: 0 }] }, '422 RULE_VIOLATION', 'components'],
    ]
    for (const [body, code, field] of cases) {
      const { status, body: told } = await call<Record<string, unknown>>('POST', path, body)
      const [first] = (told.errors as { field: string }[] | undefined) ?? []
      expect([`${status} ${told.code}`, first?.field ?? told.field]).to.deep.equal([code, field])
      if (code.includes('RULE_VIOLATION')) expect(told.policy).to.equal('containerinstances.compute.freehold.dev')
    }
    const name = await make({ components: [web], running: false })
    const { status, body } = await call('PATCH', `${base}/${name}`, { components: null })
    expect([status, body.code]).to.deep.equal([400, 'MODEL_BINDING_FAILED'])
  })

  it('passes a vault secret to a component, and rolls the component out when the secret changes', async () => {
    const secret = { vaultName: at.vault, secretName: 'Token' }
    const name = await make({ components: [{ ...web, env: [{ name: 'TOKEN', secret }] }] })
    await runs(name, 1)
    const before = await stored(containerNames(name).component('web'))
    expect(JSON.stringify(before)).not.to.include('a-canary-for-containers')
    await expectCall(200, 'PUT', at.secret('Token'), { value: 'another-canary' })
    await until('the component is rolled', async () => {
      const after = await stored(containerNames(name).component('web'))
      if (after.metadata.generation === before.metadata.generation) throw new Error('not yet')
      return true
    })
    await runs(name, 1)
  })

  it('refuses vaults that the writer may not read, by REST and by kubectl', async () => {
    const scope = `/boundaries/${at.boundaryId}/resourcegroups/${at.group}`
    const { token } = await makeCaller({ Contributor: scope })
    const secret = { vaultName: at.vault, secretName: 'Token' }
    const spec = { components: [{ ...web, env: [{ name: 'TOKEN', secret }] }] }
    const refused = await call('POST', `${base}/${uniqueName('site')}`, spec, { token })
    expect([refused.status, refused.body.code]).to.deep.equal([403, 'FORBIDDEN'])
    const tenant = await clientWithToken(token)
    try {
      const object = (given: object) => ({
        apiVersion: ContainerInstance.apiVersion,
        kind: ContainerInstance.kind,
        metadata: { name: uniqueName('site'), namespace },
        spec: given,
      })
      await until('the API server knows the caller', () =>
        tenant.create(ContainerInstance.resource, object({ components: [web], running: false })),
      )
      const error = await tenant.create(ContainerInstance.resource, object(spec)).catch((caught: unknown) => caught)
      expect((error as { denial?: { message: string } }).denial?.message).to.equal(
        'env refers to a vault whose secrets you may not read',
      )
    } finally {
      await tenant.close()
    }
  })

  it('rejects a missing parameter by REST, and reports it in the status for kubectl', async () => {
    const components = [{ ...web, args: ['$'.concat('{region}')] }]
    const refused = await call('POST', `${base}/${uniqueName('site')}`, { components })
    expect([refused.status, refused.body.code]).to.deep.equal([400, 'BAD_REQUEST'])
    const metadata = { name: uniqueName('site'), namespace }
    const { apiVersion, kind } = ContainerInstance
    await client.create(ContainerInstance.resource, { apiVersion, kind, metadata, spec: { components } })
    await until('the status names the missing parameter', async () => {
      const { status, statusMessage } = await read(metadata.name)
      expect([status, statusMessage]).to.deep.equal([
        'Failed',
        'Component "web" needs the parameter "region", which is not in parameters.',
      ])
      return true
    })
  })
})
