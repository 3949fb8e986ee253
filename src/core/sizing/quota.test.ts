import { expect } from 'chai'
import { parseQuantity } from '../quantity.ts'
import {
  countedUsers,
  evaluateGroupCount,
  evaluateQuota,
  extraRetainedStorage,
  type QuotaLimits,
  type QuotaUser,
  quotaSentence,
} from './quota.ts'

type Requests = { cpu?: string; memory?: string; storage?: string; pods?: number }

const user = (key: string, age: number, requests: Requests = {}, resourceGroup = 'shop'): QuotaUser => {
  const { cpu = '0', memory = '0', storage = '0', pods = 0 } = requests
  return {
    key,
    createdAt: `2026-01-01T00:00:${String(age).padStart(2, '0')}Z`,
    resourceGroup,
    demand: { cpu: parseQuantity(cpu), memory: parseQuantity(memory), storage: parseQuantity(storage), pods },
  }
}

const kept = (key: string, storage: string): QuotaUser => ({
  ...user(key, 0, { storage }),
  isGranted: true,
  isRetained: true,
})

function verdict(limits: QuotaLimits, subject: QuotaUser, others: QuotaUser[], group: QuotaLimits = {}): string {
  const answer = evaluateQuota({ boundary: limits, groups: new Map([['shop', group]]), subject, others })
  if (answer.kind === 'fits') return 'fits'
  return `${answer.at} ${answer.quota}: ${answer.used} + ${answer.requested} > ${answer.limit}`
}

const HELD = { cpu: parseQuantity('1'), memory: 0n, storage: parseQuantity('9Gi'), pods: 0 }

describe('evaluateQuota, quotaSentence and evaluateGroupCount', () => {
  const cases: [string, string, string][] = [
    ['fit without limits', verdict({}, user('b', 2, { cpu: '900' }), [user('a', 1)]), 'fits'],
    [
      'fit exactly at the limit, in any unit',
      verdict({ cpu: '2', memory: '2Gi' }, user('b', 2, { cpu: '500m', memory: '1024Mi' }), [
        user('a', 1, { cpu: '1.5', memory: '1Gi' }),
      ]),
      'fits',
    ],
    [
      'exceed the limit by a thousandth',
      verdict({ cpu: '2' }, user('b', 2, { cpu: '501m' }), [user('a', 1, { cpu: '1.5' })]),
      'boundary cpu: 1500m + 501m > 2',
    ],
    [
      'do not count younger resources against an older one',
      verdict({ cpu: '1' }, user('a', 1, { cpu: '1' }), [user('b', 2, { cpu: '1' })]),
      'fits',
    ],
    [
      'do not refuse what the resource already has under a lowered limit',
      verdict({ storage: '1Gi', cpu: '2' }, { ...user('a', 1, { storage: '9Gi', cpu: '2' }), held: HELD }, []),
      'fits',
    ],
    [
      'refuse what the resource requests beyond what it has',
      verdict({ storage: '1Gi', cpu: '1' }, { ...user('a', 1, { storage: '9Gi', cpu: '2' }), held: HELD }, []),
      'boundary cpu: 1 + 1 > 1',
    ],
    [
      'order resources of the same age by key',
      [
        verdict({ cpu: '1' }, user('a', 1, { cpu: '1' }), [user('b', 1, { cpu: '1' })]),
        verdict({ cpu: '1' }, user('b', 1, { cpu: '1' }), [user('a', 1, { cpu: '1' })]),
      ].join('; '),
      'fits; boundary cpu: 1 + 1 > 1',
    ],
    [
      'skip an older resource that does not fit',
      verdict({ memory: '4Gi' }, user('c', 3, { memory: '3Gi' }), [
        user('a', 1, { memory: '1Gi' }),
        user('b', 2, { memory: '64Gi' }),
      ]),
      'fits',
    ],
    [
      'count a younger resource that was granted before an older one that waits',
      verdict({ cpu: '1' }, user('a', 1, { cpu: '1' }), [{ ...user('b', 2, { cpu: '1' }), isGranted: true }]),
      'boundary cpu: 1 + 1 > 1',
    ],
    [
      'count what was granted beyond a lowered limit',
      verdict({ cpu: '1' }, user('c', 3, { cpu: '1' }), [{ ...user('a', 1, { cpu: '3' }), isGranted: true }]),
      'boundary cpu: 3 + 1 > 1',
    ],
    [
      'skip an older resource that does not fit beside what was granted',
      verdict({ cpu: '4' }, user('c', 3, { cpu: '1' }), [
        user('a', 1, { cpu: '2' }),
        { ...user('b', 2, { cpu: '3' }), isGranted: true },
      ]),
      'fits',
    ],
    [
      'count the resources of the group against its limits',
      verdict({}, user('c', 3, { cpu: '1' }), [user('a', 1, { cpu: '1' }), user('b', 2, { cpu: '1' })], { cpu: '2' }),
      'resourceGroup cpu: 2 + 1 > 2',
    ],
    ['do not count retained volumes as resources', verdict({ resources: 1 }, user('b', 2), [kept('a', '1Gi')]), 'fits'],
    ['do not count the subject twice', verdict({ resources: 1 }, user('a', 1), [user('a', 1)]), 'fits'],
    ['count resources', verdict({ resources: 1 }, user('b', 2), [user('a', 1)]), 'boundary resources: 1 + 1 > 1'],
    [
      'do not count parts as resources',
      verdict({ resources: 1 }, user('b', 2), [{ ...user('a', 1), isPart: true }]),
      'fits',
    ],
    [
      'do not limit the number of parts',
      verdict({ resources: 1 }, { ...user('b', 2), isPart: true }, [user('a', 1)]),
      'fits',
    ],
    [
      'count the demand of parts',
      verdict({ pods: 5 }, user('b', 2, { pods: 3 }), [{ ...user('a', 1, { pods: 3 }), isPart: true }]),
      'boundary pods: 3 + 3 > 5',
    ],
    [
      'count pods over replicas',
      verdict({ pods: 5 }, user('b', 2, { pods: 3 }), [user('a', 1, { pods: 3 })]),
      'boundary pods: 3 + 3 > 5',
    ],
    [
      'check limits of the group before those of the boundary',
      verdict({ storage: '1Gi' }, user('b', 2, { storage: '2Gi' }), [], { storage: '1Gi' }),
      'resourceGroup storage: 0 + 2Gi > 1Gi',
    ],
    [
      'count only resources of the group against its limits',
      verdict({ resources: 9 }, user('b', 2), [user('a', 1, {}, 'other')], { resources: 1 }),
      'fits',
    ],
    [
      'fit if the resource requests nothing of the exhausted kind',
      verdict({ cpu: '1' }, user('b', 2, { memory: '1Gi' }), [user('a', 1, { cpu: '1' })]),
      'fits',
    ],
    [
      'refuse everything under a limit of zero',
      verdict({ pods: 0 }, user('a', 1, { pods: 1 }), []),
      'boundary pods: 0 + 1 > 0',
    ],
    [
      'count the larger of a resource and its retained volumes',
      [
        verdict({ storage: '25Gi' }, user('c', 3, { storage: '15Gi' }), [
          kept('a', '10Gi'),
          user('a', 1, { storage: '8Gi' }),
        ]),
        verdict({ storage: '25Gi' }, user('c', 3, { storage: '15Gi' }), [
          user('a', 1, { storage: '8Gi' }),
          kept('a', '10Gi'),
        ]),
        verdict({ storage: '25Gi' }, user('c', 3, { storage: '15Gi' }), [
          kept('a', '8Gi'),
          user('a', 1, { storage: '11Gi' }),
        ]),
      ].join('; '),
      'fits; fits; boundary storage: 11Gi + 15Gi > 25Gi',
    ],
    [
      'count retained volumes whole while their resource waits for another quota',
      verdict({ storage: '25Gi', cpu: '1' }, user('c', 3, { storage: '16Gi' }), [
        kept('a', '10Gi'),
        user('a', 1, { storage: '20Gi', cpu: '2' }),
      ]),
      'boundary storage: 10Gi + 16Gi > 25Gi',
    ],
    [
      'do not count retained volumes beside the resource that can reuse them',
      verdict({ storage: '10Gi' }, user('a', 1, { storage: '10Gi' }), [kept('a', '10Gi')]),
      'fits',
    ],
  ]
  for (const [sentence, actual, expected] of cases) it(sentence, () => expect(actual).to.equal(expected))

  it('name the quota, its use and the request', () => {
    const answer = evaluateQuota({
      boundary: { memory: '4Gi' },
      groups: new Map(),
      subject: user('b', 2, { memory: '2Gi' }),
      others: [user('a', 1, { memory: '3Gi' })],
    })
    expect(answer.kind === 'exceeded' && quotaSentence(answer)).to.equal(
      "The boundary's quota of memory is 4Gi; 3Gi is used and 2Gi more was requested.",
    )
  })

  it('name the limit of the group', () => {
    const input = { boundary: {}, groups: new Map([['shop', { pods: 1 }]]), others: [] }
    const answer = evaluateQuota({ ...input, subject: user('b', 2, { pods: 2 }) })
    expect(answer.kind === 'exceeded' && quotaSentence(answer)).to.equal(
      "The resource group's quota of pods is 1; 0 is used and 2 more was requested.",
    )
  })

  it('return who takes a share: granted ones first, then those that wait and fit, oldest first', () => {
    const users = [
      user('a-late', 4, { cpu: '1' }),
      user('large', 1, { cpu: '9' }),
      user('z-early', 2, { cpu: '1' }),
      { ...user('granted', 3, { cpu: '3' }), isGranted: true },
    ]
    const counted = (cpu: string) => countedUsers({ boundary: { cpu }, groups: new Map() }, users).map(({ key }) => key)
    expect(counted('5')).to.deep.equal(['granted', 'z-early', 'a-late'])
    expect(counted('4')).to.deep.equal(['granted', 'z-early'])
    expect(counted('1')).to.deep.equal(['granted'])
  })

  it('count a resource beside its retained volumes, and no other', () => {
    const users = [kept('a', '10Gi'), user('a', 1, { storage: '10Gi' }), user('b', 2, { storage: '1Gi' })]
    const counted = countedUsers({ boundary: { storage: '10Gi' }, groups: new Map() }, users)
    expect(counted.map(({ key }) => key)).to.deep.equal(['a', 'a'])
  })

  it('count of retained storage what their resources do not hold', () => {
    const retained = [kept('a', '10Gi'), kept('b', '5Gi'), kept('c', '1Gi')]
    const users = [user('a', 1, { storage: '8Gi' }), user('b', 1, { storage: '6Gi' })]
    expect(extraRetainedStorage(retained, users)).to.equal(parseQuantity('3Gi'))
  })

  it('say how many groups a boundary may have, and count granted ones first', () => {
    const exceeded = {
      kind: 'exceeded',
      at: 'boundary',
      quota: 'resourceGroups',
      limit: '1',
      used: '1',
      requested: '1',
    }
    const granted = { ...user('b', 2), isGranted: true }
    expect(evaluateGroupCount({ resourceGroups: 1 }, user('a', 1), [granted])).to.deep.equal(exceeded)
    expect(evaluateGroupCount({ resourceGroups: 1 }, granted, [granted])).to.deep.equal({ kind: 'fits' })
    expect(evaluateGroupCount({ resourceGroups: 1 }, user('b', 1), [user('a', 1)])).to.deep.equal(exceeded)
  })

  it('admit as many groups as the limit, oldest first', () => {
    const groups = [1, 2, 3].map((age) => user(`g${age}`, age))
    const kinds = groups.map((group) => evaluateGroupCount({ resourceGroups: 2 }, group, groups).kind)
    expect(kinds).to.deep.equal(['fits', 'fits', 'exceeded'])
    expect(evaluateGroupCount({}, user('g9', 9), groups).kind).to.equal('fits')
  })
})
