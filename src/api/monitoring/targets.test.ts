import { expect } from 'chai'
import { sampleSpec } from '../../../test/make/samples.ts'
import { BOUNDARY, OWNER, startShop } from '../../../test/worlds/shop.ts'
import { groupNamespace } from '../../core/names.ts'
import { ContainerInstance } from '../../crds/containerinstances.ts'
import type { AnyKind } from '../../crds/define.ts'
import { KIND_BY_COLLECTION, type MonitoredResource } from './monitoredResource.ts'
import { targetOf } from './targets.ts'

const NAMESPACE = groupNamespace(BOUNDARY, 'shop')
const SAMPLE = { boundaryId: BOUNDARY, ownerId: OWNER, memberId: OWNER }
const BASE = `/boundaries/${BOUNDARY}/resourcegroups/shop/resources/monitoring`
const SPAN = 'from=2026-01-01T00:00:00Z&to=2026-01-01T01:00:00Z'
const image = 'docker.io/library/nginx:1.29'

describe('targetOf', () => {
  let shop: Awaited<ReturnType<typeof startShop>>
  beforeEach(async () => {
    shop = await startShop()
    shop.grant(OWNER, 'Platform Owner', '/')
  })
  afterEach(() => shop.stop())

  const put = (kind: AnyKind, spec: object = sampleSpec(kind, SAMPLE)) => shop.put(kind, 'one', spec, NAMESPACE)
  const deliver = () => {
    const labels = { alertname: 'PodCrashLooping', namespace: NAMESPACE, pod: 'vc-other-0' }
    const alerts = [{ status: 'firing', labels, annotations: {}, fingerprint: 'one' }]
    return shop.ask('post', '/admin/monitoring/alerts/alertmanager').send({ version: '4', alerts })
  }

  for (const [collection, kind] of KIND_BY_COLLECTION)
    it(`supports a minimal resource of ${collection}`, async () => {
      put(kind)
      for (const path of [
        `${BASE}/${collection}/one?metric=CpuUsage&aggregation=Average&${SPAN}`,
        `${BASE}/${collection}/one/utilization?metric=Cpu&${SPAN}`,
        `${BASE}/${collection}/one/requests?${SPAN}`,
      ]) {
        const { status, body } = await shop.ask('get', path)
        expect(status, JSON.stringify(body)).to.be.oneOf([200, 400, 422])
      }
      expect((await deliver()).status).to.equal(202)
    })

  const routed: [sentence: string, ports: object, services: string[]][] = [
    ['no ports', {}, []],
    ['a port without a protocol', { ports: [{ name: 'http', port: 80 }] }, ['cti-one--web']],
    ['a UDP port', { ports: [{ name: 'dns', port: 53, protocol: 'Udp' }] }, []],
  ]
  for (const [sentence, ports, services] of routed)
    it(`returns the routed services of a container instance with ${sentence}`, () => {
      const object = shop.put(ContainerInstance, 'one', { components: [{ name: 'web', image, ...ports }] }, NAMESPACE)
      const location = { boundaryId: BOUNDARY, resourceGroup: 'shop', name: 'one', collection: 'containerinstances' }
      const watched = {
        kind: ContainerInstance,
        object,
        location,
        namespace: NAMESPACE,
      } as unknown as MonitoredResource
      const { routes } = targetOf({ records: {} as never }, watched)
      expect('stem' in routes ? [] : routes.map(({ service }) => service)).to.deep.equal(services)
    })
})

describe('targetOf, for many namespaces with many functions', () => {
  it('lists the functions of a group once, not once per namespace', () => {
    let lists = 0
    const functions = Array.from({ length: 100 }, (_, index) => ({
      metadata: { name: `function-${index}`, namespace: 'group' },
      spec: { namespaceName: `namespace-${index}`, functionName: 'one' },
    }))
    const byName = new Map(functions.map((one) => [one.metadata.name, one]))
    const records = {
      peekAll: () => {
        lists += 1
        return functions
      },
      peek: (_kind: unknown, { name }: { name: string }) => byName.get(name),
      revision: () => 1,
    }
    const targets = functions.map(({ spec: { namespaceName: name } }) => {
      const location = { boundaryId: 'b', resourceGroup: 'shop', name, collection: 'functionnamespaces' }
      return targetOf({ records } as never, { location, namespace: 'group' } as never)
    })
    expect(targets.map(({ pods }) => pods?.length)).to.deep.equal(functions.map(() => 1))
    expect(lists).to.equal(1)
  })
})
