import { Boundary } from '../../../src/crds/boundaries.ts'
import { BugReport } from '../../../src/crds/bugreports.ts'
import { PlatformCluster } from '../../../src/crds/clusters.ts'
import { BoundaryCrosslink } from '../../../src/crds/crosslink.ts'
import { NameClaim } from '../../../src/crds/nameclaims.ts'
import { ComputePlan } from '../../../src/crds/plans.ts'
import { BoundaryProjection } from '../../../src/crds/projections.ts'
import { ResourceGroup } from '../../../src/crds/resourcegroups.ts'
import { cases, fixed, ID, OTHER, type RuleCase, TAGS } from './case.ts'

const holder = { kind: 'VectorCluster', namespace: 'search-0123456789', name: 'products', incarnation: ID }

export const PLATFORM_RULES: readonly RuleCase[] = [
  ...cases(Boundary, { displayName: 'Acme' }, [
    ['a plain boundary', undefined, { tags: { 'team.name/a b': 'search' } }],
    ['a tag key of the platform', undefined, { tags: { 'freehold.dev/x': '1' } }, TAGS],
    ['a tag key of Kubernetes', undefined, { tags: { 'kubernetes.io/x': '1' } }, TAGS],
    ['a tag key that holds .k8s.io/', undefined, { tags: { 'app.k8s.io/x': '1' } }, TAGS],
    ['a tag key with a comma', undefined, { tags: { 'a,b': '1' } }, TAGS],
    [
      'another initialOwner',
      { initialOwner: { principalId: ID, principalType: 'User' } },
      { initialOwner: { principalId: OTHER, principalType: 'User' } },
      fixed('initialOwner'),
    ],
    ['an added initialOwner', {}, { initialOwner: { principalId: ID, principalType: 'User' } }, fixed('initialOwner')],
  ]),
  ...cases(BugReport, { title: 'Broken', description: 'It is.', reportedBy: ID, reportedAt: '2026-01-01T00:00:00Z' }, [
    ['the state Closed', {}, { state: 'Closed' }],
    ['another reporter', {}, { reportedBy: OTHER }, fixed('reportedBy')],
    ['another reportedAt', {}, { reportedAt: '2026-01-02T00:00:00Z' }, fixed('reportedAt')],
  ]),
  ...cases(ResourceGroup, {}, [
    ['an empty spec', undefined, {}],
    ['a tag key of the platform', undefined, { tags: { 'freehold.dev/x': '1' } }, TAGS],
  ]),
  ...cases(
    ComputePlan,
    { displayName: 'Small', cpuRequest: '1', cpuLimit: '2', memoryRequest: '1Gi', memoryLimit: '1Gi' },
    [
      ['a larger limit', { family: 'Vector' }, { family: 'Vector', cpuLimit: '3' }],
      ['another family', { family: 'Vector' }, { family: 'Sql' }, fixed('family')],
      [
        'a cpuRequest above cpuLimit',
        undefined,
        { family: 'Vector', cpuRequest: '3' },
        'cpuLimit must not be less than cpuRequest',
      ],
      [
        'a memoryRequest above memoryLimit',
        undefined,
        { family: 'Vector', memoryRequest: '2Gi' },
        'memoryLimit must not be less than memoryRequest',
      ],
      ['a default plan', undefined, { family: 'Vector', isDefault: true }],
      [
        'a deprecated default plan',
        undefined,
        { family: 'Vector', isDefault: true, deprecated: true },
        'a deprecated plan cannot be the default: new resources may not use it',
      ],
    ],
  ),
  ...cases(PlatformCluster, { displayName: 'Here', domain: 'apps.example.com' }, [
    ['another display name', { isPlatform: true }, { isPlatform: true, displayName: 'There' }],
    ['a removed isPlatform', { isPlatform: true }, { isPlatform: false }, fixed('isPlatform')],
    ['another name', { name: 'here' }, { name: 'there' }, fixed('name')],
    ['a later revocation', { revokedAt: '2026-01-01T00:00:00Z' }, { revokedAt: '2026-01-02T00:00:00Z' }],
    [
      'the removal of revokedAt',
      { revokedAt: '2026-01-01T00:00:00Z' },
      {},
      'revokedAt cannot be removed: let the agent join again with a new token',
    ],
    [
      'a revocation on the platform cluster, which has no agent',
      { isPlatform: true },
      { isPlatform: true, revokedAt: '2026-01-01T00:00:00Z' },
      'the cluster that the platform runs on needs no agent: leave revokedAt and joinTokens out',
    ],
  ]),
  ...cases(BoundaryProjection, { clusterId: ID }, [
    ['fewer namespaces', {}, { namespaces: ['shop-0123456789'] }],
    ['another cluster', {}, { clusterId: OTHER }, fixed('clusterId')],
  ]),
  ...cases(BoundaryCrosslink, {}, [
    ['disabled links', undefined, {}],
    ['links through a hub', {}, { enabled: true, hubClusterId: ID }],
    ['the next authority', { pkiVersion: 2 }, { pkiVersion: 3 }],
    ['links without a hub', undefined, { enabled: true }, 'hubClusterId is required while enabled'],
    ['a skipped authority', {}, { pkiVersion: 3 }, 'pkiVersion must stay or grow by one'],
    ['an earlier authority', { pkiVersion: 2 }, { pkiVersion: 1 }, 'pkiVersion must stay or grow by one'],
  ]),
  ...cases(NameClaim, { type: 'Host', value: 'a.example.com', holder }, [
    ['an unchanged claim', {}, {}],
    ['another type', {}, { type: 'Vault' }, fixed('type')],
    ['another value', {}, { value: 'b.example.com' }, fixed('value')],
    ['another holder', {}, { holder: { ...holder, name: 'orders' } }, fixed('holder')],
  ]),
]
