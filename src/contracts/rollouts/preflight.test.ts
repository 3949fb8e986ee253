import { expect } from 'chai'
import { HEALTHY_CLUSTER } from '../../adapters/clusterinspector/fake.ts'
import type { CheckFacts, ClusterCheckFacts, ReleaseFacts } from './facts.ts'
import {
  blockingChecks,
  CHECK_IDS,
  CHECKS,
  type CompletedCheck,
  overallResultOf,
  runChecks,
  worsenedChecks,
} from './preflight.ts'

const NOW = Date.parse('2026-01-01T06:00:00Z')
const RELEASE: ReleaseFacts = {
  ...{ component: 'facade', version: '1.1.0', isSchemaBreaking: false, migratesDatabase: false, pins: {} },
  ...{ requiredValues: [], isSigned: true },
}
const FACTS: CheckFacts = {
  ...{
    now: NOW,
    operatorVersion: '1.0.0',
    busyWith: undefined,
    releases: [RELEASE],
    agents: [],
    cluster: HEALTHY_CLUSTER,
  },
  plan: { items: [], batches: [], problems: [] },
  components: [{ name: 'facade', kind: 'Module', state: 'Ready' }],
  missingValues: { value: [] },
  lastScan: { finishedAt: '2026-01-01T05:00:00Z', found: 0 },
}
const MISSING = { code: 'ReleaseMissing', component: 'facade', message: 'There is no facade 9.', details: {} } as const
const inCluster = (change: Partial<ClusterCheckFacts>): Partial<CheckFacts> => ({
  cluster: { ...HEALTHY_CLUSTER, ...change },
})
const unknown = { unknown: 'Nothing is known.' }

const VERB =
  /\b(is|are|was|has|have|holds?|lacks?|needs?|answers?|found|finds|fails?|restarts?|ended|can|named|say|ask|skipped)\b/i
/** A message appears alone in refusals and logs: it names its subject and has a verb. */
const isWholeSentence = (message: string) =>
  /^[A-Z0-9"].*\.$/s.test(message) &&
  VERB.test(message.replace(/:.*/s, '')) &&
  !/^(It|None|These|Every one) (is|does|do|has|holds|lacks)\b/.test(message)

describe('CHECKS and runChecks', () => {
  it('contain the 27 checks of the API, 8 of which cannot be overridden', () => {
    expect(CHECKS.filter(({ isOverridable }) => !isOverridable).map(({ id }) => id)).to.have.members([
      ...['rollout-running', 'operator-version', 'configuration-values', 'release-signature', 'crd-bundle-order'],
      ...['minor-skip', 'projector-ceiling', 'cluster-reachable'],
    ])
    expect(CHECK_IDS).to.have.length(27)
    expect(new Set(CHECK_IDS).size).to.equal(27)
  })

  it('pass on a healthy platform, except for checks without data', () => {
    const other = runChecks(FACTS).filter(({ result }) => result !== 'Passed')
    expect(runChecks(FACTS).filter(({ message }) => !isWholeSentence(message))).to.deep.equal([])
    expect(other.map(({ id, result }) => `${id} ${result}`)).to.have.members(
      ['api-versions-removed', 'wal-pressure', 'alerts-firing'].map((id) => `${id} Skipped`),
    )
  })

  const cases: [id: string, why: string, change: Partial<CheckFacts>, result: string][] = [
    ['rollout-running', 'another rollout is running', { busyWith: 'other' }, 'Failed'],
    [
      'operator-version',
      'the operator is too old',
      { releases: [{ ...RELEASE, minimumOperatorVersion: '1.0.1' }] },
      'Failed',
    ],
    ...(['operator-version', 'configuration-values', 'release-signature'] as const).map(
      (id): [string, string, Partial<CheckFacts>, string] => [
        id,
        'a release is missing',
        { releases: [], plan: { items: [], batches: [], problems: [MISSING] } },
        'Skipped',
      ],
    ),
    ['configuration-values', 'a value is missing', { missingValues: { value: ['facade.a'] } }, 'Failed'],
    ['configuration-values', 'values cannot be read', { missingValues: unknown }, 'Skipped'],
    ['release-signature', 'a module is not signed', { releases: [{ ...RELEASE, isSigned: false }] }, 'Failed'],
    [
      'release-signature',
      'a third-party chart is not signed',
      {
        releases: [{ ...RELEASE, isSigned: false }],
        components: [{ name: 'facade', kind: 'ThirdPartyChart', state: 'Ready' }],
      },
      'Warnings',
    ],
    [
      'minor-skip',
      'a minor version is skipped',
      {
        plan: {
          items: [],
          batches: [],
          problems: [{ code: 'MinorSkipped', component: 'x', message: 'Skipped.', details: {} }],
        },
      },
      'Failed',
    ],
    ['crd-bundle-order', 'there is no plan', { plan: undefined }, 'Skipped'],
    ['projector-ceiling', 'a role lacks a rule', inCluster({ ceiling: { value: ['x lacks 1 right'] } }), 'Failed'],
    [
      'cluster-reachable',
      'the cluster does not answer',
      { cluster: Object.fromEntries(Object.keys(HEALTHY_CLUSTER).map((name) => [name, unknown])) as ClusterCheckFacts },
      'Failed',
    ],
    [
      'nodes-ready',
      'a node is not ready',
      inCluster({ nodes: { value: [{ name: 'n', isReady: false, isShortOfDisk: false, cpu: 1, memory: 1 }] } }),
      'Failed',
    ],
    ['nodes-ready', 'nodes cannot be read', inCluster({ nodes: unknown }), 'Skipped'],
    [
      'disk-headroom',
      'a disk is full',
      inCluster({ nodes: { value: [{ name: 'n', isReady: true, isShortOfDisk: true, cpu: 1, memory: 1 }] } }),
      'Failed',
    ],
    [
      'capacity-headroom',
      'requests use nearly all CPUs',
      inCluster({ requests: { value: { cpu: 7.9, memory: 1 } } }),
      'Failed',
    ],
    [
      'database-primary',
      'a database has no primary',
      inCluster({ databases: { value: [{ name: 'd', hasPrimary: false, isArchiving: true }] } }),
      'Failed',
    ],
    [
      'database-archiving',
      'a database does not archive',
      inCluster({ databases: { value: [{ name: 'd', hasPrimary: true, isArchiving: false }] } }),
      'Failed',
    ],
    [
      'backup-target',
      'there is no target',
      inCluster({ backups: { value: { target: 'Missing', lastAt: undefined } } }),
      'Failed',
    ],
    ['backup-target', 'Velero is missing', inCluster({ backups: unknown }), 'Skipped'],
    [
      'last-backup-age',
      'the backup is two days old',
      inCluster({ backups: { value: { target: 'Available', lastAt: '2025-12-30T00:00:00Z' } } }),
      'Failed',
    ],
    ['snapshot-possible', 'Velero is missing', inCluster({ backups: unknown }), 'Failed'],
    [
      'certificates-valid',
      'a certificate expires within a day',
      inCluster({ certificates: { value: [{ name: 'c', isReady: true, endsAt: '2026-01-02T00:00:00Z' }] } }),
      'Failed',
    ],
    ['crd-chart-match', 'a CRD is missing', inCluster({ missingDefinitions: { value: ['x.y'] } }), 'Failed'],
    ['agents-compatible', 'an agent is too old', { agents: [{ name: 'far', version: '0.9.0' }] }, 'Failed'],
    [
      'platform-drift',
      'the last scan found drift',
      { lastScan: { finishedAt: '2026-01-01T05:00:00Z', found: 2 } },
      'Failed',
    ],
    [
      'components-healthy',
      'a component is degraded',
      { components: [{ name: 'x', kind: 'Module', state: 'Degraded' }] },
      'Failed',
    ],
    ['quota-near', 'a quota is 95 % full', inCluster({ quotas: { value: [{ name: 'q', share: 0.95 }] } }), 'Warnings'],
    [
      'drift-scan-age',
      'the scan is a day old',
      { lastScan: { finishedAt: '2025-12-31T05:00:00Z', found: 0 } },
      'Warnings',
    ],
    [
      'pending-restarts',
      'a workload is rolling out',
      inCluster({ workloads: { value: [{ name: 'w', isPending: true }] } }),
      'Warnings',
    ],
  ]
  for (const [id, why, change, result] of cases)
    it(`return ${result} for ${id} if ${why}`, () => {
      const found = runChecks({ ...FACTS, ...change }).find((check) => check.id === id)
      expect(found?.result).to.equal(result)
      expect(isWholeSentence(found?.message ?? ''), found?.message).to.equal(true)
    })
})

describe('blockingChecks, overallResultOf and worsenedChecks', () => {
  const check = (id: string, result: CompletedCheck['result']): CompletedCheck => ({
    id,
    result,
    message: '',
    details: {},
  })
  const checks = [check('nodes-ready', 'Failed'), check('quota-near', 'Warnings'), check('minor-skip', 'Failed')]

  it('block a rollout on failed checks that are not acknowledged or cannot be', () => {
    const ids = (...acknowledged: string[]) => blockingChecks(checks, acknowledged).map(({ id }) => id)
    expect(ids()).to.deep.equal(['nodes-ready', 'minor-skip'])
    expect(ids('nodes-ready', 'minor-skip')).to.deep.equal(['minor-skip'])
    expect([
      overallResultOf(checks),
      overallResultOf([check('quota-near', 'Warnings')]),
      overallResultOf([]),
    ]).to.deep.equal(['Failed', 'Warnings', 'Passed'])
  })

  it('return checks that passed before', () => {
    const before = [check('nodes-ready', 'Passed'), check('database-primary', 'Failed')]
    const now = [check('nodes-ready', 'Failed'), check('database-primary', 'Failed'), check('quota-near', 'Failed')]
    expect(worsenedChecks(before, now)).to.deep.equal(['nodes-ready'])
  })
})
