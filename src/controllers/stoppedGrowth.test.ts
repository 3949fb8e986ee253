import { expect } from 'chai'
import { GROUP, OUTER, seedGroup } from '../../test/crashes/seeds.ts'
import { World } from '../../test/crashes/world.ts'
import { grantKey } from '../core/sizing/ledger.ts'
import { PlatformApp } from '../crds/apps.ts'
import { ContainerInstance } from '../crds/containerinstances.ts'
import type { AnyKind } from '../crds/define.ts'
import { RESOURCE_KINDS } from '../crds/index.ts'
import { QuotaLedger } from '../crds/quotas.ts'
import { RelationalCluster } from '../crds/relational.ts'
import { ResourceGroup } from '../crds/resourcegroups.ts'
import { SqlInstance } from '../crds/sql.ts'
import { VectorCluster } from '../crds/vector.ts'
import { deployment, persistentVolumeClaim, pod, statefulSet } from '../kube/builtin.ts'
import { postgresqlCluster } from '../kube/postgresql.ts'

/** The rest of the spec of each kind with volumes. */
const KINDS: readonly [kind: AnyKind, spec: object][] = [
  [VectorCluster, { replicas: 1 }],
  [RelationalCluster, { replicas: 1 }],
  [SqlInstance, { engine: 'MariaDb' }],
  [ContainerInstance, { components: [{ name: 'web', image: 'site:1' }] }],
  [PlatformApp, { sourceKind: 'Image', image: 'site:1' }],
]

const SIZE_FIELDS = ['storageSize', 'walStorageSize', 'volumes'] as const
type SizeField = (typeof SIZE_FIELDS)[number]
const fieldsOf = ({ spec }: AnyKind) => SIZE_FIELDS.filter((field) => field in spec.shape)

/** All volumes have 5Gi, except for those of one field. */
function sized(kind: AnyKind, grown?: SizeField, size = '5Gi'): Record<string, unknown> {
  const sizeOf = (field: SizeField) => (field === grown ? size : '5Gi')
  const volume = { name: 'files', kind: 'Persistent', storageClass: 'standard', size: sizeOf('volumes') }
  const volumes = [kind === PlatformApp ? { ...volume, mountPath: '/files' } : volume]
  return Object.fromEntries(fieldsOf(kind).map((field) => [field, field === 'volumes' ? volumes : sizeOf(field)]))
}

type Status = Partial<Record<'status' | 'phase' | 'statusMessage', string>>
type Claim = { spec: { resources?: { requests?: { storage?: string } } } }
type Engine = { spec: { storage?: { size?: string }; walStorage?: { size?: string } } }

describe('volumes of a stopped resource', () => {
  const growths = KINDS.flatMap(([kind, spec]) => fieldsOf(kind).map((field) => ({ kind, spec, field })))

  it('are tested here for every kind that has volumes and can be stopped', () => {
    const having = RESOURCE_KINDS.filter((kind) => 'running' in kind.spec.shape && fieldsOf(kind).length > 0)
    expect(KINDS.map(([{ kind }]) => kind).sort()).to.deep.equal(having.map(({ kind }) => kind).sort())
  })

  for (const { kind, spec, field } of growths)
    describe(`such as a ${kind.kind} with larger ${field}`, () => {
      let world: World
      const begin = async (also: object = {}) => {
        const names = [kind, VectorCluster].map((each) => each.kind.toLowerCase())
        world = new World((all) => all.filter(({ name }) => [...names, 'deploymentrecord'].includes(name)))
        seedGroup(world.server)
        limit('25Gi')
        await world.lead()
        await world.make(kind, 'one', { ...spec, ...sized(kind), ...also })
        const started = 'running' in also ? 'Stopped' : 'Running'
        await world.until(`it is ${started}`, async () => (await statusOf(kind)).status === started)
      }
      const limit = (storage: string) =>
        world.server.edit(ResourceGroup.resource, { namespace: OUTER, name: GROUP }, (group) => {
          group.spec = { ...(group.spec as object), quota: { storage, cpu: '64' } }
        })
      const statusOf = async (of: AnyKind, name = 'one') =>
        ((await world.find(of.resource, name))?.status ?? {}) as Status
      const phase = async (wanted: string, of = kind, name = 'one') =>
        world.until(`${name} is ${wanted}`, async () => (await statusOf(of, name)).phase === wanted)
      const change = (to: object) => world.change(kind, 'one', to)
      const grown = () => ({ [field]: sized(kind, field, '60Gi')[field] })

      /** The sizes of all volumes of the resource. */
      const sizes = () => {
        const claims = [...world.server.stored(persistentVolumeClaim)] as unknown as Claim[]
        const engines = [...world.server.stored(postgresqlCluster)] as unknown as Engine[]
        const inSpec = engines.flatMap(({ spec: { storage, walStorage } }) => [storage?.size, walStorage?.size])
        const all = [...claims.map((one) => one.spec.resources?.requests?.storage), ...inSpec]
        return [...new Set(all.filter((size) => size !== undefined))].sort()
      }
      const copies = () => {
        const scaled = [statefulSet, deployment].flatMap((resource) => [...world.server.stored(resource)])
        return [...scaled.map((one) => (one.spec as { replicas?: number }).replicas), ...world.server.stored(pod)]
      }
      const held = `${5 * fieldsOf(kind).length}Gi`
      const staysSmall = async () => {
        await phase('Stopped')
        await world.pass(60_000)
        expect((await statusOf(kind)).statusMessage).to.match(
          new RegExp(`quota of storage is 25Gi; ${held} is used and \\d+Gi more`),
        )
        expect(copies().filter((one) => one !== 0)).to.deep.equal([])
        expect(sizes().filter((size) => size !== '5Gi')).to.deep.equal([])
      }
      afterEach(() => world.stop())

      it('keep their size if the growth was rejected before the stop, and grow when the quota allows', async () => {
        await begin()
        await change(grown())
        await phase('QuotaExceeded')
        await change({ running: false })
        await staysSmall()
        await change({ running: true })
        await phase('QuotaExceeded')
        expect(sizes()).to.deep.equal(['5Gi'])
        await change({ running: false })
        await staysSmall()
        limit('200Gi')
        await world.until('it grows', () => sizes().includes('60Gi'))
        expect((await statusOf(kind)).phase).to.equal('Stopped')
      })

      it('keep their size if the growth comes with or after the stop, and only that counts', async () => {
        await begin()
        await change({ ...grown(), running: false })
        await staysSmall()
        await change(sized(kind))
        await world.rest()
        await change(grown())
        await staysSmall()
        const ledger = ([...world.server.stored(QuotaLedger.resource)] as unknown as QuotaLedger[])[0]
        const grant = ledger?.spec.grants[grantKey(kind.plural, GROUP, 'one')]
        expect(grant).to.include({ cpu: '0', memory: '0', storage: held, pods: 0 })
        await world.make(VectorCluster, 'other', { computePlan: 'vector-dev', storageSize: '21Gi' })
        await phase('QuotaExceeded', VectorCluster, 'other')
        await world.change(VectorCluster, 'other', { storageSize: '15Gi' })
        await phase('Available', VectorCluster, 'other')
      })

      it('do not grow beyond the quota if the resource was created stopped', async () => {
        await begin({ running: false })
        await change(grown())
        await staysSmall()
      })
    })
})
