// @inTurn plain: a second control plane with an agent, and kills the operator.
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { expect } from 'chai'
import { choosePorts } from '../../scripts/controlplane/ports.ts'
import { readManifests } from '../../scripts/platform/manifests.ts'
import { containerNames } from '../../src/contracts/containerinstances.ts'
import { FILES_LABEL } from '../../src/contracts/workloads.ts'
import { messageOf } from '../../src/core/errors.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { PlatformCluster } from '../../src/crds/clusters.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import { deployment, job, namespace, persistentVolumeClaim, secret, statefulSet } from '../../src/kube/builtin.ts'
import { createKubeClient, type KubeClient } from '../../src/kube/client.ts'
import { installManifests } from '../../src/kube/crds.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import { createExec } from '../../src/kube/exec.ts'
import { postgresqlCluster } from '../../src/kube/postgresql.ts'
import { loadKubeconfig } from '../../src/kubeconfig/kubeconfig.ts'
import { type OwnControlPlane, startOwnControlPlane } from '../cluster/index.ts'
import { borrowPlatform, giveBack } from '../cluster/lent.ts'
import type { OwnPlatform } from '../cluster/platform.ts'
import { TEST_CONFIG } from '../config.ts'
import { promised, until } from '../make/until.ts'
import { seeFunctionThere } from '../worlds/functionThere.ts'
import { tokenFor } from '../worlds/tenant.ts'

/** Milliseconds for which the hub is away at least. */
const AWAY = TEST_CONFIG.sized(0, 120_000)
const IMAGE = 'docker.io/library/nginx:1'
const DEPLOY = join(import.meta.dirname, '../../deploy/agent')

type Cluster = { id: string; status: string; projectionCount: number; resourceCount: number; nodeCount: number | null }
type Token = { token: string; serverUrl: string; caFingerprint: string }
type Projection = { id: string; status: string; resolvedNamespaces: { namespace: string; state: string }[] }

describe('a boundary on another cluster, through an agent that only calls out', () => {
  let own: OwnPlatform
  let spoke: OwnControlPlane
  let far: KubeClient
  let agent: ChildProcess | undefined
  let joined: Record<string, string>
  let probes: string
  let clusterId: string
  let boundaryId: string
  let home: string
  /** One life of a cluster: each needs the one before, so they are one test. */
  const steps: [name: string, work: () => Promise<void>][] = []
  const step = (name: string, work: () => Promise<void>) => void steps.push([name, work])
  const there = { namespace: '', name: 'vc-search' }
  const resource = (path: string) => `/boundaries/${boundaryId}/resourcegroups/shop/resources/${path}`
  const vector = () => resource('vectorclusters/search')

  before(async () => {
    own = await borrowPlatform('plain')
    await own.startOperator({ PLATFORM_FILES_IMAGE: 'files.test/freehold:1' })
    spoke = await startOwnControlPlane({ nodes: 1 })
    far = createKubeClient(loadKubeconfig(spoke.kubeconfigPath), { fieldManager: 'test', userAgent: 'test' })
    await installManifests(
      far,
      ['namespace.yaml', 'rbac.yaml'].flatMap((name) => readManifests(join(DEPLOY, name))),
    )
  })
  after(async () => {
    await endAgent('SIGTERM')
    await far?.close()
    await spoke?.stop()
    await giveBack(own)
  })

  async function call<Body>(status: number, method: string, path: string, body?: object): Promise<Body> {
    const answer = await request(method, path, body)
    const text = await answer.text()
    if (answer.status !== status) throw new Error(`${method} ${path} answered ${answer.status}: ${text}`)
    return (text === '' ? undefined : JSON.parse(text)) as Body
  }

  async function request(method: string, path: string, body?: object, signal?: AbortSignal): Promise<Response> {
    const { clientId, clientSecret, tokenUrl } = own.platform
    const token = await tokenFor(clientId, clientSecret, tokenUrl)
    return fetch(`http://127.0.0.1:${own.ports.facade}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    })
  }

  /** The agent as a Deployment would run it, under the very account that its manifest gives it. */
  async function startAgent(settings: Record<string, string>): Promise<void> {
    const kubeconfig = join(spoke.folder, 'agent-kubeconfig')
    const user = await spoke.issueClientCertificate('system:serviceaccount:freehold-system:freehold-controllers', [
      'system:serviceaccounts',
      'system:serviceaccounts:freehold-system',
      'system:authenticated',
    ])
    await spoke.writeKubeconfig(kubeconfig, { name: 'agent', user })
    const { management = 0 } = await choosePorts(spoke.folder, ['management'])
    probes = `http://127.0.0.1:${management}/readyz`
    const log = openSync(join(own.controlPlane.folder, 'logs', 'agent.log'), 'a')
    const { program, args, environment } = own.command
    const { PATH = '', HOME = '' } = environment
    agent = spawn(program, args, {
      stdio: ['ignore', log, log],
      env: {
        PATH,
        HOME,
        PLATFORM_ROLE: 'agent',
        PLATFORM_KUBECONFIG: kubeconfig,
        PLATFORM_MANAGEMENT_HOST: '127.0.0.1',
        PLATFORM_MANAGEMENT_PORT: String(management),
        ...settings,
      },
    })
    closeSync(log)
  }

  async function endAgent(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const ending = agent
    agent = undefined
    if (ending === undefined || ending.exitCode !== null) return
    const ended = new Promise((done) => ending.once('exit', done))
    ending.kill(signal)
    await ended
  }

  const settingsOf = ({ token, serverUrl, caFingerprint }: Token) => ({
    PLATFORM_AGENT_HUB: serverUrl,
    PLATFORM_AGENT_FINGERPRINT: caFingerprint,
    PLATFORM_AGENT_TOKEN: token,
  })
  const cluster = () => call<Cluster>(200, 'GET', `/clusters/${clusterId}`)
  const untilCluster = (status: string) =>
    until(`the cluster is ${status}`, async () => {
      const found = await cluster()
      if (found.status === status) return found
      throw new Error(JSON.stringify(found))
    })
  const untilRunning = (replicas: number) =>
    until(`the database runs with ${replicas} peers`, async () => {
      const found = await call<{ status: string; phase: string; statusMessage: string; readyReplicas: number }>(
        200,
        'GET',
        vector(),
      )
      if (found.status === 'Running' && found.readyReplicas === replicas) return found
      throw new Error(`${found.status} ${found.phase} ${found.readyReplicas}: ${found.statusMessage}`)
    })
  type Shown = { status: string; phase: string; statusMessage: string }
  const untilIt = (path: string, what: string, isSo: (shown: Shown) => boolean) =>
    until(`${path} ${what}`, async () => {
      const found = await call<Shown>(200, 'GET', path)
      if (isSo(found)) return found
      throw new Error(JSON.stringify(found))
    })
  async function exists(client: KubeClient, resource: typeof statefulSet, name: string, space?: string) {
    try {
      await client.get(resource, { namespace: space, name })
      return true
    } catch (error) {
      if (isKubeError(error, 'NotFound')) return false
      throw error
    }
  }

  step('is registered once under a name, and waits for its agent', async () => {
    const made = await call<Cluster>(201, 'POST', '/clusters', { name: 'far', region: 'south' })
    clusterId = made.id
    expect(made.status).to.equal('AwaitingJoin')
    await call(409, 'POST', '/clusters', { name: 'far', region: 'east' })
  })

  step('lets an agent join with a token, once, which is nowhere stored', async () => {
    await call(200, 'PUT', `/clusters/${clusterId}`, { displayName: 'far', region: 'north' })
    const token = await call<Token>(201, 'POST', `/clusters/${clusterId}/join-token`, {})
    const stored = await own.admin.get(PlatformCluster.resource, { name: clusterId })
    expect(JSON.stringify(stored)).not.to.contain(token.token)
    joined = settingsOf(token)
    await startAgent(joined)
    const online = await untilCluster('Online')
    expect(online.nodeCount ?? 0).to.be.greaterThan(-1)
    await until('its nodes are counted', async () => (await cluster()).nodeCount === 1)
    const { spec } = (await own.admin.get(PlatformCluster.resource, { name: clusterId })) as unknown as PlatformCluster
    expect(spec.joinTokens).to.deep.equal([])
  })

  step('gives the groups of a projected boundary their namespaces there, with rights and closed traffic', async () => {
    boundaryId = (await call<{ id: string }>(201, 'POST', '/boundaries', { displayName: 'Shop' })).id
    const group = `/boundaries/${boundaryId}/resourcegroups/shop`
    await call(201, 'POST', group)
    await call(422, 'POST', vector(), { clusterId })
    await call(201, 'POST', `/boundaries/${boundaryId}/projections`, { clusterId })
    await call(409, 'POST', `/boundaries/${boundaryId}/projections`, { clusterId })
    const projection = await until('the namespace is applied', async () => {
      const path = `/boundaries/${boundaryId}/projections/${clusterId}`
      const found = await call<Projection>(200, 'GET', path)
      if (found.resolvedNamespaces[0]?.state === 'Applied') return found
      throw new Error(JSON.stringify(found))
    })
    home = projection.resolvedNamespaces[0]?.namespace ?? ''
    await call(200, 'PATCH', `/boundaries/${boundaryId}/projections/${clusterId}`, { namespaces: null })
    there.namespace = home
    const { metadata } = await far.get(namespace, { name: home })
    expect(metadata.labels).to.include({ 'freehold.dev/boundary': boundaryId, 'freehold.dev/resource-group': 'shop' })
  })

  step('runs a vector database there, which is read and changed here', async () => {
    const made = await call<{ clusterId: string }>(201, 'POST', vector(), { replicas: 1 })
    expect(made.clusterId, 'the default of a projected boundary').to.equal(clusterId)
    await untilRunning(1)
    expect(await exists(far, statefulSet, 'vc-search', home)).to.equal(true)
    expect(await exists(own.admin, statefulSet, 'vc-search', home)).to.equal(false)
    const { apiKey } = await call<{ apiKey: string }>(200, 'GET', `${vector()}/apikey`)
    const { data } = await far.get<KubeObject & { data: Record<string, string> }>(secret, {
      namespace: home,
      name: 'vc-search-apikey',
    })
    expect(Buffer.from(data['api-key'] ?? '', 'base64').toString()).to.equal(apiKey)
    await call(202, 'POST', `${vector()}/scale`, { targetScale: 2 })
    await untilRunning(2)
    const { resourceCount, projectionCount } = await cluster()
    expect({ resourceCount, projectionCount }).to.deep.equal({ resourceCount: 1, projectionCount: 1 })
  })

  step('runs a job there, whose result is read here', async () => {
    const report = resource('jobs/report')
    const { clusterId: at } = await call<{ clusterId: string }>(201, 'POST', report, {
      image: 'docker.io/library/node',
    })
    expect(at).to.equal(clusterId)
    await untilIt(report, 'has ended', ({ status }) => status === 'Succeeded')
    expect(await exists(far, job, 'pjob-report', home)).to.equal(true)
    expect(await exists(own.admin, job, 'pjob-report', home)).to.equal(false)
    expect((await request('GET', `${report}/logs`)).status, 'its node is only played, and has no log').to.equal(502)
    expect([202, 204]).to.include((await request('DELETE', report)).status)
    await until('the job is gone', async () => (await request('GET', report)).status === 404)
    expect(await exists(far, job, 'pjob-report', home)).to.equal(false)
  })

  step('runs a SQL instance there, which is read, stopped and deleted here', async () => {
    const books = resource('sqlclusters/books')
    await call(201, 'POST', books, { engine: 'MariaDb' })
    await untilIt(books, 'runs', ({ status }) => status === 'Running')
    expect(await exists(far, statefulSet, 'sqli-books', home)).to.equal(true)
    expect(await exists(own.admin, statefulSet, 'sqli-books', home)).to.equal(false)
    const { password } = await call<{ password: string }>(200, 'GET', `${books}/connectionstring`)
    const name = 'sqli-books-logins'
    const { data } = await far.get<KubeObject & { data: Record<string, string> }>(secret, { namespace: home, name })
    expect(Buffer.from(data['owner-password'] ?? '', 'base64').toString()).to.equal(password)
    await call(202, 'PUT', `${books}/actions/stop`)
    await untilIt(books, 'has stopped', ({ status }) => status === 'Stopped')
    const { spec } = await far.get<KubeObject & { spec: { replicas: number } }>(statefulSet, {
      namespace: home,
      name: 'sqli-books',
    })
    expect(spec.replicas).to.equal(0)
    expect([202, 204]).to.include((await request('DELETE', books)).status)
    await until('the instance is gone', async () => (await request('GET', books)).status === 404)
    for (const [kind, left] of [[statefulSet, 'sqli-books'] as const, [secret, name] as const])
      expect(await exists(far, kind, left, home)).to.equal(false)
  })

  step('runs a relational database there, by the CloudNativePG of that cluster', async () => {
    const ledger = resource('relationalclusters/ledger')
    await call(201, 'POST', ledger, { replicas: 1, backupEnabled: false })
    await untilIt(ledger, 'runs', ({ status }) => status === 'Running')
    expect(await exists(far, postgresqlCluster, 'relc-ledger', home)).to.equal(true)
    expect(await exists(own.admin, postgresqlCluster, 'relc-ledger', home)).to.equal(false)
    expect([202, 204]).to.include((await request('DELETE', ledger)).status)
    await until('the database is gone', async () => (await request('GET', ledger)).status === 404)
    expect(await exists(far, postgresqlCluster, 'relc-ledger', home)).to.equal(false)
  })

  step('runs a container instance there, whose copies, logs, backups and files are asked for there', async () => {
    const web = resource('containerinstances/web')
    const volumes = [{ name: 'disk', kind: 'Persistent', size: '1Gi' }]
    const component = { name: 'web', image: IMAGE, ports: [{ name: 'http', port: 8080 }] }
    const components = [{ ...component, mounts: [{ volume: 'disk', path: '/data' }] }]
    await call(201, 'POST', web, { components, volumes })
    await untilIt(web, 'runs', ({ status }) => status === 'Running')
    const names = containerNames('web')
    for (const [kind, name] of [
      [deployment, names.component('web')],
      [persistentVolumeClaim, names.volume('disk')],
    ] as const) {
      expect(await exists(far, kind, name, home), name).to.equal(true)
      expect(await exists(own.admin, kind, name, home), name).to.equal(false)
    }
    const { items } = await call<{ items: { id: string }[] }>(200, 'GET', `${web}/crates`)
    const [crate = { id: '' }, ...more] = items
    expect(more).to.deep.equal([])
    await call(200, 'GET', `${web}/crates/${crate.id}`)
    expect((await request('GET', `${web}/crates/${crate.id}/logs`)).status, 'its node is only played').to.equal(502)
    const policy = { schedule: '0 2 * * *', retentionDays: 7 }
    const refused = await call<{ code: string }>(422, 'PUT', `${web}/backup-policy`, policy)
    expect(refused.code, 'there is no Velero there').to.equal('BACKUP_TARGET_MISSING')
    await seeFilesAsked(`${web}/files?path=/data`)
    await seeExecAllowed(crate.id)
  })

  /** A pod comes beside the volume there. As pods are only played, it has no files to tell of, and nobody waits for them. */
  async function seeFilesAsked(path: string): Promise<void> {
    const enough = new AbortController()
    const asked = request('GET', path, undefined, enough.signal).catch(() => undefined)
    const labelSelector = `${FILES_LABEL}=true`
    const isThere = async () => (await far.list(job, { namespace: home, labelSelector })).items.length > 0
    await until('a pod is to come beside the volume there', isThere)
    expect((await own.admin.list(job, { namespace: home, labelSelector })).items).to.deep.equal([])
    enough.abort()
    await asked
  }

  /** With what its manifest allows it, the agent gets as far as the node in a group, and not even there elsewhere. */
  async function seeExecAllowed(pod: string): Promise<void> {
    const exec = createExec(loadKubeconfig(join(spoke.folder, 'agent-kubeconfig')), 'test')
    const failure = async (space: string) => {
      const asked = { namespace: space, pod, container: 'web', command: ['true'], signal: AbortSignal.timeout(60_000) }
      return exec(asked).then(
        async ({ stdout }) => buffer(stdout).then(String, messageOf),
        (error: unknown) => messageOf(error),
      )
    }
    expect(await failure('kube-system')).to.contain('answered 403')
    expect(await failure(home)).to.not.contain('answered')
  }

  step('runs a function there, which a call to its host here wakes', async () => {
    const path = resource('functionnamespaces/calls')
    const activatorUrl = `http://127.0.0.1:${own.ports.activator}`
    const gateUrl = joined.PLATFORM_AGENT_HUB ?? ''
    await seeFunctionThere({ call, here: own.admin, there: far, home, clusterId, path, activatorUrl, gateUrl })
    expect([202, 204]).to.include((await request('DELETE', path)).status)
    await until('the namespace is gone', async () => (await request('GET', path)).status === 404)
    expect((await far.list(deployment, { namespace: home })).items.map(({ metadata }) => metadata.name)).to.deep.equal([
      containerNames('web').component('web'),
    ])
  })

  step('runs an app and a site there, and leaves nothing of what is deleted', async () => {
    const [app, site] = [resource('apps/portal'), resource('staticwebapps/pages')]
    await call(201, 'POST', app, { sourceKind: 'Image', image: IMAGE })
    await call(201, 'POST', site, { image: IMAGE })
    for (const path of [app, site]) {
      await untilIt(path, 'runs', ({ status }) => status === 'Running')
      const { items } = await call<{ items: object[] }>(200, 'GET', `${path}/pods`)
      expect(items).to.have.length(1)
    }
    const deployments = async (client: KubeClient) => (await client.list(deployment, { namespace: home })).items.length
    expect([await deployments(far), await deployments(own.admin)]).to.deep.equal([3, 0])
    const all = [app, site, resource('containerinstances/web')]
    for (const path of all) expect([202, 204]).to.include((await request('DELETE', path)).status)
    for (const path of all) await until(`${path} is gone`, async () => (await request('GET', path)).status === 404)
    expect(await deployments(far)).to.equal(0)
  })

  step('is reached through every replica of the facade, wherever its tunnel ends', async () => {
    const replica = await own.startReplica()
    const { clientId, clientSecret, tokenUrl } = own.platform
    const authorization = `Bearer ${await tokenFor(clientId, clientSecret, tokenUrl)}`
    const answer = await fetch(`${replica}${vector()}/apikey`, { headers: { authorization } })
    expect([answer.status, (await answer.json()) as object]).to.deep.include(200)
    await own.endReplica('facade')
  })

  step('keeps the record of what is used, and the projection', async () => {
    await call(409, 'DELETE', `/clusters/${clusterId}`)
    await call(409, 'DELETE', `/boundaries/${boundaryId}/projections/${clusterId}`)
  })

  step('runs on without the hub, whatever happens to the agent, and converges when the hub is back', async () => {
    await own.keepSeen()
    await own.endOperator('SIGKILL')
    await own.admin.mergePatch(VectorCluster.resource, { namespace: home, name: 'search' }, { spec: { replicas: 3 } })
    const began = performance.now()
    for (let kill = 1; kill <= 2; kill += 1) {
      await endAgent('SIGKILL')
      await startAgent(joined)
      const away = () => performance.now() - began > (AWAY * kill) / 2
      await until(`the hub is away, and the agent was killed ${kill} times`, away)
      const { status } = await far.get<KubeObject & { status?: { readyReplicas?: number } }>(statefulSet, there)
      expect(status?.readyReplicas, 'what runs there runs on').to.equal(2)
    }
    const seconds = Math.round((performance.now() - began) / 1000)
    await far.remove(statefulSet, there)
    await own.startOperator()
    const back = performance.now()
    await untilRunning(3)
    console.log(
      `      the hub was away for ${seconds} s; all converged ${Math.round((performance.now() - back) / 1000)} s after it was back`,
    )
    expect(await exists(far, statefulSet, 'vc-search', home)).to.equal(true)
  })

  step('turns a revoked agent away at once, and lets it in again with a new token', async () => {
    await untilCluster('Online')
    const revoked = await call<Cluster>(200, 'POST', `/clusters/${clusterId}/agent/revoke`)
    expect(revoked.status).to.equal('Revoked')
    const began = performance.now()
    await until('its tunnel has ended', async () => (await fetch(probes)).status === 503, promised(5_000))
    console.log(`      the tunnel of a revoked agent ended after ${Math.round(performance.now() - began)} ms`)
    await call(200, 'POST', `/clusters/${clusterId}/agent/revoke`)
    await until('the controllers say so of what runs there', async () => {
      const { phase } = await call<{ phase: string }>(200, 'GET', vector())
      return phase === 'ClusterRevoked'
    })
    expect((await request('GET', `${vector()}/apikey`)).status, 'no way in').to.equal(503)
    expect(await exists(far, statefulSet, 'vc-search', home), 'what runs there runs on').to.equal(true)
    const token = await call<Token>(201, 'POST', `/clusters/${clusterId}/join-token`, { expiresInMinutes: 5 })
    await endAgent('SIGTERM')
    joined = settingsOf(token)
    await startAgent(joined)
    await untilCluster('Online')
    await untilRunning(3)
  })

  step('is drained when everything is deleted, by kubectl as by REST', async () => {
    await own.admin.remove(VectorCluster.resource, { namespace: home, name: 'search' })
    await until('the database is gone there', async () => !(await exists(far, statefulSet, 'vc-search', home)))
    await until('and here', async () => (await request('GET', vector())).status === 404)
    const { status } = await request('DELETE', `/boundaries/${boundaryId}/projections/${clusterId}`)
    expect([202, 204]).to.include(status)
    await until('the namespace is gone there', async () => !(await exists(far, namespace, home)))
    await until('the projection is gone', async () => {
      const { projectionCount } = await cluster()
      return projectionCount === 0
    })
    expect([202, 204]).to.include((await request('DELETE', `/clusters/${clusterId}`)).status)
    await until('the record is gone', async () => (await request('GET', `/clusters/${clusterId}`)).status === 404)
  })

  step('that is revoked holds up the deletion of nothing', async () => {
    const name = `lost-${boundaryId.slice(0, 8)}`
    const { id } = await call<{ id: string }>(201, 'POST', '/clusters', { name })
    await call(201, 'POST', `/boundaries/${boundaryId}/projections`, { clusterId: id })
    await call(200, 'POST', `/clusters/${id}/agent/revoke`)
    const projection = `/boundaries/${boundaryId}/projections/${id}`
    expect([202, 204]).to.include((await request('DELETE', projection)).status)
    await until('the projection is gone', async () => (await request('GET', projection)).status === 404)
    expect([202, 204]).to.include((await request('DELETE', `/clusters/${id}`)).status)
    await until('its record is gone', async () => (await request('GET', `/clusters/${id}`)).status === 404)
  })

  it('joins, is given a boundary, runs databases, a job, containers and a function, outlives the hub, is turned away, comes back and is drained', async () => {
    for (const [name, work] of steps) {
      await work().catch((cause: unknown) => {
        throw new Error(`A cluster ${name}: ${messageOf(cause)}`, { cause })
      })
    }
  })
})
