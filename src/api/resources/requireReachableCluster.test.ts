import { expect } from 'chai'
import { ManualClock } from '../../../test/make/clock.ts'
import { makeFacade } from '../../../test/worlds/facade.ts'
import { timestamp } from '../../core/clock.ts'
import type { PlatformError } from '../../core/errors.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { requireReachableCluster } from './requireReachableCluster.ts'

const EDGE = '55555555-5555-4555-8555-555555555555'
const HOUR = 3_600_000

describe('requireReachableCluster', () => {
  const clock = new ManualClock()
  const ago = (milliseconds: number) => timestamp(clock.now() - milliseconds)
  const joined = { joinedAt: ago(2 * HOUR), lastSeenAt: ago(1_000) }
  const cases: [title: string, spec: object, agent: object | undefined, code: string, words: string][] = [
    ['accepts a cluster with a live agent', {}, joined, 'none', ''],
    [
      'throws SERVICE_UNAVAILABLE for an agent last seen an hour ago',
      {},
      { ...joined, lastSeenAt: ago(HOUR) },
      'SERVICE_UNAVAILABLE',
      'does not answer',
    ],
    ['throws INVALID_STATE for a revoked agent', { revokedAt: ago(HOUR) }, joined, 'INVALID_STATE', 'was revoked'],
    ['throws INVALID_STATE without an agent', {}, undefined, 'INVALID_STATE', 'No agent has joined'],
  ]
  for (const [title, spec, agent, code, words] of cases) {
    it(title, () => {
      const { services, records } = makeFacade({}, { clock })
      const described = { displayName: 'Edge', region: '', domain: 'edge.test', ...spec }
      records.put(PlatformCluster, { name: EDGE }, described, agent && { agent })
      let refusal: PlatformError | undefined
      try {
        requireReachableCluster(services, EDGE)
      } catch (error) {
        refusal = error as PlatformError
      }
      expect(refusal?.code ?? 'none').to.equal(code)
      expect(refusal?.message ?? '').to.include(words)
    })
  }
})
