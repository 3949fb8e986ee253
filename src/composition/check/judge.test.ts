import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import type { BackupLocationWithStatus } from '../../contracts/platformbackups/conditions.ts'
import { OLDEST_KUBERNETES_MINOR } from '../../core/release.ts'
import { formatFindings } from './finding.ts'
import {
  isSameSchema,
  judgeAuditLog,
  judgeBackups,
  judgeClock,
  judgeEngine,
  judgeGateway,
  judgeGitHost,
  judgeIssuer,
  judgeKinds,
  judgeKubectl,
  judgeObjectStore,
  judgeOwners,
  judgePolicies,
  judgePrometheus,
  judgeRegistry,
  judgeVersion,
  judgeWebhook,
} from './judge.ts'

const ISSUER = 'https://id.example.com/realms/freehold'
const REALM = 'Bearer realm="https://api.example.com/registry/auth/token",service="r"'
const GIT = 'https://git.example.com'
const AB = new Map([
  ['a', '1'],
  ['b', '2'],
])
const DENYING = new Set(['a', 'b'])
/** Settings for a cluster whose API server cannot be configured. */
const MANAGED = { webhookCertificate: undefined, projectRbac: true, auditWebhook: false }
const NOW = Date.parse('2026-01-02T00:00:00Z')
const location = (phase: string | undefined, lastValidationTime = '2026-01-01T23:59:00Z', spec: object = {}) =>
  ({
    metadata: { name: 'default' },
    spec: { default: true, ...spec },
    ...(phase !== undefined && { status: { phase, lastValidationTime } }),
  }) as BackupLocationWithStatus
const LONG_AGO = '2026-01-01T00:00:00Z'
const READ_ONLY = { accessMode: 'ReadOnly' }
const SELDOM = { validationFrequency: '24h' }
const version = (minor: string) => ({ major: '1', minor, gitVersion: `v1.${minor}.0` })

describe('installation check', () => {
  for (const [sentence, finding, verdict, words] of [
    ['accepts the oldest supported Kubernetes', judgeVersion(version('34+')), 'ok', 'v1.34'],
    ['rejects an older Kubernetes', judgeVersion(version('33')), 'fault', 'too old'],
    ['accepts a clock that is 59 s ahead', judgeClock('Fri, 02 Jan 2026 00:00:59 GMT', NOW, NOW), 'ok', 'It is that'],
    [
      'tolerates the duration of a slow response',
      judgeClock('Fri, 02 Jan 2026 00:05:00 GMT', NOW, NOW + 300_000),
      'ok',
      'It is that',
    ],
    [
      'rejects a clock that is behind that of the API server',
      judgeClock('Thu, 01 Jan 2026 23:00:00 GMT', NOW, NOW),
      'fault',
      '60 minutes ahead of',
    ],
    [
      'rejects a clock that is two minutes ahead',
      judgeClock('Fri, 02 Jan 2026 00:02:00 GMT', NOW, NOW),
      'fault',
      '2 minutes behind',
    ],
    ['accepts if all kinds are served', judgeKinds(['a.x'], new Set(['a.x', 'b.x'])), 'ok', 'All 1'],
    [
      'names kinds that are not served',
      judgeKinds(['a', 'b', 'c', 'd', 'e'], new Set(['a'])),
      'fault',
      'b, c, d and 1 more',
    ],
    [
      'names kinds with another schema',
      judgeKinds(['a.x'], new Set(['a.x']), ['a.x']),
      'fault',
      'another version: a.x.',
    ],
    ['rejects a missing webhook', judgeWebhook(undefined, {}), 'fault', 'not installed'],
    [
      'rejects a webhook without a certificate authority',
      judgeWebhook({ authority: false }, { status: 404 }),
      'fault',
      'names no authority',
    ],
    [
      'rejects a webhook that does not answer',
      judgeWebhook({ authority: true }, { reason: 'refused' }),
      'fault',
      'refused',
    ],
    [
      'accepts a webhook that answers with any status',
      judgeWebhook({ authority: true }, { status: 404 }),
      'ok',
      'answers',
    ],
    [
      'names a missing policy',
      judgePolicies({ a: '1', b: '2' }, new Map([['a', '1']]), DENYING),
      'fault',
      'installed: b.',
    ],
    [
      'names a policy without a binding',
      judgePolicies({ a: '1', c: '2' }, new Map([...AB, ['c', '2']]), DENYING),
      'fault',
      'installed: c.',
    ],
    [
      'names a policy of another version',
      judgePolicies({ a: '1', b: '3' }, AB, DENYING),
      'fault',
      'another version: b.',
    ],
    ['accepts all policies and additional ones', judgePolicies({ a: '1' }, AB, DENYING), 'ok', 'All 1'],
    [
      'names a policy that is being deleted',
      judgePolicies({ a: '1', b: '2' }, AB, DENYING, new Set(['b', 'c'])),
      'fault',
      'finalizers: b.',
    ],
    [
      'accepts a webhook certificate for the authorizer',
      judgeKubectl({ ...MANAGED, webhookCertificate: 'a' }),
      'ok',
      'can be asked',
    ],
    ['reports what RBAC without the authorizer cannot do', judgeKubectl(MANAGED), 'off', 'denies'],
    [
      'reports that kubectl has no permissions without projectRbac',
      judgeKubectl({ ...MANAGED, projectRbac: false }),
      'off',
      'nothing',
    ],
    [
      'accepts an audit webhook with a certificate',
      judgeAuditLog({ auditWebhook: true, webhookCertificate: 'a' }),
      'ok',
      'audit log',
    ],
    ['reports that activity has no author without an audit log', judgeAuditLog(MANAGED), 'off', 'not by whom'],
    [
      'rejects an audit webhook without a certificate',
      judgeAuditLog({ ...MANAGED, auditWebhook: true }),
      'fault',
      'nothing takes it',
    ],
    ['rejects an issuer that does not answer', judgeIssuer(ISSUER, undefined, 0, 'timeout'), 'fault', 'timeout'],
    ['rejects an issuer with another name', judgeIssuer(ISSUER, { issuer: `${ISSUER}/` }, 1), 'fault', 'calls itself'],
    ['rejects an issuer without keys', judgeIssuer(ISSUER, { issuer: ISSUER }, 0), 'fault', 'no key'],
    ['accepts an issuer with keys', judgeIssuer(ISSUER, { issuer: ISSUER }, 2), 'ok', '2 keys'],
    [
      'rejects a registry that does not answer',
      judgeRegistry('http://r', { reason: 'refused' }),
      'fault',
      'does not answer',
    ],
    [
      'rejects a registry that needs no token',
      judgeRegistry('http://r', { status: 200 }),
      'fault',
      'without asking for a token',
    ],
    [
      'rejects a registry with another token endpoint',
      judgeRegistry('http://r', { status: 401, challenge: 'Bearer realm="https://x"' }),
      'fault',
      'elsewhere',
    ],
    [
      'rejects a registry whose audit log the controllers cannot read',
      judgeRegistry('http://r', { status: 401, challenge: REALM }, false),
      'fault',
      'retention removes nothing',
    ],
    [
      "accepts a registry with the platform's token endpoint",
      judgeRegistry('http://r', { status: 401, challenge: REALM }),
      'ok',
      'tokens',
    ],
    ['accepts no Gateway', judgeGateway([], false), 'ok', 'Ingress'],
    ['rejects a configured Gateway that does not exist', judgeGateway(['infra/web'], false), 'fault', 'infra/web'],
    ['rejects a platform without an Owner', judgeOwners(0), 'fault', 'Nobody'],
    [
      'reports a simulated engine as simulated',
      judgeEngine('simulated', 'X', 'databases', 'y'),
      'ok',
      'X is simulated',
    ],
    ['reports a missing Prometheus', judgePrometheus(undefined), 'off', 'ENGINE_MISSING'],
    ['rejects a Prometheus that does not answer', judgePrometheus('http://p', 'refused'), 'fault', 'refused'],
    ['accepts a Prometheus that answers', judgePrometheus('http://p'), 'ok', 'answers'],
    ['reports a missing Git host', judgeGitHost(undefined, {}), 'off', 'EngineMissing'],
    [
      'rejects a Git host that does not answer',
      judgeGitHost(GIT, { reason: 'refused' }),
      'fault',
      'does not answer: refused',
    ],
    ['rejects a Git host without a token', judgeGitHost(GIT, { reason: undefined }), 'fault', 'there is no token'],
    [
      'rejects a Git host that does not accept the token',
      judgeGitHost(GIT, { status: 401 }),
      'fault',
      'does not accept the token',
    ],
    [
      'rejects a token of a Git user who is not an administrator',
      judgeGitHost(GIT, { status: 200, isAdmin: false }),
      'fault',
      'administrator',
    ],
    [
      'accepts a token of a Git administrator',
      judgeGitHost(GIT, { status: 200, isAdmin: true }),
      'ok',
      'accepts the token',
    ],
    ['accepts an object store whose keys are all known', judgeObjectStore([]), 'ok', 'accepts the credentials'],
    [
      'names an unknown key of the object store',
      judgeObjectStore(['key-1']),
      'fault',
      'no record of 1 key at it: key-1',
    ],
    [
      'names five of nine unknown keys',
      judgeObjectStore(Array.from({ length: 9 }, (_, index) => `key-${index}`)),
      'fault',
      '9 keys at it: key-0, key-1, key-2, key-3, key-4 ...',
    ],
    ['reports missing Velero', judgeBackups(undefined, NOW), 'off', 'Velero is not installed'],
    ['reports that Velero has no target', judgeBackups([], NOW), 'off', 'no target'],
    [
      'rejects a refused backup target with the reason',
      judgeBackups([], NOW, 'It was refused.'),
      'fault',
      'no target. It was refused.',
    ],
    ['rejects an unavailable backup target', judgeBackups([location('Unavailable')], NOW), 'fault', 'cannot reach'],
    [
      'rejects a backup target that Velero has not validated',
      judgeBackups([location(undefined)], NOW),
      'fault',
      'has not looked',
    ],
    [
      'rejects a backup target with an outdated validation',
      judgeBackups([location('Available', LONG_AGO)], NOW),
      'fault',
      'since',
    ],
    [
      'rejects a read-only backup target',
      judgeBackups([location('Available', LONG_AGO, READ_ONLY)], NOW),
      'fault',
      'read-only',
    ],
    [
      'accepts an old validation within validationFrequency',
      judgeBackups([location('Available', LONG_AGO, SELDOM)], NOW),
      'ok',
      '"default"',
    ],
    ['accepts an available backup target', judgeBackups([location('Available')], NOW), 'ok', '"default"'],
    ['reports a missing engine', judgeEngine(false, 'X', 'databases', 'y'), 'off', 'EngineMissing'],
  ] as const) {
    it(sentence, () => {
      expect(finding.status).to.equal(verdict)
      expect(finding.message).to.contain(words)
      if (verdict === 'fault') expect(finding.remedy, 'a fault says what to do').to.be.a('string')
    })
  }

  it('requires the Kubernetes version that docs/install.md promises', () => {
    const page = readFileSync(join(import.meta.dirname, '../../../docs/install.md'), 'utf8')
    expect(page).to.contain(`Kubernetes 1.${OLDEST_KUBERNETES_MINOR} or newer`)
  })

  it('compares schemas without descriptions', () => {
    const declared = {
      type: 'object',
      description: 'A',
      properties: { description: { type: 'string', enum: ['a', 'b'] } },
    }
    const published = { ...declared, description: 'B', 'x-kubernetes-selectable-fields': [] }
    const withField = (description: object | undefined) => ({ ...published, properties: { description } })
    expect(isSameSchema(published, declared)).to.equal(true)
    expect(isSameSchema({ type: 'object' }, { type: 'object', properties: {} })).to.equal(true)
    for (const other of [undefined, {}, { type: 'string' }, { type: 'string', enum: ['a'] }])
      expect(isSameSchema(withField(other), declared), JSON.stringify(other)).to.equal(false)
  })

  it('formats the findings as columns', () => {
    const findings = [
      { name: 'API server', ...judgeVersion(version('36')) },
      { name: 'Owner', ...judgeOwners(0) },
    ]
    expect(formatFindings(findings)).to.equal(
      [
        'ok     API server  Kubernetes v1.36.0.',
        'fault  Owner       Nobody is Owner of the platform.',
        '                   Write a first RoleAssignment, as docs/install.md says.',
        '',
      ].join('\n'),
    )
  })
})
