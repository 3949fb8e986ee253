import { join } from 'node:path'
import { expect } from 'chai'
import { ACTIVATOR_ACCOUNT } from '../../scripts/generate/policies.ts'
import { functionObjectName } from '../../src/contracts/functions.ts'
import { groupNamespace } from '../../src/core/names.ts'
import type { Resource } from '../../src/core/object.ts'
import { FunctionNamespace, ServerlessFunction } from '../../src/crds/functions.ts'
import { deployment, pod } from '../../src/kube/builtin.ts'
import { createKubeClient, type KubeClient } from '../../src/kube/client.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import { loadKubeconfig } from '../../src/kubeconfig/kubeconfig.ts'
import { callFunction } from '../worlds/activatorWorld.ts'
import { call, expectCall, expectRemoved, makeCaller, uniqueName, until } from '../worlds/platform.ts'
import { administrator, testPlatform } from '../worlds/tenant.ts'
import { makeVault, type VaultPlace } from '../worlds/vaultWorld.ts'

type FunctionDto = {
  name: string
  namespaceName: string
  status: string
  phase: string
  buildStatus: string
  sourceHash: string | null
  lastDeploymentId: string | null
  readyReplicas: number
  triggers: { name: string; path: string | null; nextRunAt: string | null; authLevel: string }[]
}
type Problem = { code: string }
type Metrics = { isComplete: boolean; series: { name: string; points: { value: number }[] }[] }

const IMAGE = 'docker.io/library/hello:1'
const open = (path: string) => [{ name: 'web', kind: 'Http', path, authLevel: 'Anonymous' }]

const greatest = ({ series }: Metrics, name: string) =>
  Math.max(0, ...series.flatMap((each) => (each.name === name ? each.points.map(({ value }) => value) : [])))

describe('functions', () => {
  let client: KubeClient
  let at: VaultPlace
  let namespace: string
  let base: string
  const home = 'shop'

  before(async () => {
    client = await administrator()
    at = await makeVault()
    namespace = groupNamespace(at.boundaryId, at.group)
    base = `/boundaries/${at.boundaryId}/resourcegroups/${at.group}/resources/functionnamespaces`
    await expectCall(201, 'POST', `${base}/${home}`, { runtime: 'nodejs' })
  })
  after(() => client.close())

  const path = (name: string) => `${base}/${home}/functions/${name}`
  const ref = (name: string) => ({ namespace, name: functionObjectName(home, name) })
  const read = async (name: string) => (await expectCall<FunctionDto>(200, 'GET', path(name))).body
  const stored = async (name: string) =>
    (await client.get(ServerlessFunction.resource, ref(name))) as unknown as ServerlessFunction
  const find = (resource: Resource, one: { namespace: string; name: string }) =>
    client.get(resource, one).catch((error) => (isKubeError(error, 'NotFound') ? undefined : Promise.reject(error)))
  const make = async (body: object = {}) => {
    const name = uniqueName('fn')
    await expectCall(201, 'POST', path(name), { handler: 'index', ...body })
    return name
  }
  /** As an administrator may, without a builder of images. */
  const withImage = async (name: string) =>
    client.mergePatch(ServerlessFunction.resource, ref(name), { spec: { image: IMAGE } })

  it('creates with defaults, lists in the namespace, replaces and deletes', async () => {
    const name = await make()
    const made = await read(name)
    expect(made).to.deep.include({ name, namespaceName: home, buildStatus: 'NoSource', sourceHash: null })
    expect(made.triggers.map(({ path: served, authLevel }) => [served, authLevel])).to.deep.equal([
      [`/${name}`, 'Platform'],
    ])
    const { body } = await expectCall<{ items: FunctionDto[] }>(200, 'GET', `${base}/${home}/functions?search=${name}`)
    expect(body.items.map((each) => each.name)).to.deep.equal([name])
    const { status } = await call('PUT', path(name), { ...made, timeoutSeconds: 60 })
    expect(status).to.equal(200)
    expect((await stored(name)).spec.timeoutSeconds).to.equal(60)
    expect((await stored(name)).spec.triggers).to.equal(undefined)
    await until('it waits for a source', async () => (await read(name)).status === 'Stopped')
    await expectRemoved(path(name))
    expect((await call('GET', path(name))).status).to.equal(404)
  })

  it('lists, replaces and patches function namespaces', async () => {
    const shared = uniqueName('shared')
    await expectCall(201, 'POST', `${base}/${shared}`, { runtime: 'python' })
    const { body } = await expectCall<{ items: { name: string }[] }>(200, 'GET', `${base}?search=${shared}`)
    expect(body.items.map((each) => each.name)).to.deep.equal([shared])
    await expectCall(200, 'GET', `${base}/config`)
    await expectCall(200, 'PATCH', `${base}/${shared}`, { env: [{ name: 'COLOUR', value: 'blue' }] })
    const { body: found } = await expectCall<{ env: object[] }>(200, 'GET', `${base}/${shared}`)
    expect(found.env).to.have.length(1)
    const { body: put } = await expectCall<{ env: object[] }>(200, 'PUT', `${base}/${shared}`, { runtime: 'python' })
    expect(put.env).to.deep.equal([])
  })

  it('returns 409 PATH_TAKEN for a path in use by REST, and sets NameOccupied for kubectl', async () => {
    const first = await make({ triggers: open('/taken') })
    const refused = await call<Problem>('POST', path(uniqueName('fn')), { handler: 'index', triggers: open('/taken') })
    expect([refused.status, refused.body.code]).to.deep.equal([409, 'PATH_TAKEN'])
    const other = await make()
    const changed = await call<Problem>('PUT', path(other), { handler: 'index', triggers: open('/taken') })
    expect([changed.status, changed.body.code]).to.deep.equal([409, 'PATH_TAKEN'])
    const late = uniqueName('late')
    await client.create(ServerlessFunction.resource, {
      apiVersion: ServerlessFunction.apiVersion,
      kind: ServerlessFunction.kind,
      metadata: ref(late),
      spec: { namespaceName: home, functionName: late, handler: 'index', triggers: open('/taken') },
    })
    await until('the later one is NameOccupied', async () => (await stored(late)).status?.phase === 'NameOccupied')
    await expectRemoved(path(first))
    await until('the later one gets the path', async () => (await stored(late)).status?.paths?.includes('/taken'))
  })

  it('accepts one of five concurrent functions with the same path', async () => {
    const answers = await Promise.all(
      Array.from({ length: 5 }, () =>
        call('POST', path(uniqueName('race')), { handler: 'index', triggers: open('/race') }),
      ),
    )
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, 409, 409, 409, 409])
  })

  it('stores the source as a zip under its hash until it is deleted', async () => {
    const name = await make()
    const files = [{ path: 'index.mjs', content: "export default () => new Response('Hello')" }]
    const { body: first } = await expectCall<{ hash: string; fileCount: number; deploymentId: string }>(
      200,
      'POST',
      `${path(name)}/source`,
      { files },
    )
    const { body: again } = await expectCall<{ hash: string; deploymentId: string }>(
      200,
      'POST',
      `${path(name)}/source`,
      { files },
    )
    expect([again.hash, again.deploymentId]).to.deep.equal([first.hash, first.deploymentId])
    const zip = await call('GET', `${path(name)}/source`)
    expect([zip.status, zip.headers.get('etag')]).to.deep.equal([200, `"${first.hash}"`])
    expect(await read(name)).to.deep.include({ sourceHash: first.hash, lastDeploymentId: first.deploymentId })
    await until('its deployment is listed', async () => {
      const { body } = await expectCall<{ items: { id: string; source: string }[] }>(
        200,
        'GET',
        `${base}/${home}/deployments`,
      )
      return body.items.some(({ id, source }) => id === first.deploymentId && source === `functions/${name}`)
    })
    const stale = await call<Problem>('DELETE', `${path(name)}/source?hash=${'0'.repeat(64)}`)
    expect([stale.status, stale.body.code]).to.deep.equal([409, 'CONFLICT'])
    await expectCall(204, 'DELETE', `${path(name)}/source`)
    expect((await call('GET', `${path(name)}/source`)).status).to.equal(404)
    await expectCall(204, 'DELETE', `${path(name)}/source`)
    const refused = await call<Problem>('POST', `${path(name)}/source`, { files: [{ path: '../x', content: '' }] })
    expect([refused.status, refused.body.code]).to.deep.equal([400, 'PATH_NOT_ALLOWED'])
  })

  it('starts a copy when called, and scales to zero when idle', async () => {
    const name = await make({ triggers: open('/wake'), idleSeconds: 10, timeoutSeconds: 30 })
    await withImage(name)
    await until('it sleeps', async () => (await read(name)).phase === 'Available')
    const workload = (await client.list(deployment, { namespace })).items.find(
      ({ metadata }) => metadata.labels?.['freehold.dev/owner-name'] === ref(name).name,
    )
    expect((workload?.spec as { replicas?: number } | undefined)?.replicas).to.equal(0)
    const host = await until('it has a host', async () => {
      const found = await client.get(FunctionNamespace.resource, { namespace, name: home })
      return (found.status as FunctionNamespace['status'])?.publicHost
    })
    const before = Math.floor(Date.now() / 1000)
    // Pods are simulated: the call wakes one, but its made-up address does not answer. On a busy machine the call may
    // time out before there is a copy.
    const wake = () => callFunction(testPlatform().activatorUrl, '/wake', { headers: { host } })
    const answer = await until('the activator knows it, and a copy is in time', async () => {
      const found = await wake()
      return ![404, 504].includes(found.status) && found
    })
    expect([answer.status, JSON.parse(answer.text).code]).to.deep.equal([503, 'SIMULATED'])
    await until('a copy runs', async () => {
      const { readyReplicas } = await read(name)
      // A late look finds it asleep again.
      if (readyReplicas !== 1) await wake()
      return readyReplicas === 1
    })
    await expectCall(200, 'GET', `${path(name)}/logs`)
    const metrics = await until('its metrics show the call', async () => {
      const { body } = await expectCall<Metrics>(200, 'GET', `${path(name)}/metrics?from=${before}&step=15s`)
      return body.isComplete && greatest(body, 'Invocations') > 0 && body
    })
    expect(greatest(metrics, 'Errors')).to.be.greaterThan(0)
    await until('it sleeps again', async () => (await stored(name)).status?.replicas === 0)
    expect((await callFunction(testPlatform().activatorUrl, '/nothing', { headers: { host } })).status).to.equal(404)
  })

  it('stops, starts and restarts with the namespace, by REST and by kubectl', async () => {
    const calm = uniqueName('calm')
    await expectCall(201, 'POST', `${base}/${calm}`, { runtime: 'nodejs' })
    await expectCall(201, 'POST', `${base}/${calm}/functions/one`, { handler: 'index', minReplicas: 1 })
    const one = { namespace, name: functionObjectName(calm, 'one') }
    await client.mergePatch(ServerlessFunction.resource, one, { spec: { image: IMAGE } })
    const statusOf = async (path = '') =>
      (await expectCall<{ status: string; readyReplicas: number }>(200, 'GET', `${base}/${calm}${path}`)).body
    const runs = () => until('it runs', async () => (await statusOf('/functions/one')).readyReplicas === 1)
    const stopped = () =>
      until('all is stopped', async () => {
        const { status, readyReplicas } = await statusOf('/functions/one')
        return status === 'Stopped' && readyReplicas === 0 && (await statusOf()).status === 'Stopped'
      })
    const act = (action: string, status = 202) => expectCall(status, 'PUT', `${base}/${calm}/actions/${action}`)
    const podsOf = async () =>
      (await client.list(pod, { namespace })).items
        .filter(({ metadata }) => metadata.labels?.['freehold.dev/owner-name'] === one.name)
        .map(({ metadata }) => metadata.uid)
    await runs()
    const [before] = await podsOf()
    await act('restart')
    await until('its copy is another one', async () => {
      const now = await podsOf()
      return now.length === 1 && now[0] !== before
    })
    await act('stop')
    await stopped()
    expect((await act('restart', 409)).body).to.deep.include({ code: 'INVALID_STATE' })
    await act('start')
    await runs()
    const kubectl = (running: boolean) =>
      client.mergePatch(FunctionNamespace.resource, { namespace, name: calm }, { spec: { running } })
    await kubectl(false)
    await stopped()
    await kubectl(true)
    await runs()
    await call('DELETE', `${base}/${calm}`)
  })

  it('lets writers invoke a function once it has an image', async () => {
    const name = await make({ idleSeconds: 10 })
    const invoke = (token?: string) =>
      call<Problem>('POST', `${path(name)}/invoke`, { body: 'Hello' }, token === undefined ? {} : { token })
    const early = await invoke()
    expect([early.status, early.body.code]).to.deep.equal([409, 'INVALID_STATE'])
    const { token } = await makeCaller({ Reader: `/boundaries/${at.boundaryId}/resourcegroups/${at.group}` })
    const refused = await invoke(token)
    expect([refused.status, refused.body.code]).to.deep.equal([403, 'FORBIDDEN'])
    await withImage(name)
    // Pods are simulated: the call wakes one, but its made-up address does not answer. On a busy machine the call may
    // time out before there is a copy.
    const answer = await until('it is known, and a copy is in time', async () => {
      const found = await invoke()
      return found.status !== 409 && !/cannot be called yet|had room for the call/.test(found.text) && found
    })
    expect([answer.status, answer.body.code], answer.text).to.deep.equal([503, 'SERVICE_UNAVAILABLE'])
    expect(answer.text).to.include('Pods are simulated')
    await until('it has one copy', async () => {
      const { copies = [] } = (await stored(name)).status ?? {}
      // A late look finds it asleep again.
      if (copies.length === 0) await invoke()
      return expect(copies).to.have.length(1)
    })
  })

  it('lets the activator write only its own fields of the status', async () => {
    const name = await make()
    await until('it sleeps', async () => (await stored(name)).status?.phase !== undefined)
    const kubeconfig = join(testPlatform().folder, 'platform', 'kubeconfig')
    const options = { fieldManager: 'freehold-activator', userAgent: 'freehold-test' }
    const activator = createKubeClient(loadKubeconfig(kubeconfig, ACTIVATOR_ACCOUNT), options)
    const write = (status: object) =>
      activator
        .mergePatch(ServerlessFunction.resource, ref(name), { status }, { subresource: 'status' })
        .then(() => 'written', denialOf)
    const denialOf = (error: unknown) =>
      isKubeError(error, 'Forbidden') ? error.denial?.message : Promise.reject(error)
    const refused = 'the activator writes only desiredReplicas, timers, lastRuns of the status of a function'
    try {
      for (const status of [
        { copies: ['10.0.0.1'] },
        { copies: ['4a7f8a52-7a4e-4b52-9a55-0d6c8f3f9b77/somebody-elses'] },
        { copies: ['10.0.0.1'], desiredReplicas: 0 },
        { keys: [{ trigger: 'web', digest: 'a' }] },
        { conditions: null },
        { phase: null },
      ])
        expect(await write(status), JSON.stringify(status)).to.include(refused)
      const tick = { schedule: '0 0 1 1 * UTC', since: '2026-01-01T00:00:00Z' }
      for (const status of [
        { desiredReplicas: 0 },
        { timers: { tick }, lastRuns: {} },
        { lastRuns: { tick: '2026-01-01T00:00:00Z' } },
        { timers: { tick: null }, lastRuns: { tick: null } },
      ])
        expect(await write(status), JSON.stringify(status)).to.equal('written')
    } finally {
      await activator.close()
    }
  })

  it('serves an image that an external builder reported', async () => {
    const name = await make()
    const { body } = await expectCall<{ id: string }>(201, 'POST', `${base}/${home}/deployments`, {
      source: `functions/${name}`,
    })
    const one = `${base}/${home}/deployments/${body.id}`
    await expectCall(200, 'POST', `${one}/logs`, { lines: ['Step 1'] })
    await expectCall(200, 'PUT', one, { phase: 'Deploying', containerImage: IMAGE })
    await until('it is served', async () => (await stored(name)).status?.servingDeployment === body.id)
    await until('REST shows it', async () =>
      expect(await read(name)).to.deep.include({ buildStatus: 'Succeeded', lastDeploymentId: body.id }),
    )
    await expectCall(200, 'GET', `${base}/${home}/deployments/config`)
    const more = { source: `functions/${name}`, phase: 'Building' }
    const { body: other } = await expectCall<{ id: string }>(201, 'POST', `${base}/${home}/deployments`, more)
    await expectCall(200, 'DELETE', `${base}/${home}/deployments/${other.id}`)
    const log = await call<string>('GET', `${one}/build-logs`)
    expect([log.status, log.text]).to.deep.equal([200, 'Step 1\n'])
    const unknown = await call<Problem>('POST', `${base}/${home}/deployments`, { source: 'functions/nobody' })
    expect([unknown.status, unknown.body.code]).to.deep.equal([400, 'BAD_REQUEST'])
  })

  it('returns 422 RUNTIME_ENDED for a runtime that has ended', async () => {
    const body = { runtime: 'nodejs', runtimeVersion: '18' }
    const refused = await call<Problem>('POST', `${base}/${uniqueName('old')}`, body)
    expect([refused.status, refused.body.code]).to.deep.equal([422, 'RUNTIME_ENDED'])
  })

  it('are deleted with their namespace', async () => {
    const deleted = uniqueName('gone')
    await expectCall(201, 'POST', `${base}/${deleted}`, { runtime: 'python' })
    await expectCall(201, 'POST', `${base}/${deleted}/functions/one`, { handler: 'main.app' })
    await until('it is deleted', async () => {
      await call('DELETE', `${base}/${deleted}`)
      return (await call('GET', `${base}/${deleted}`)).status === 404
    })
    expect(await find(ServerlessFunction.resource, { namespace, name: functionObjectName(deleted, 'one') })).to.equal(
      undefined,
    )
  })
})
