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
/** The settings of a cluster whose API server cannot be configured. */
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

describe('a check of an installation', () => {
  for (const [sentence, finding, verdict, words] of [
    ['takes the oldest Kubernetes', judgeVersion(version('34+')), 'ok', 'v1.34'],
    ['refuses an older one', judgeVersion(version('33')), 'fault', 'too old'],
    ['takes a clock that is nearly right', judgeClock('Fri, 02 Jan 2026 00:00:59 GMT', NOW, NOW), 'ok', 'It is that'],
    ['waits for a slow answer', judgeClock('Fri, 02 Jan 2026 00:05:00 GMT', NOW, NOW + 300_000), 'ok', 'It is that'],
    [
      'wants no clock that is ahead',
      judgeClock('Thu, 01 Jan 2026 23:00:00 GMT', NOW, NOW),
      'fault',
      '60 minutes ahead of',
    ],
    ['nor one that is behind', judgeClock('Fri, 02 Jan 2026 00:02:00 GMT', NOW, NOW), 'fault', '2 minutes behind'],
    ['is content where all kinds are served', judgeKinds(['a.x'], new Set(['a.x', 'b.x'])), 'ok', 'All 1'],
    ['names kinds that are not', judgeKinds(['a', 'b', 'c', 'd', 'e'], new Set(['a'])), 'fault', 'b, c, d and 1 more'],
    [
      'names kinds of another version',
      judgeKinds(['a.x'], new Set(['a.x']), ['a.x']),
      'fault',
      'another version: a.x.',
    ],
    ['wants the webhook', judgeWebhook(undefined, {}), 'fault', 'not installed'],
    ['wants its authority', judgeWebhook({ authority: false }, { status: 404 }), 'fault', 'names no authority'],
    ['wants its answer', judgeWebhook({ authority: true }, { reason: 'refused' }), 'fault', 'refused'],
    ['takes any answer of it', judgeWebhook({ authority: true }, { status: 404 }), 'ok', 'answers'],
    ['wants every policy', judgePolicies({ a: '1', b: '2' }, new Map([['a', '1']]), DENYING), 'fault', 'installed: b.'],
    [
      'wants every binding',
      judgePolicies({ a: '1', c: '2' }, new Map([...AB, ['c', '2']]), DENYING),
      'fault',
      'installed: c.',
    ],
    ['wants those of its version', judgePolicies({ a: '1', b: '3' }, AB, DENYING), 'fault', 'another version: b.'],
    ['takes those, and others beside them', judgePolicies({ a: '1' }, AB, DENYING), 'ok', 'All 1'],
    ['takes a facade that can be asked', judgeKubectl({ ...MANAGED, webhookCertificate: 'a' }), 'ok', 'can be asked'],
    ['says what role bindings cannot', judgeKubectl(MANAGED), 'off', 'denies'],
    ['says that kubectl grants nothing', judgeKubectl({ ...MANAGED, projectRbac: false }), 'off', 'nothing'],
    ['takes an audit log', judgeAuditLog({ auditWebhook: true, webhookCertificate: 'a' }), 'ok', 'audit log'],
    ['says what is not told without one', judgeAuditLog(MANAGED), 'off', 'not by whom'],
    ['wants one that can arrive', judgeAuditLog({ ...MANAGED, auditWebhook: true }), 'fault', 'nothing takes it'],
    ['wants an issuer that can be asked', judgeIssuer(ISSUER, undefined, 0, 'timeout'), 'fault', 'timeout'],
    ['wants the name of the issuer', judgeIssuer(ISSUER, { issuer: `${ISSUER}/` }, 1), 'fault', 'calls itself'],
    ['wants a key of it', judgeIssuer(ISSUER, { issuer: ISSUER }, 0), 'fault', 'no key'],
    ['takes an issuer with keys', judgeIssuer(ISSUER, { issuer: ISSUER }, 2), 'ok', '2 keys'],
    ['wants a registry that answers', judgeRegistry('http://r', { reason: 'refused' }), 'fault', 'does not answer'],
    [
      'wants a registry that is closed',
      judgeRegistry('http://r', { status: 200 }),
      'fault',
      'without asking for a token',
    ],
    [
      'wants one that asks us',
      judgeRegistry('http://r', { status: 401, challenge: 'Bearer realm="https://x"' }),
      'fault',
      'elsewhere',
    ],
    [
      'wants one whose audit the controllers see',
      judgeRegistry('http://r', { status: 401, challenge: REALM }, false),
      'fault',
      'retention removes nothing',
    ],
    ['takes one that does', judgeRegistry('http://r', { status: 401, challenge: REALM }), 'ok', 'tokens'],
    ['needs no Gateway', judgeGateway([], false), 'ok', 'Ingress'],
    ['needs one that is named', judgeGateway(['infra/web'], false), 'fault', 'infra/web'],
    ['wants a first Owner', judgeOwners(0), 'fault', 'Nobody'],
    [
      'does not call an engine installed that is simulated',
      judgeEngine('simulated', 'X', 'databases', 'y'),
      'ok',
      'X is simulated',
    ],
    ['needs no Git host', judgeGitHost(undefined, {}), 'off', 'EngineMissing'],
    ['wants a Git host that answers', judgeGitHost(GIT, { reason: 'refused' }), 'fault', 'does not answer: refused'],
    ['wants a token for it', judgeGitHost(GIT, { reason: undefined }), 'fault', 'there is no token'],
    ['wants one that it takes', judgeGitHost(GIT, { status: 401 }), 'fault', 'does not accept the token'],
    ['wants that of an administrator', judgeGitHost(GIT, { status: 200, isAdmin: false }), 'fault', 'administrator'],
    ['takes such a token', judgeGitHost(GIT, { status: 200, isAdmin: true }), 'ok', 'accepts the token'],
    ['takes a store whose keys are all known', judgeObjectStore([]), 'ok', 'accepts the credentials'],
    ['names a key that nobody can revoke', judgeObjectStore(['key-1']), 'fault', 'no record of 1 key at it: key-1'],
    [
      'names some of very many',
      judgeObjectStore(Array.from({ length: 9 }, (_, index) => `key-${index}`)),
      'fault',
      '9 keys at it: key-0, key-1, key-2, key-3, key-4 ...',
    ],
    ['needs no Velero', judgeBackups(undefined, NOW), 'off', 'Velero is not installed'],
    ['says that Velero has no target', judgeBackups([], NOW), 'off', 'no target'],
    [
      'says that the target was refused',
      judgeBackups([], NOW, 'It was refused.'),
      'fault',
      'no target. It was refused.',
    ],
    ['wants a target that Velero reaches', judgeBackups([location('Unavailable')], NOW), 'fault', 'cannot reach'],
    ['wants a Velero that runs', judgeBackups([location(undefined)], NOW), 'fault', 'has not looked'],
    ['wants one that runs now', judgeBackups([location('Available', LONG_AGO)], NOW), 'fault', 'since'],
    [
      'wants a target to write to',
      judgeBackups([location('Available', LONG_AGO, READ_ONLY)], NOW),
      'fault',
      'read-only',
    ],
    ['takes one that looks seldom', judgeBackups([location('Available', LONG_AGO, SELDOM)], NOW), 'ok', '"default"'],
    ['takes one that reaches its target', judgeBackups([location('Available')], NOW), 'ok', '"default"'],
    ['says what does not work without an engine', judgeEngine(false, 'X', 'databases', 'y'), 'off', 'EngineMissing'],
  ] as const) {
    it(sentence, () => {
      expect(finding.verdict).to.equal(verdict)
      expect(finding.what).to.contain(words)
      if (verdict === 'fault') expect(finding.remedy, 'a fault says what to do').to.be.a('string')
    })
  }

  it('wants what the page of the installation promises', () => {
    const page = readFileSync(join(import.meta.dirname, '../../../docs/install.md'), 'utf8')
    expect(page).to.contain(`Kubernetes 1.${OLDEST_KUBERNETES_MINOR} or newer`)
  })

  it('tells a definition of another version by its schema, whatever it says in words', () => {
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

  it('is shown in columns', () => {
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
