// @inTurn plain: a second control plane with an agent, and kills the operator.
import { expect } from 'chai'
import { messageOf } from '../../src/core/errors.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { PlatformCluster } from '../../src/crds/clusters.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import { job, namespace, statefulSet } from '../../src/kube/builtin.ts'
import { createKubeClient } from '../../src/kube/client.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import { loadKubeconfig } from '../../src/kubeconfig/kubeconfig.ts'
import { borrowPlatform, giveBack } from '../cluster/lent.ts'
import type { OwnPlatform } from '../cluster/platform.ts'
import { TEST_CONFIG } from '../config.ts'
import { promised, until } from '../make/until.ts'
import { type Cluster, exists, FarCluster, settingsOf, type Token } from '../worlds/farCluster.ts'
import { type Step, workloadsThere } from '../worlds/farWorkloads.ts'
import { callOwn } from '../worlds/ownFacade.ts'

/** Milliseconds that the hub is away, at least. */
const AWAY = TEST_CONFIG.sized(0, 120_000)

type Projection = { id: string; status: string; resolvedNamespaces: { namespace: string; state: string }[] }

describe('a boundary on another cluster, through an agent with outgoing connections only', () => {
  let own: OwnPlatform
  let far: FarCluster
  /** The lifetime of a cluster: each step needs the one before, so they are one test. */
  const joins: Step[] = []
  const goesOn: Step[] = []
  const there = { namespace: '', name: 'vc-search' }

  before(async () => {
    own = await borrowPlatform('plain')
    await own.startOperator({ PLATFORM_FILES_IMAGE: 'files.test/freehold:1' })
    far = await FarCluster.start(own)
  })
  after(async () => {
    await far?.stop()
    await giveBack(own)
  })

  joins.push([
    'is registered once per name, and is AwaitingJoin',
    async () => {
      const made = await far.call<Cluster>(201, 'POST', '/clusters', { name: 'far', region: 'south' })
      far.clusterId = made.id
      expect(made.status).to.equal('AwaitingJoin')
      await far.call(409, 'POST', '/clusters', { name: 'far', region: 'east' })
    },
  ])

  joins.push([
    'lets an agent join with a token, which is used up and not stored',
    async () => {
      await far.call(200, 'PUT', `/clusters/${far.clusterId}`, { displayName: 'far', region: 'north' })
      const token = await far.call<Token>(201, 'POST', `/clusters/${far.clusterId}/join-token`, {})
      const stored = await far.own.admin.get(PlatformCluster.resource, { name: far.clusterId })
      expect(JSON.stringify(stored)).not.to.contain(token.token)
      await far.startAgent(settingsOf(token))
      await far.untilCluster('Online')
      await until('its nodes are counted', async () => (await far.cluster()).nodeCount === 1)
      const { spec } = (await far.own.admin.get(PlatformCluster.resource, {
        name: far.clusterId,
      })) as unknown as PlatformCluster
      expect(spec.joinTokens).to.deep.equal([])
    },
  ])

  joins.push([
    'gets the labelled namespaces of the groups of a projected boundary',
    async () => {
      far.boundaryId = (await far.call<{ id: string }>(201, 'POST', '/boundaries', { displayName: 'Shop' })).id
      const group = `/boundaries/${far.boundaryId}/resourcegroups/shop`
      await far.call(201, 'POST', group)
      await far.call(422, 'POST', far.vector(), { clusterId: far.clusterId })
      await far.call(201, 'POST', `/boundaries/${far.boundaryId}/projections`, { clusterId: far.clusterId })
      await far.call(409, 'POST', `/boundaries/${far.boundaryId}/projections`, { clusterId: far.clusterId })
      const projection = await until('the namespace is applied', async () => {
        const path = `/boundaries/${far.boundaryId}/projections/${far.clusterId}`
        const found = await far.call<Projection>(200, 'GET', path)
        if (found.resolvedNamespaces[0]?.state === 'Applied') return found
        throw new Error(JSON.stringify(found))
      })
      far.home = projection.resolvedNamespaces[0]?.namespace ?? ''
      await far.call(200, 'PATCH', `/boundaries/${far.boundaryId}/projections/${far.clusterId}`, { namespaces: null })
      there.namespace = far.home
      const { metadata } = await far.client.get(namespace, { name: far.home })
      expect(metadata.labels).to.include({
        'freehold.dev/boundary': far.boundaryId,
        'freehold.dev/resource-group': 'shop',
      })
    },
  ])

  goesOn.push([
    'is reached through a replica of the facade that does not have its tunnel',
    async () => {
      const replica = await far.own.startReplica()
      const answer = await callOwn(far.own, 'GET', `${far.vector()}/apikey`, undefined, { facadeUrl: replica })
      expect(answer.status, answer.text).to.equal(200)
      await far.own.endReplica('facade')
    },
  ])

  goesOn.push([
    'lets the account of its agent run pods only in namespaces of groups',
    async () => {
      const named = { fieldManager: 'test', userAgent: 'test' }
      const agent = createKubeClient(loadKubeconfig(far.agentKubeconfig), named)
      const outcomeOf = (answer: Promise<unknown>) =>
        answer.then(
          () => 'admitted',
          (error: unknown) => (isKubeError(error) && error.denial?.message) || messageOf(error),
        )
      const containers = [{ name: 'main', image: 'example.com/none' }]
      const spec = { template: { spec: { restartPolicy: 'Never', containers } } }
      const metadata = { name: 'stolen', namespace: 'kube-system' }
      const work = { apiVersion: 'batch/v1', kind: 'Job', metadata, spec }
      expect(await outcomeOf(agent.create(job, work, { dryRun: true }))).to.contain('runs pods only in namespaces')
      const here = { ...work, metadata: { ...metadata, namespace: far.home } }
      expect(await outcomeOf(agent.create(job, here, { dryRun: true }))).to.equal('admitted')
      const labels = { 'pod-security.kubernetes.io/enforce': 'privileged' }
      const opened = agent.mergePatch(namespace, { name: far.home }, { metadata: { labels } })
      expect(await outcomeOf(opened)).to.contain('Pod Security level restricted')
      await agent.close()
    },
  ])

  goesOn.push([
    'returns 409 for DELETE of the cluster and of the projection while a database is there',
    async () => {
      await far.call(409, 'DELETE', `/clusters/${far.clusterId}`)
      await far.call(409, 'DELETE', `/boundaries/${far.boundaryId}/projections/${far.clusterId}`)
    },
  ])

  goesOn.push([
    'runs on without the hub while the agent is killed, and converges when the hub is back',
    async () => {
      await far.own.keepSeen()
      await far.own.endOperator('SIGKILL')
      await far.own.admin.mergePatch(
        VectorCluster.resource,
        { namespace: far.home, name: 'search' },
        { spec: { replicas: 3 } },
      )
      const began = performance.now()
      for (let kill = 1; kill <= 2; kill += 1) {
        await far.endAgent('SIGKILL')
        await far.startAgent(far.joined)
        const away = () => performance.now() - began > (AWAY * kill) / 2
        await until(`the hub is away, and the agent was killed ${kill} times`, away)
        const { status } = await far.client.get<KubeObject & { status?: { readyReplicas?: number } }>(
          statefulSet,
          there,
        )
        expect(status?.readyReplicas, 'what runs there runs on').to.equal(2)
      }
      const seconds = Math.round((performance.now() - began) / 1000)
      await far.client.remove(statefulSet, there)
      await far.own.startOperator()
      const back = performance.now()
      await far.untilRunning(3)
      console.log(
        `      the hub was away for ${seconds} s; all converged ${Math.round((performance.now() - back) / 1000)} s after it was back`,
      )
      expect(await exists(far.client, statefulSet, 'vc-search', far.home)).to.equal(true)
    },
  ])

  goesOn.push([
    'rejects a revoked agent at once, and accepts it again with a new token',
    async () => {
      await far.untilCluster('Online')
      const revoked = await far.call<Cluster>(200, 'POST', `/clusters/${far.clusterId}/agent/revoke`)
      expect(revoked.status).to.equal('Revoked')
      const began = performance.now()
      await until('its tunnel has ended', async () => (await fetch(far.probes)).status === 503, promised(5_000))
      console.log(`      the tunnel of a revoked agent ended after ${Math.round(performance.now() - began)} ms`)
      await far.call(200, 'POST', `/clusters/${far.clusterId}/agent/revoke`)
      await until('the status of the database is ClusterRevoked', async () => {
        const { phase } = await far.call<{ phase: string }>(200, 'GET', far.vector())
        return phase === 'ClusterRevoked'
      })
      expect((await far.request('GET', `${far.vector()}/apikey`)).status, 'no way in').to.equal(503)
      expect(await exists(far.client, statefulSet, 'vc-search', far.home), 'what runs there runs on').to.equal(true)
      const token = await far.call<Token>(201, 'POST', `/clusters/${far.clusterId}/join-token`, { expiresInMinutes: 5 })
      await far.endAgent('SIGTERM')
      await far.startAgent(settingsOf(token))
      await far.untilCluster('Online')
      await far.untilRunning(3)
    },
  ])

  goesOn.push([
    'is drained when everything is deleted, by kubectl and by REST',
    async () => {
      await far.own.admin.remove(VectorCluster.resource, { namespace: far.home, name: 'search' })
      await until(
        'the database is gone there',
        async () => !(await exists(far.client, statefulSet, 'vc-search', far.home)),
      )
      await until('and here', async () => (await far.request('GET', far.vector())).status === 404)
      const { status } = await far.request('DELETE', `/boundaries/${far.boundaryId}/projections/${far.clusterId}`)
      expect([202, 204]).to.include(status)
      await until('the namespace is deleted there', async () => !(await exists(far.client, namespace, far.home)))
      await until('the projection is deleted', async () => {
        const { projectionCount } = await far.cluster()
        return projectionCount === 0
      })
      expect([202, 204]).to.include((await far.request('DELETE', `/clusters/${far.clusterId}`)).status)
      await until(
        'the record is gone',
        async () => (await far.request('GET', `/clusters/${far.clusterId}`)).status === 404,
      )
    },
  ])

  goesOn.push([
    'does not delay deletions once it is revoked',
    async () => {
      const name = `lost-${far.boundaryId.slice(0, 8)}`
      const { id } = await far.call<{ id: string }>(201, 'POST', '/clusters', { name })
      await far.call(201, 'POST', `/boundaries/${far.boundaryId}/projections`, { clusterId: id })
      await far.call(200, 'POST', `/clusters/${id}/agent/revoke`)
      const projection = `/boundaries/${far.boundaryId}/projections/${id}`
      expect([202, 204]).to.include((await far.request('DELETE', projection)).status)
      await until('the projection is deleted', async () => (await far.request('GET', projection)).status === 404)
      expect([202, 204]).to.include((await far.request('DELETE', `/clusters/${id}`)).status)
      await until('its record is deleted', async () => (await far.request('GET', `/clusters/${id}`)).status === 404)
    },
  ])

  async function play(steps: readonly Step[]): Promise<void> {
    for (const [name, work] of steps) {
      await work().catch((cause: unknown) => {
        throw new Error(`A cluster ${name}: ${messageOf(cause)}`, { cause })
      })
    }
  }

  it('joins, runs every kind of workload, survives the death of the hub, is revoked, rejoins and is drained', async () => {
    await play(joins)
    await play(workloadsThere(far))
    await play(goesOn)
  })
})
