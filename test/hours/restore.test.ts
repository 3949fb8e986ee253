import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import { layout } from '../../scripts/controlplane/flags.ts'
import { applyManifests, crdManifests } from '../../scripts/platform/manifests.ts'
import { writeOperatorKubeconfig } from '../../scripts/platform/operator.ts'
import { platformAccess } from '../../scripts/platform.ts'
import { messageOf } from '../../src/core/errors.ts'
import { type KubeObject, type Resource, resourceId } from '../../src/core/object.ts'
import { KINDS } from '../../src/crds/index.ts'
import { platformSchedule } from '../../src/desired/platformbackups.ts'
import { job, namespace, secret, statefulSet } from '../../src/kube/builtin.ts'
import { installManifests } from '../../src/kube/crds.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import { OwnPlatform } from '../cluster/platform.ts'
import { until } from '../make/until.ts'
import { makeServiceAccount, tokenFor } from '../worlds/tenant.ts'

type Body = { [field: string]: unknown }
type Backup = { resource: Resource; objects: readonly KubeObject[] }[]

/** What the Schedule of the platform takes, in the order of Velero's restores. */
async function backUp({ admin }: OwnPlatform): Promise<Backup> {
  const { spec } = platformSchedule(
    { cron: '0 2 * * *', ttlHours: 24, paused: false },
    { kinds: KINDS, velero: 'velero', location: 'default' },
  ) as unknown as { spec: { template: Record<string, string[]> } }
  const {
    includedNamespaceScopedResources = [],
    includedClusterScopedResources = [],
    excludedNamespaces = [],
  } = spec.template
  const included = [...includedClusterScopedResources, ...includedNamespaceScopedResources]
  const ours = KINDS.map(({ resource }) => resource).filter((resource) => included.includes(resourceId(resource)))
  const first = [namespace, secret].filter(({ plural }) => included.includes(plural))
  const sorted = [...first, ...ours.sort((one, other) => one.plural.localeCompare(other.plural))]
  return Promise.all(
    sorted.map(async (resource) => {
      const { items } = await admin.list(resource, {})
      const isTaken = ({ metadata }: KubeObject) =>
        !excludedNamespaces.includes(resource === namespace ? metadata.name : (metadata.namespace ?? ''))
      return { resource, objects: items.filter(isTaken) }
    }),
  )
}

/** As Velero restores with every status: without what names an object of before, and nothing over what is there. */
async function restore({ admin }: OwnPlatform, backup: Backup): Promise<void> {
  const refused: string[] = []
  for (const { resource, objects } of backup) {
    for (const { status, ...object } of objects as (KubeObject & { status?: object })[]) {
      const { name, namespace: home, labels, annotations, finalizers } = object.metadata
      const told = { ...labels, 'velero.io/backup-name': 'nightly', 'velero.io/restore-name': 'restored' }
      const ref = { name, ...(home !== undefined && { namespace: home }) }
      const made = { ...object, metadata: { ...ref, labels: told, annotations, finalizers } }
      try {
        await admin.create(resource, { ...made, apiVersion: apiVersionOf(resource), kind: resource.kind } as KubeObject)
        if (status !== undefined && resource !== namespace)
          await admin.mergePatch(resource, ref, { status }, { subresource: 'status' })
      } catch (error) {
        if (!isKubeError(error, 'AlreadyExists')) refused.push(`${resource.kind} ${name}: ${messageOf(error)}`)
      }
    }
  }
  expect(refused).to.deep.equal([])
}

const apiVersionOf = ({ group, version }: Resource) => (group === '' ? version : `${group}/${version}`)

describe('a platform restored from what Velero backed up', () => {
  let own: OwnPlatform
  let token: string

  async function call(method: string, path: string, body?: object): Promise<{ status: number; body: Body }> {
    const answer = await fetch(`${own.platform.facadeUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, body: (text === '' ? {} : JSON.parse(text)) as Body }
  }
  async function expectCall(status: number, ...given: Parameters<typeof call>): Promise<Body> {
    const answer = await call(...given)
    if (answer.status !== status)
      throw new Error(`${given[0]} ${given[1]}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const signIn = async () => {
    const { clientId, clientSecret, tokenUrl } = own.platform
    token = await tokenFor(clientId, clientSecret, tokenUrl)
  }
  const items = async (path: string) => ((await expectCall(200, 'GET', path)).items as Body[]) ?? []

  before(async () => {
    own = await OwnPlatform.prepare()
    await own.startOperator()
    await signIn()
  })
  after(() => own?.stop())

  it('is the same platform: ids, grants, secrets, resources, and what has been done', async () => {
    const boundary = await expectCall(201, 'POST', '/boundaries', { displayName: 'Acme' })
    const base = `/boundaries/${boundary.id}`
    const group = `${base}/resourcegroups/shop`
    const at = (path: string) => `${group}/resources/${path}`
    await expectCall(201, 'POST', group, {})
    const { clientId, clientSecret } = await makeServiceAccount(own.admin, 'Reader', own.platform.tokenUrl)
    const grant = { principalId: clientId, roleDefinitionName: 'Reader', scope: base }
    await expectCall(201, 'POST', `${base}/providers/authorization/roleAssignments`, grant)
    await expectCall(201, 'POST', at('secretvaults/keys'), {})
    await until('the vault takes secrets', async () => {
      const { status } = await call('PUT', at('secretvaults/keys/secrets/token'), { value: 'kept' })
      return status === 200
    })
    await expectCall(201, 'POST', at('vectorclusters/index'), {})
    await expectCall(201, 'POST', at('relationalclusters/orders'), {})
    await expectCall(201, 'POST', at('jobs/report'), { image: 'docker.io/library/busybox' })
    const env = [{ name: 'TOKEN', secret: { vaultName: 'keys', secretName: 'token' } }]
    const components = [{ name: 'web', image: 'docker.io/library/nginx:1.29', env }]
    await expectCall(201, 'POST', at('containerinstances/site'), { components })
    const statusOf = async (path: string) => (await call('GET', path)).body.status
    const running = ['vectorclusters/index', 'relationalclusters/orders', 'containerinstances/site'].map(at)
    for (const path of running) await until(`${path} runs`, async () => (await statusOf(path)) === 'Running')
    const snapshots = at('relationalclusters/orders/snapshots')
    await expectCall(202, 'POST', snapshots, { name: 'kept' })
    await until('the snapshot is taken', async () => (await items(snapshots))[0]?.status === 'Completed')
    await until('the job is done', async () => /Succeeded|Completed/.test(String(await statusOf(at('jobs/report')))))
    const lists = [
      ['/boundaries', ['id']],
      [`${base}/resourcegroups`, ['id', 'name']],
      [`${base}/providers/authorization/roleAssignments`, ['id', 'scope']],
      ['/clusters', ['id', 'name']],
      [snapshots, ['id', 'name', 'status', 'completedAt']],
      [at('jobs'), ['id', 'name', 'status', 'startedAt', 'completedAt']],
    ] as const
    const known = () =>
      Promise.all(
        lists.map(async ([path, fields]) => (await items(path)).map((item) => fields.map((field) => item[field]))),
      )
    const before = await known()
    const countsOf = (backup: Backup) =>
      Object.fromEntries(backup.map(({ resource, objects }) => [resource.plural, objects.length]))

    const former = token
    await own.endOperator('SIGTERM')
    const backup = await backUp(own)
    await own.controlPlane.restart(platformAccess(own.ports), () =>
      rm(layout(own.controlPlane.folder).etcdData, { recursive: true }),
    )
    await installManifests(own.admin, crdManifests(), { timeout: 180_000 })
    await restore(own, backup)
    const caPem = own.controlPlane.servingCaPem
    await applyManifests(own.admin, { url: `https://127.0.0.1:${own.ports.webhook}/admit`, caPem })
    // As each start of the platform does: the accounts are others than those of the old tokens.
    await writeOperatorKubeconfig(own.controlPlane, own.controlPlane.folder, own.admin)
    await own.startOperator()
    token = former
    expect((await call('GET', base)).status, 'an access token of before').to.equal(401)
    await signIn()

    expect((await expectCall(200, 'GET', at('secretvaults/keys/secrets/token'))).value).to.equal('kept')
    const made = async (path: string) => {
      const { items: found } = await own.admin.list(path === 'jobs' ? job : statefulSet, {})
      return found.map(({ metadata }) => metadata.name)
    }
    await until('the databases are made again', async () => (await made('sets')).some((name) => name.includes('index')))
    for (const path of running) await until(`${path} runs again`, async () => (await statusOf(path)) === 'Running')
    expect(await known()).to.deep.equal(before)
    expect(await made('jobs')).to.deep.equal([])
    const reader = await tokenFor(clientId, clientSecret, own.platform.tokenUrl)
    const seen = await fetch(`${own.platform.facadeUrl}${base}`, { headers: { authorization: `Bearer ${reader}` } })
    expect(seen.status).to.equal(200)
    expect(countsOf(await backUp(own))).to.deep.equal(countsOf(backup))

    await expectCall(202, 'DELETE', group)
    await until('the group is gone', async () => (await call('GET', group)).status === 404)
    await expectCall(202, 'DELETE', base)
    await until('the boundary is gone', async () => (await call('GET', base)).status === 404)
    const { items: left } = await own.admin.list(namespace, {})
    const names = left.map(({ metadata }) => metadata.name)
    expect(names.filter((name) => name.includes(String(boundary.id)))).to.deep.equal([])
  })
})
