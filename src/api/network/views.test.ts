import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { BOUNDARY, startShop } from '../../../test/worlds/shop.ts'
import { FakeFlows } from '../../adapters/flows/fake.ts'
import type { Flow } from '../../adapters/flows/port.ts'
import { ownerSelector } from '../../contracts/workloads.ts'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import { PlatformApp } from '../../crds/apps.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { PlatformJob } from '../../crds/jobs.ts'
import { BoundaryProjection } from '../../crds/projections.ts'
import { DenyAssignment } from '../../crds/rbac.ts'
import { VectorCluster } from '../../crds/vector.ts'
import { namespace, networkPolicy, pod } from '../../kube/builtin.ts'
import { createNetworkStateReader, type NetworkStateReader } from './networkState.ts'

const FAR = '88888888-8888-4888-8888-888888888888'
const HOME = groupNamespace(BOUNDARY, 'shop')
const GROUP = `/boundaries/${BOUNDARY}/resourcegroups/shop`
const SEARCH = 'resource:shop/vectorclusters/search'
const WEB = 'resource:shop/apps/web'

type Server = Awaited<ReturnType<typeof startShop>>

const policy = (name: string, spec: object, labels = {}) => ({
  ...{ apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: { name, namespace: HOME, labels }, spec },
})

/** Creates a database and an app that refers to it in the group. */
function seedGroup({ client, put }: Server): void {
  put(VectorCluster, 'search', {}, HOME)
  const output = { collection: 'vectorclusters', name: 'search', output: 'restEndpoint' }
  put(PlatformApp, 'web', { sourceKind: 'Upload', env: [{ name: 'SEARCH', output }] }, HOME)
  client.seed(namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: HOME } })
  client.seed(networkPolicy, policy('freehold-default', { podSelector: {}, policyTypes: ['Ingress'], ingress: [] }))
  const peers = [{ podSelector: {} }, { ipBlock: { cidr: '203.0.113.0/24' } }]
  const own = { podSelector: {}, ingress: [{ from: peers, ports: [{ port: 6333 }] }] }
  client.seed(networkPolicy, policy('vc-search', own, ownerSelector('VectorCluster', 'search')))
}

const at = (server: Server) => async (path: string) => {
  const answer = await server.ask('get', `/boundaries/${BOUNDARY}/network/${path}`)
  return { httpStatus: answer.status, ...answer.body }
}

describe('the network of a boundary', () => {
  let server: Server
  let get: ReturnType<typeof at>
  afterEach(() => server.stop())

  describe('without collected flows', () => {
    beforeEach(async () => {
      server = await startShop()
      get = at(server)
    })

    it('returns empty lists with incompleteReason', async () => {
      expect(await get('status')).to.include({ httpStatus: 200, source: 'None', isComplete: false, policyCount: 0 })
      const empty = { httpStatus: 200, isComplete: false }
      expect(await get('denies'))
        .to.include(empty)
        .and.deep.include({ items: [] })
      expect(await get('series'))
        .to.include({ ...empty, stepSeconds: 30 })
        .and.deep.include({ series: [] })
      const graph = await get('graph')
      expect(graph).to.include(empty).and.deep.include({ edges: [] })
      expect(graph.incompleteReason).to.match(/collects flows/)
    })

    it('returns policyCount and defaultDeny', async () => {
      seedGroup(server)
      const status = await get('status')
      expect(status).to.include({ source: 'PolicyOnly', policyCount: 2, defaultDeny: true, deniedLastHour: 0 })
      expect(status.clusters).to.have.length(1)
    })

    it('returns allowed and declared edges without counts', async () => {
      seedGroup(server)
      const { nodes, edges } = await get('graph')
      expect(nodes.map(({ id }: { id: string }) => id)).to.have.members(['internet', 'group:shop', SEARCH, WEB])
      const shown = edges.map(
        (edge: Record<string, unknown>) => `${edge.sourceId} ${edge.targetId} ${edge.protocol} ${edge.port}`,
      )
      expect(shown).to.have.members([
        `group:shop ${SEARCH} Tcp 6333`,
        `internet ${SEARCH} Tcp 6333`,
        `${WEB} ${SEARCH} Tcp 6333`,
      ])
      for (const edge of edges)
        expect(edge).to.include({ isDeclared: true, allowedCount: 0, deniedCount: 0, lastSeenAt: null })
    })

    it('includes the references of each node in the answer, in a group with more nodes than an answer has', async () => {
      for (let index = 0; index < 500; index += 1) server.put(VectorCluster, `v${index}`, {}, HOME)
      seedGroup(server)
      const { nodes, edges } = await get('graph')
      expect(nodes).to.have.length(500)
      expect(edges.map(({ sourceId, targetId }: Record<string, string>) => [sourceId, targetId])).to.deep.include([
        WEB,
        SEARCH,
      ])
    })

    it('lists nodes and edges by id, whatever the order of the caches', async () => {
      seedGroup(server)
      server.group(BOUNDARY, 'annex')
      server.put(VectorCluster, 'archive', {}, HOME)
      const { nodes, edges } = await get('graph')
      for (const listed of [nodes, edges] as { id: string }[][]) {
        const ids = listed.map(({ id }) => id)
        expect(ids).to.deep.equal([...ids].sort())
      }
    })

    it('returns each resource with the status of its record', async () => {
      server.put(PlatformJob, 'report', { image: 'busybox' }, HOME)
      const { resource } = PlatformJob
      const ended = server.client.edit(resource, { namespace: HOME, name: 'report' }, (object) => {
        Object.assign(object, { status: { state: 'Failed' } })
      })
      server.caches.get(resource).observeWrite(ended)
      const { nodes } = await get('graph')
      const [job] = nodes.filter(({ name }: { name: string }) => name === 'report')
      const summaries = await server.ask('get', `${GROUP}/resources?filter=collection:eq:jobs`)
      expect([job.status, summaries.body.items[0].status]).to.deep.equal(['Failed', 'Failed'])
    })

    describe('for a caller with a deny', () => {
      const reader = randomUUID()
      const shownTo = async (path: string) =>
        (await server.ask('get', `/boundaries/${BOUNDARY}/network/${path}`, reader)).body
      const deny = (scope: string, action = 'boundaries/network/*') =>
        server.put(
          DenyAssignment,
          randomUUID(),
          { principalId: reader, actions: [action], scope, scopeIncarnation: 'life' },
          boundaryNamespace(BOUNDARY),
        )
      const checked = async (end: object) => {
        const body = { from: { kind: 'Internet' }, to: { resourceGroup: 'shop', ...end }, port: 80, protocol: 'Tcp' }
        const answer = await server.ask('post', `/boundaries/${BOUNDARY}/network/check`, reader).send(body)
        return [answer.status, answer.body.field ?? answer.body.toMatches]
      }
      beforeEach(() => {
        seedGroup(server)
        server.client.seed(pod, {
          ...{ apiVersion: 'v1', kind: 'Pod' },
          metadata: { name: 'vc-search-0', namespace: HOME, labels: ownerSelector('VectorCluster', 'search') },
        })
        server.grant(reader, 'Reader', `/boundaries/${BOUNDARY}`)
      })

      for (const action of [undefined, 'resourcegroups/read'])
        it(`treats a denied group as missing: ${action ?? 'boundaries/network/*'}`, async () => {
          deny(GROUP, action)
          expect((await shownTo('graph')).nodes).to.deep.equal([])
          expect(await shownTo('status')).to.include({ policyCount: 0 })
          for (const path of ['graph', 'denies', 'series'])
            expect(await shownTo(`${path}?resourceGroup=shop`), path).to.include({ code: 'NOT_FOUND' })
          expect((await shownTo('denies?resource=search')).code).to.equal('NOT_FOUND')
          expect(await checked({ kind: 'Resource', name: 'search' })).to.deep.equal([422, 'to.resourceGroup'])
          expect(await checked({ kind: 'Pods', labels: {} })).to.deep.equal([422, 'to.resourceGroup'])
        })

      for (const action of [undefined, 'vectorcluster/read'])
        it(`hides a denied resource and returns the others of its group: ${action ?? 'boundaries/network/*'}`, async () => {
          deny(`${GROUP}/resources/vectorclusters/search`, action)
          const { nodes, edges } = await shownTo('graph')
          expect(nodes.map(({ id }: { id: string }) => id)).to.deep.equal(['group:shop', WEB])
          expect(edges).to.deep.equal([])
          expect((await shownTo('denies?resource=search')).code).to.equal('NOT_FOUND')
          expect(await checked({ kind: 'Resource', name: 'search' })).to.deep.equal([422, 'to.name'])
          expect(await checked({ kind: 'Pods', labels: {} })).to.deep.equal([200, []])
        })
    })

    it('reports a cluster that cannot be queried', async () => {
      server.put(PlatformCluster, FAR, { name: 'far', displayName: 'Far', domain: 'far.test' })
      server.put(BoundaryProjection, FAR, { clusterId: FAR }, boundaryNamespace(BOUNDARY))
      const { clusters, incompleteReason, defaultDeny } = await get('status')
      expect(clusters[1]).to.include({ clusterId: FAR, clusterName: 'Far', isReachable: false })
      expect(incompleteReason).to.match(/Cluster "Far" cannot be queried/)
      expect(defaultDeny).to.equal(false)
    })

    for (const [path, status, code] of [
      ['denies?window=8d', 400, 'BAD_REQUEST'],
      ['series?window=30s', 400, 'BAD_REQUEST'],
      ['graph?window=soon', 400, 'BAD_REQUEST'],
      ['denies?direction=Up', 400, 'BAD_REQUEST'],
      ['graph?resourceGroup=none', 404, 'NOT_FOUND'],
      ['denies?resource=none', 404, 'NOT_FOUND'],
      [`denies/${FAR}`, 404, 'NOT_FOUND'],
    ] as const)
      it(`returns ${status} for ${path}`, async () => {
        expect(await get(path)).to.include({ httpStatus: status, code })
      })
  })

  describe('with collected flows', () => {
    const flows = new FakeFlows()
    const minutes = (ago: number) => Date.now() - ago * 60_000
    const search = {
      namespace: HOME,
      podName: 'vc-search-0',
      ipAddress: '10.0.0.9',
      labels: ownerSelector('VectorCluster', 'search'),
    }
    const stranger = {
      namespace: 'someone-else',
      podName: 'secret-name',
      ipAddress: '10.0.7.7',
      labels: { app: 'theirs' },
    }
    const drop = (ago: number): Flow => ({
      ...{ time: minutes(ago), direction: 'Ingress', denied: { reason: 'NoRule', text: 'POLICY_DENIED' } },
      ...{ from: stranger, to: search, protocol: 'Tcp', port: 6333, nodeName: 'one' },
    })
    const { denied: _, ...allowed } = drop(5)

    before(() => flows.saw(drop(90), drop(10), drop(9), { ...allowed, from: { ipAddress: '203.0.113.7', labels: {} } }))
    beforeEach(async () => {
      // The API server exists only once the facade is started.
      const stateReader: NetworkStateReader = {
        at: (...parameters) => createNetworkStateReader(server.client, () => server.far).at(...parameters),
      }
      server = await startShop({}, { network: { stateReader, flows } })
      seedGroup(server)
      get = at(server)
    })

    it('aggregates equal denied flows under one id', async () => {
      const { items, isComplete } = await get('denies')
      expect(isComplete).to.equal(true)
      expect(items).to.have.length(1)
      expect(items[0]).to.include({ count: 2, direction: 'Ingress', reason: 'NoRule', port: 6333 })
      expect(items[0].to).to.include({ kind: 'Resource', name: 'search', podName: 'vc-search-0' })
      const one = await get(`denies/${items[0].id}`)
      expect(one).to.include({ id: items[0].id, count: 3 })
      expect(one.samples).to.have.length(3)
    })

    it('shows only the address of pods of others', async () => {
      const text = JSON.stringify(await get('denies'))
      expect(text).to.include('10.0.7.7')
      for (const hidden of ['secret-name', 'someone-else', 'theirs']) expect(text).to.not.include(hidden)
    })

    it('hides a resource that is denied to the caller', async () => {
      const reader = randomUUID()
      server.grant(reader, 'Reader', `/boundaries/${BOUNDARY}`)
      const scope = `${GROUP}/resources/vectorclusters/search`
      const spec = { principalId: reader, actions: ['boundaries/network/read'], scope, scopeIncarnation: 'life' }
      server.put(DenyAssignment, randomUUID(), spec, boundaryNamespace(BOUNDARY))
      for (const path of ['denies', 'graph']) {
        const { body } = await server.ask('get', `/boundaries/${BOUNDARY}/network/${path}`, reader)
        for (const hidden of ['vc-search-0', '10.0.0.9', 'search']) expect(JSON.stringify(body)).to.not.include(hidden)
      }
    })

    it('filters denied flows by direction and resource', async () => {
      expect((await get('denies?direction=Egress')).items).to.deep.equal([])
      expect((await get('denies?resource=search')).items).to.have.length(1)
      expect((await get('denies?resource=web')).items).to.deep.equal([])
    })

    it('counts flows in series and per edge', async () => {
      const { series } = await get('series')
      const sum = (name: string) =>
        series
          .find((one: { name: string }) => one.name === name)
          .points.reduce((total: number, point: { value: number }) => total + point.value * 30, 0)
      expect(Math.round(sum('DeniedFlows'))).to.equal(2)
      expect(Math.round(sum('AllowedFlows'))).to.equal(1)
      const { edges } = await get('graph')
      const seen = edges.filter((edge: { lastSeenAt: string | null }) => edge.lastSeenAt !== null)
      expect(
        seen.map(
          (edge: Record<string, unknown>) =>
            `${edge.sourceId} ${edge.isDeclared} ${edge.allowedCount} ${edge.deniedCount}`,
        ),
      ).to.have.members(['internet true 1 0', 'cluster false 0 2'])
      expect(await get('status')).to.include({ source: 'Flows', deniedLastHour: 2, isComplete: true })
    })
  })
})
