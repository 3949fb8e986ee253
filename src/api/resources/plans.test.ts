import { expect } from 'chai'
import { request } from '../../../test/make/request.ts'
import { bearer, CLUSTER, startFacade } from '../../../test/worlds/facadeServer.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import type { AnyKind } from '../../crds/define.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { BoundaryProjection } from '../../crds/projections.ts'
import type { ComputeAmounts } from './plans.ts'

const OWNER = '22222222-2222-4222-8222-222222222222'
const B = '11111111-1111-4111-8111-111111111111'
const FAR = '55555555-5555-4555-8555-555555555555'
const SIZES = { cpuRequest: '1', cpuLimit: '1', memoryRequest: '1Gi', memoryLimit: '1Gi' }
const GI = 1024n ** 3n * 1000n

describe('compute plans', () => {
  let server: Awaited<ReturnType<typeof startFacade>>
  async function start(nodes?: readonly ComputeAmounts[]) {
    server = await startFacade({}, { capacity: { freeNodeCapacities: () => nodes, requested: () => undefined } })
    server.boundary(B)
    server.grant(OWNER, 'Owner', `/boundaries/${B}`)
  }
  afterEach(() => server.stop())

  const plan = (family: string, name: string, spec: object = {}) =>
    server.put(ComputePlan, name, { family, displayName: name, ...SIZES, ...spec })
  const setStatus = (kind: AnyKind, name: string, status: object) => {
    const written = server.client.edit(kind.resource, { name }, (object) => void Object.assign(object, { status }))
    server.caches.get(kind.resource).observeWrite(written)
  }
  const read = async (collection: string, name: string) => {
    const path = `/boundaries/${B}/resources/${collection}/${name}`
    const answer = await request(server.app).get(path).set('authorization', bearer(OWNER))
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    return answer.body
  }
  const classes = (name: string, isDefault: boolean, survivesNode?: boolean) => ({
    storageClasses: [{ name, isDefault, isExpandable: true, ...(survivesNode !== undefined && { survivesNode }) }],
  })
  const onFarCluster = () => {
    server.put(PlatformCluster, FAR, { displayName: 'Edge', region: '', domain: 'edge.test' })
    server.put(BoundaryProjection, FAR, { clusterId: FAR }, `boundary-${B}`)
  }

  const cases: [sentence: string, status: object, spec: object, isReady: boolean][] = [
    ['production-ready on storage that survives a node', classes('disks', true, true), { replicas: 3 }, true],
    [
      'not production-ready on storage that is lost with its node',
      classes('folders', true, false),
      { replicas: 3 },
      false,
    ],
    ['not production-ready on storage of unknown durability', classes('odd', true), { replicas: 3 }, false],
    ['not production-ready with 2 replicas', classes('disks', true, true), { replicas: 2 }, false],
    [
      'production-ready with the storage class that they name',
      classes('disks', false, true),
      { replicas: 3, storageClass: 'disks' },
      true,
    ],
    [
      'not production-ready with a missing storage class',
      classes('disks', true, true),
      { replicas: 3, storageClass: 'x' },
      false,
    ],
    ['not production-ready without a default storage class', classes('disks', false, true), { replicas: 3 }, false],
  ]
  for (const [sentence, status, spec, isReady] of cases)
    it(`are ${sentence}`, async () => {
      await start()
      plan('Vector', 'vector-big', { storageSize: '5Gi', ...spec })
      setStatus(PlatformCluster, CLUSTER, status)
      expect((await read('vectorcomputeplans', 'vector-big')).isProductionReady).to.equal(isReady)
    })

  it('are production-ready with replicas alone if they have no storage', async () => {
    await start()
    plan('ContainerInstance', 'container-big', { replicas: 3 })
    expect((await read('containerinstancecomputeplans', 'container-big')).isProductionReady).to.equal(true)
  })

  it('are evaluated against the cluster of new resources of the boundary', async () => {
    await start([{ cpu: 64_000n, memory: 64n * GI }])
    plan('Vector', 'vector-big', { storageSize: '5Gi', replicas: 3 })
    setStatus(PlatformCluster, CLUSTER, classes('folders', true, false))
    expect(await read('vectorcomputeplans', 'vector-big')).to.include({ verdict: 'Fits', verdictReason: null })
    onFarCluster()
    setStatus(PlatformCluster, FAR, classes('disks', true, true))
    expect(await read('vectorcomputeplans', 'vector-big')).to.include({
      verdict: 'Unknown',
      verdictReason: 'The room on the nodes of the cluster is not known.',
      isProductionReady: true,
    })
  })
})
