import { expect } from 'chai'
import { assign, B1 } from '../../../test/make/authorizationRecords.ts'
import { CLUSTER_ID, makeFacade } from '../../../test/worlds/facade.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { refuseUnshared } from './storage.ts'

const OTHER = '55555555-5555-4555-8555-555555555555'
const volumes = [
  { name: 'files', kind: 'Persistent' as const, size: '1Gi', storageClass: 'local', mountPath: '/files' },
]
const web = (replicas: number) => [{ name: 'web', replicas, mounts: [{ volume: 'files' }] }]

describe('refuseUnshared', () => {
  const cases: [title: string, draft: { clusterId?: string; replicas: number }, refused: boolean][] = [
    ['rejects a volume of one pod for 2 replicas', { replicas: 2 }, true],
    ['rejects it for 2 replicas on the cluster of the platform', { clusterId: CLUSTER_ID, replicas: 2 }, true],
    ['accepts it for one replica', { replicas: 1 }, false],
    ['accepts it on another cluster, where the controller checks', { clusterId: OTHER, replicas: 2 }, false],
  ]
  for (const [title, { clusterId, replicas }, isRefused] of cases) {
    it(title, () => {
      const { services, records } = makeFacade({ assignments: [assign('Owner', B1)] })
      records.put(PlatformCluster, { name: OTHER }, { displayName: 'edge', region: '', domain: 'edge.test' })
      const given = { ...services, storage: { isShared: () => false } }
      const refuse = () => refuseUnshared({ clusterId, volumes, components: web(replicas) } as never, given)
      if (isRefused) expect(refuse).to.throw('files')
      else expect(refuse).not.to.throw()
    })
  }
})
