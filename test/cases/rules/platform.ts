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
    ['admits a plain boundary', undefined, { tags: { 'team.name/a b': 'search' } }],
    ['refuses a tag key of ours', undefined, { tags: { 'freehold.dev/x': '1' } }, TAGS],
    ['refuses a tag key of Kubernetes', undefined, { tags: { 'kubernetes.io/x': '1' } }, TAGS],
    ['refuses a tag key that holds .k8s.io/', undefined, { tags: { 'app.k8s.io/x': '1' } }, TAGS],
    ['refuses a tag key with a comma', undefined, { tags: { 'a,b': '1' } }, TAGS],
    [
      'refuses another first owner',
      { initialOwner: { principalId: ID, principalType: 'User' } },
      { initialOwner: { principalId: OTHER, principalType: 'User' } },
      fixed('initialOwner'),
    ],
    [
      'refuses a first owner that comes later',
      {},
      { initialOwner: { principalId: ID, principalType: 'User' } },
      fixed('initialOwner'),
    ],
  ]),
  ...cases(BugReport, { title: 'Broken', description: 'It is.', reportedBy: ID, reportedAt: '2026-01-01T00:00:00Z' }, [
    ['admits a report that is closed', {}, { state: 'Closed' }],
    ['refuses another reporter', {}, { reportedBy: OTHER }, fixed('reportedBy')],
    ['refuses another time', {}, { reportedAt: '2026-01-02T00:00:00Z' }, fixed('reportedAt')],
  ]),
  ...cases(ResourceGroup, {}, [
    ['admits an empty spec', undefined, {}],
    ['refuses a tag key of ours', undefined, { tags: { 'freehold.dev/x': '1' } }, TAGS],
  ]),
  ...cases(
    ComputePlan,
    { displayName: 'Small', cpuRequest: '1', cpuLimit: '2', memoryRequest: '1Gi', memoryLimit: '1Gi' },
    [
      ['admits a new price of the same family', { family: 'Vector' }, { family: 'Vector', cpuLimit: '3' }],
      ['refuses to become a plan of another family', { family: 'Vector' }, { family: 'Sql' }, fixed('family')],
      [
        'refuses more requested cores than it allows',
        undefined,
        { family: 'Vector', cpuRequest: '3' },
        'cpuLimit must not be less than cpuRequest',
      ],
      [
        'refuses more requested memory than it allows',
        undefined,
        { family: 'Vector', memoryRequest: '2Gi' },
        'memoryLimit must not be less than memoryRequest',
      ],
      ['admits the default', undefined, { family: 'Vector', isDefault: true }],
      [
        'refuses a default that is deprecated',
        undefined,
        { family: 'Vector', isDefault: true, deprecated: true },
        'a deprecated plan cannot be the default: new resources may not use it',
      ],
    ],
  ),
  ...cases(PlatformCluster, { displayName: 'Here', domain: 'apps.example.com' }, [
    ['admits another display name', { isPlatform: true }, { isPlatform: true, displayName: 'There' }],
    ['refuses to stop being the platform cluster', { isPlatform: true }, { isPlatform: false }, fixed('isPlatform')],
    ['refuses another name', { name: 'here' }, { name: 'there' }, fixed('name')],
    ['admits another revocation', { revokedAt: '2026-01-01T00:00:00Z' }, { revokedAt: '2026-01-02T00:00:00Z' }],
    [
      'refuses to forget a revocation, as a manifest without it would',
      { revokedAt: '2026-01-01T00:00:00Z' },
      {},
      'revokedAt cannot be removed: let the agent join again with a new token',
    ],
    [
      "refuses to revoke the agent of the platform's own, which has none",
      { isPlatform: true },
      { isPlatform: true, revokedAt: '2026-01-01T00:00:00Z' },
      'the cluster that the platform runs on needs no agent: leave revokedAt and joinTokens out',
    ],
  ]),
  ...cases(BoundaryProjection, { clusterId: ID }, [
    ['admits fewer namespaces', {}, { namespaces: ['shop-0123456789'] }],
    ['refuses another cluster', {}, { clusterId: OTHER }, fixed('clusterId')],
  ]),
  ...cases(BoundaryCrosslink, {}, [
    ['admits links that are off', undefined, {}],
    ['admits links through a hub', {}, { enabled: true, hubClusterId: ID }],
    ['admits the next authority', { pkiVersion: 2 }, { pkiVersion: 3 }],
    ['refuses links without a hub', undefined, { enabled: true }, 'hubClusterId is required while enabled'],
    ['refuses to skip an authority', {}, { pkiVersion: 3 }, 'pkiVersion must stay or grow by one'],
    ['refuses the authority before', { pkiVersion: 2 }, { pkiVersion: 1 }, 'pkiVersion must stay or grow by one'],
  ]),
  ...cases(NameClaim, { type: 'Host', value: 'a.example.com', holder }, [
    ['admits an unchanged claim', {}, {}],
    ['refuses another type', {}, { type: 'Vault' }, fixed('type')],
    ['refuses another value', {}, { value: 'b.example.com' }, fixed('value')],
    ['refuses another holder', {}, { holder: { ...holder, name: 'orders' } }, fixed('holder')],
  ]),
]
