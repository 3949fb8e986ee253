import { buffer } from 'node:stream/consumers'
import { expect } from 'chai'
import { containerNames } from '../../src/contracts/containerinstances.ts'
import { FILES_LABEL } from '../../src/contracts/workloads.ts'
import { messageOf } from '../../src/core/errors.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { deployment, job, persistentVolumeClaim, secret, statefulSet } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { createExec } from '../../src/kube/exec.ts'
import { postgresqlCluster } from '../../src/kube/postgresql.ts'
import { loadKubeconfig } from '../../src/kubeconfig/kubeconfig.ts'
import { until } from '../make/until.ts'
import { exists, type FarCluster } from './farCluster.ts'
import { seeFunctionThere } from './functionThere.ts'

const IMAGE = 'docker.io/library/nginx:1'

/** The end of a sentence that begins with "A cluster", and the test of it. */
export type Step = readonly [name: string, work: () => Promise<void>]

/** Resources of each kind that run there and are read, changed and deleted here; a vector database stays. */
export function workloadsThere(cluster: FarCluster): Step[] {
  return [...databases(cluster), ...containers(cluster)]
}

/** Databases, and a job. */
function databases(cluster: FarCluster): Step[] {
  const { call, request, untilIt, untilRunning, resource, vector, own, client: far, clusterId, home } = cluster
  return [
    [
      'runs a vector database there, which is read and changed here',
      async () => {
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
        const { resourceCount, projectionCount } = await cluster.cluster()
        expect({ resourceCount, projectionCount }).to.deep.equal({ resourceCount: 1, projectionCount: 1 })
      },
    ],

    [
      'runs a job there, whose result is read here',
      async () => {
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
        await until('the job is deleted', async () => (await request('GET', report)).status === 404)
        expect(await exists(far, job, 'pjob-report', home)).to.equal(false)
      },
    ],

    [
      'runs a SQL instance there, which is read, stopped and deleted here',
      async () => {
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
        await until('the instance is deleted', async () => (await request('GET', books)).status === 404)
        for (const [kind, left] of [[statefulSet, 'sqli-books'] as const, [secret, name] as const])
          expect(await exists(far, kind, left, home)).to.equal(false)
      },
    ],

    [
      'runs a relational database there, by the CloudNativePG of that cluster',
      async () => {
        const ledger = resource('relationalclusters/ledger')
        await call(201, 'POST', ledger, { replicas: 1, backupEnabled: false })
        await untilIt(ledger, 'runs', ({ status }) => status === 'Running')
        expect(await exists(far, postgresqlCluster, 'relc-ledger', home)).to.equal(true)
        expect(await exists(own.admin, postgresqlCluster, 'relc-ledger', home)).to.equal(false)
        expect([202, 204]).to.include((await request('DELETE', ledger)).status)
        await until('the database is deleted', async () => (await request('GET', ledger)).status === 404)
        expect(await exists(far, postgresqlCluster, 'relc-ledger', home)).to.equal(false)
      },
    ],
  ]
}

function containers(cluster: FarCluster): Step[] {
  const { call, request, untilIt, resource, own, client: far, clusterId, home, joined } = cluster
  return [
    [
      'runs a container instance there, whose copies, logs, backups and files are asked for there',
      async () => {
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
        await seeFilesAsked(cluster, `${web}/files?path=/data`)
        await seeExecAllowed(cluster, crate.id)
      },
    ],

    [
      'runs a function there, which a call to its host here wakes',
      async () => {
        const path = resource('functionnamespaces/calls')
        const activatorUrl = `http://127.0.0.1:${own.ports.activator}`
        const gateUrl = joined.PLATFORM_AGENT_HUB ?? ''
        await seeFunctionThere({ call, here: own.admin, there: far, home, clusterId, path, activatorUrl, gateUrl })
        expect([202, 204]).to.include((await request('DELETE', path)).status)
        await until('the namespace is deleted', async () => (await request('GET', path)).status === 404)
        expect(
          (await far.list(deployment, { namespace: home })).items.map(({ metadata }) => metadata.name),
        ).to.deep.equal([containerNames('web').component('web')])
      },
    ],

    [
      'runs an app and a site there, and leaves nothing of what is deleted',
      async () => {
        const [app, site] = [resource('apps/portal'), resource('staticwebapps/pages')]
        await call(201, 'POST', app, { sourceKind: 'Image', image: IMAGE })
        await call(201, 'POST', site, { image: IMAGE })
        for (const path of [app, site]) {
          await untilIt(path, 'runs', ({ status }) => status === 'Running')
          const { items } = await call<{ items: object[] }>(200, 'GET', `${path}/pods`)
          expect(items).to.have.length(1)
        }
        const deployments = async (client: KubeClient) =>
          (await client.list(deployment, { namespace: home })).items.length
        expect([await deployments(far), await deployments(own.admin)]).to.deep.equal([3, 0])
        const all = [app, site, resource('containerinstances/web')]
        for (const path of all) expect([202, 204]).to.include((await request('DELETE', path)).status)
        for (const path of all) await until(`${path} is gone`, async () => (await request('GET', path)).status === 404)
        expect(await deployments(far)).to.equal(0)
      },
    ],
  ]
}

/**
 * A pod is created next to the volume there. Pods are only simulated, so it has no files, and the request is aborted.
 */
async function seeFilesAsked({ own, client: far, home, request }: FarCluster, path: string): Promise<void> {
  const enough = new AbortController()
  const asked = request('GET', path, undefined, enough.signal).catch(() => undefined)
  const labelSelector = `${FILES_LABEL}=true`
  const isThere = async () => (await far.list(job, { namespace: home, labelSelector })).items.length > 0
  await until('the cluster has a job for the files', isThere)
  expect((await own.admin.list(job, { namespace: home, labelSelector })).items).to.deep.equal([])
  enough.abort()
  await asked
}

/** With the rights in its manifest, the agent may run commands in pods of groups, up to the node, and nowhere else. */
async function seeExecAllowed({ agentKubeconfig, home }: FarCluster, pod: string): Promise<void> {
  const exec = createExec(loadKubeconfig(agentKubeconfig), 'test')
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
