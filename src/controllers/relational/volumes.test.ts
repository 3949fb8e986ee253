import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { loadAll } from 'js-yaml'
import { ControllerBench } from '../../../test/worlds/controllers.ts'
import { silentEngine } from '../../adapters/sql/fake.ts'
import type { KubeObject } from '../../core/object.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { DEFAULT_PLANS } from '../../crds/defaultPlans.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { RelationalCluster } from '../../crds/relational.ts'
import { customResourceDefinition, persistentVolumeClaim, storageClass } from '../../kube/builtin.ts'
import { postgresqlCluster } from '../../kube/postgresql.ts'
import { RELATIONAL_CONTROLLERS } from './index.ts'
import { judgeVolumes, type VolumeSizes } from './volumes.ts'

const sizes = (storageSize: string, walStorageSize?: string): VolumeSizes => ({ storageSize, walStorageSize })

describe('judgeVolumes', () => {
  const cases: [string, wanted: VolumeSizes, held: VolumeSizes, rigid: string | undefined, expected: RegExp][] = [
    ['accepts equal sizes in a class without expansion', sizes('20Gi'), sizes('20Gi'), 'slow', /^fit$/],
    ['accepts equal sizes in other units', sizes('20480Mi'), sizes('20Gi'), 'slow', /^fit$/],
    ['accepts growth in an expandable class', sizes('40Gi', '8Gi'), sizes('20Gi', '4Gi'), undefined, /^fit$/],
    ['accepts a new WAL volume in a class without expansion', sizes('20Gi', '4Gi'), sizes('20Gi'), 'slow', /^fit$/],
    [
      'keeps the size in a class without expansion',
      sizes('40Gi'),
      sizes('20Gi'),
      'slow',
      /^stay .*"slow".*, so storageSize stays at 20Gi\.$/,
    ],
    [
      'keeps both sizes in a class without expansion if only the WAL volume would grow',
      sizes('20Gi', '8Gi'),
      sizes('20Gi', '4Gi'),
      'slow',
      /^stay .*walStorageSize stays at 4Gi\.$/,
    ],
    [
      'rejects shrinking',
      sizes('10Gi'),
      sizes('20Gi'),
      undefined,
      /^shrink .*20Gi and cannot shrink to 10Gi\. Set storageSize/,
    ],
    [
      'rejects shrinking of the WAL volume',
      sizes('20Gi', '2Gi'),
      sizes('20Gi', '4Gi'),
      undefined,
      /^shrink .*4Gi and cannot shrink to 2Gi\. Set walStorageSize/,
    ],
  ]
  for (const [sentence, wanted, held, rigid, expected] of cases) {
    it(sentence, () => {
      const verdict = judgeVolumes(wanted, held, rigid)
      expect(verdict.kind === 'fit' ? 'fit' : `${verdict.kind} ${verdict.message}`).to.match(expected)
    })
  }

  describe('volume sizes in the Cluster', () => {
    type Engine = KubeObject & {
      spec: {
        storage: { size: string; storageClass?: string }
        walStorage?: { size: string }
        resources: { limits: { memory: string } }
      }
    }
    const FILE = new URL('../../../deploy/played/cloudnative-pg.yaml', import.meta.url)
    let bench: ControllerBench
    let home: string
    beforeEach(async () => {
      bench = new ControllerBench(
        RELATIONAL_CONTROLLERS.map((each) =>
          each({ engine: silentEngine, allowOwnImages: false, backupTarget: undefined }),
        ),
      )
      home = bench.seedGroup('shop').groupSpace
      for (const [name, spec] of Object.entries(DEFAULT_PLANS)) bench.seed(ComputePlan, name, spec)
      const medium = DEFAULT_PLANS['relational-medium']
      bench.seed(ComputePlan, 'elsewhere', { ...medium, storageClass: 'fast', isDefault: false })
      const here = { displayName: 'here', region: '', domain: 'example.test', isPlatform: true }
      bench.seed(PlatformCluster, '22222222-2222-4222-8222-222222222222', here)
      for (const definition of loadAll(readFileSync(FILE, 'utf8')) as KubeObject[]) {
        const status = { conditions: [{ type: 'Established', status: 'True' }] }
        bench.client.seed(customResourceDefinition, { ...definition, status })
      }
      allowGrowth(true)
      await bench.start()
      const spec = { computePlan: 'relational-small', walStorageSize: '4Gi', backupEnabled: false }
      bench.seed(RelationalCluster, 'orders', RelationalCluster.spec.parse(spec), { namespace: home })
      await bench.rest()
      bench.client.seed(persistentVolumeClaim, {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: 'relc-orders-1', namespace: home, labels: { 'cnpg.io/cluster': 'relc-orders' } },
        spec: { storageClassName: 'standard', resources: { requests: { storage: '20Gi' } } },
        status: { capacity: { storage: '20Gi' } },
      })
      await bench.rest()
    })
    afterEach(() => bench.stop())

    function allowGrowth(allowVolumeExpansion: boolean): void {
      const metadata = { name: 'standard' }
      const object = { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata, allowVolumeExpansion }
      bench.client.seed(storageClass, object)
    }
    const change = async (spec: object) => {
      await bench.client.mergePatch(RelationalCluster.resource, { namespace: home, name: 'orders' }, { spec })
      await bench.rest()
    }
    const engine = async () => {
      const found = await bench.find<Engine>(postgresqlCluster, 'relc-orders', home)
      const { storage, walStorage, resources } = found?.spec ?? {}
      return [storage?.size, storage?.storageClass, walStorage?.size, resources?.limits.memory]
    }
    const phase = async () => {
      const found = await bench.find<KubeObject & { status?: { phase: string } }>(
        RelationalCluster.resource,
        'orders',
        home,
      )
      return found?.status?.phase
    }

    it('grow with the spec and with a larger plan', async () => {
      await change({ storageSize: '30Gi', walStorageSize: '8Gi' })
      expect(await engine()).to.deep.equal(['30Gi', undefined, '8Gi', '2Gi'])
      await change({ storageSize: null, computePlan: 'relational-medium' })
      expect(await engine()).to.deep.equal(['100Gi', undefined, '8Gi', '8Gi'])
    })

    it('stay in a class without expansion while the rest of the plan applies', async () => {
      allowGrowth(false)
      await change({ computePlan: 'relational-medium', walStorageSize: '8Gi' })
      expect(await engine()).to.deep.equal(['20Gi', undefined, '4Gi', '8Gi'])
      allowGrowth(true)
      await bench.rest()
      expect(await engine(), 'once the class allows expansion').to.deep.equal(['100Gi', undefined, '8Gi', '8Gi'])
    })

    it('keep their storage class with a plan of another class', async () => {
      await change({ computePlan: 'elsewhere' })
      expect(await engine()).to.deep.equal(['100Gi', undefined, '4Gi', '8Gi'])
    })

    it('never shrink with a smaller plan, which is ignored entirely', async () => {
      await change({ computePlan: 'relational-dev' })
      expect(await engine()).to.deep.equal(['20Gi', undefined, '4Gi', '2Gi'])
      expect(await phase()).to.equal('StorageCannotShrink')
    })
  })
})
