import { expect } from 'chai'
import { GIT_NAMES, REPOSITORY_NAMES } from '../../test/cases/gitNames.ts'
import { RULE_CASES } from '../../test/cases/ruleCases.ts'
import { type TextField, textFields } from '../../test/make/textFields.ts'
import { brokenRules } from './define.ts'
import { KINDS } from './index.ts'
import { RelationalCluster } from './relational.ts'
import { everRuns } from './schedule.ts'

const FIELDS = KINDS.flatMap((kind) => textFields(kind.spec, kind.kind))
const rulesOf = ({ schema }: TextField) => JSON.stringify(schema.meta()?.['x-kubernetes-validations'] ?? [])

const RELATIONAL = RelationalCluster.spec.parse({})

const NEVER = ['99 * * * *', '* * * * 8', '*/0 * * * *', '1-60 * * * *', '0 2 31 2 *', '0 2 31 2 1,*', 'daily']

const NO_NETWORKS = [
  ...['10.0.0.0', '10.0.0.0/33', '300.0.0.0/8', '10.0.0.1/8', '010.0.0.0/8', '::/129', '2001:DB8::/32', 'a/8', '/8'],
  ...['10.0.0.0/8,', ',', '10.0.0.0/8 ', '10.0.0.0/8;11.0.0.0/8', '10.0.0.0/8\n', '::ffff:10.0.0.0/104'],
]

const isProcessText = (path: string) => /\.(args|\w*[cC]ommand|\w*[eE]nv(\.value)?)$/.test(path)

const ID = '7b0c5d6e-1f2a-4b3c-8d4e-5f6a7b8c9d0e'
/** A page or a path, as a reporter states it, and the name of an issuer, which is compared. */
const SHOWN_ADDRESSES: readonly string[] = ['BugReport.url', 'PlatformUser.externalIdentity.issuer']
/** Ids of other systems, in any form. */
const FOREIGN_IDS: readonly string[] = [
  ...['MemberInvitation.tenantId', 'SsoConnection.identityProviders.clientId', 'PlatformAlert.alertId'],
  ...['BlueprintSource.installationId', 'BlueprintSource.repositoryId'],
]

/** The fields for which values are intended, and values that never work there. */
const CLASSES: {
  sentence: string
  isMeant: (field: TextField) => boolean
  least: number
  values: readonly string[]
}[] = [
  {
    sentence: 'a quantity that is negative, too large for etcd or invalid',
    isMeant: (field) => rulesOf(field).includes('isQuantity'),
    least: 20,
    values: ['-1Gi', '-1', '8Ei', '10Ei', '9999Pi', '99999999999999999999', 'lots', ''],
  },
  {
    sentence: 'a size or a limit of zero',
    isMeant: (field) => rulesOf(field).includes('isQuantity') && !/quota/i.test(field.path),
    least: 15,
    values: ['0', '0Gi', '0m', '1n'],
  },
  {
    sentence: 'a storage class with an invalid name',
    isMeant: ({ path }) => path.endsWith('.storageClass'),
    least: 3,
    values: ['Not A Class!', 'a/b', '..', '-a', 'a_b'],
  },
  {
    sentence: 'an origin or a header that browsers do not send',
    isMeant: ({ path }) => /corsRules\.(origins|headers)$/.test(path),
    least: 2,
    values: ['**', ' ', 'a b', '\n'],
  },
  {
    sentence: 'a schedule that never runs',
    // For a list item, the code that uses it calls `everRuns`.
    isMeant: (field) => /schedule$/i.test(field.path) && rulesOf(field) !== '[]',
    least: 3,
    values: NEVER,
  },
  {
    sentence: "a person's name with a character that a mail header cannot contain",
    isMeant: ({ path }) => /\.(firstName|lastName)$/.test(path),
    least: 4,
    values: ['a\u0000', 'a\u0007b', 'a\r\nBcc: x', 'a\u0085b', '', ' '],
  },
  {
    sentence: 'an invalid email address, or several',
    isMeant: ({ path }) => path.endsWith('.email'),
    least: 3,
    values: [
      '',
      'ada',
      'ada@',
      '@example.com',
      'a@b.example, c@d.example',
      'a@b.example\nBcc: c@d.example',
      'A <a@b.example>',
    ],
  },
  {
    sentence: 'an argument, a command or a variable with a NUL',
    isMeant: ({ path }) => isProcessText(path),
    least: 20,
    values: ['\u0000', 'a\u0000b', 'a\n\u0000'],
  },
  {
    sentence: 'an invalid branch or tag',
    isMeant: ({ path }) => /\.(branch|\w*Branch(es)?|ref)$/.test(path),
    least: 7,
    values: ['', ...GIT_NAMES.impossible.map(([, name]) => name)],
  },
  {
    sentence: 'an invalid repository name',
    isMeant: ({ path }) => /\.repository(Full)?Name$/.test(path),
    least: 1,
    values: ['', ...REPOSITORY_NAMES.impossible.map(([, name]) => name)],
  },
  {
    sentence: 'an invalid URL',
    isMeant: ({ path }) => /(url|endpoint|\.issuer)$/i.test(path) && !SHOWN_ADDRESSES.includes(path),
    least: 10,
    values: [
      '',
      'x',
      'shop.example.com',
      '//shop.example.com',
      'https://',
      'https:// shop',
      'javascript:alert(1)',
      'file:///x',
    ],
  },
  {
    sentence: 'an invalid host name',
    isMeant: ({ path }) => /(host|domains?)$/i.test(path),
    least: 6,
    values: [
      '',
      ' ',
      '.',
      'a..b',
      '.example.com',
      '-a.example.com',
      'a_b.example.com',
      'a b.com',
      'a/b',
      '*',
      'x'.repeat(254),
    ],
  },
  {
    sentence: 'an invalid id',
    isMeant: ({ path, schema }) =>
      /(Id|Ids)$/.test(path) && schema.safeParse(ID).success && !FOREIGN_IDS.includes(path),
    least: 25,
    values: ['', 'nope', `{${ID}}`, ID.replaceAll('-', ''), `${ID}0`, ID.replace('7', 'g'), `urn:uuid:${ID}`],
  },
  {
    sentence: 'an invalid date',
    isMeant: ({ path }) => /(At|Until|Time|notBefore|expiresOn)$/.test(path),
    least: 20,
    values: [
      ...['', 'tomorrow', '2026-01-31', '2026-01-31T12:00:00', '2026-01-31 12:00:00Z', '12:00', '1769860800'],
      ...['2026-02-30T12:00:00Z', '2026-13-01T12:00:00Z', '2026-01-31T25:00:00Z', '2026-01-31T12:00:00+25:00'],
    ],
  },
  {
    sentence: 'a parameter with a line break or a backslash',
    isMeant: ({ path }) => path === 'RelationalCluster.parameters',
    least: 1,
    values: ["on'\\", 'a\\nb', 'a\nb', 'a\r', 'a\u0000', '\u0085', 'x'.repeat(1025)],
  },
]

describe('schemas and rules of all kinds', () => {
  it('accept line breaks and control characters except NUL in arguments and variables', () => {
    for (const { path, schema } of FIELDS.filter((field) => isProcessText(field.path)))
      for (const text of ['set -e\n\techo "ü 🙂"\r\n', '\u001b[31m', 'a\u0007\u007f\u0085', '-'])
        expect(schema.safeParse(text).success, `${path}: ${JSON.stringify(text)}`).to.equal(true)
  })

  for (const kind of KINDS.filter(({ spec }) => 'allowedCidrs' in spec.shape))
    it(`reject invalid networks: ${kind.kind}`, () => {
      const { next = {} } = RULE_CASES.find((one) => one.kind === kind && one.refused.length === 0) ?? {}
      const spec = kind.spec.parse(next)
      const accepted = NO_NETWORKS.filter((allowedCidrs) => {
        const broken = brokenRules(kind as never, { ...spec, allowedCidrs } as never)
        return !broken.some(({ field }) => field === 'allowedCidrs')
      })
      expect(accepted).to.deep.equal([])
    })

  it('everRuns rejects schedules that never run', () => {
    expect([...NEVER, '0 2 * * *'].filter(everRuns)).to.deep.equal(['0 2 * * *'])
  })

  for (const name of [
    'include',
    'include_dir',
    'include_if_exists',
    'ssl',
    'ssl_ca_file',
    'recovery_target_time',
    'archive_command',
    'restore_command',
    'shared_preload_libraries',
    'Work_Mem',
    'a b',
    'a\nb',
    "x'",
    '',
  ]) {
    it(`reject the parameter name ${JSON.stringify(name)}`, () => {
      const wrong = { ...RELATIONAL, parameters: { work_mem: '64MB', [name]: 'on' } }
      expect(brokenRules(RelationalCluster, RELATIONAL)).to.deep.equal([])
      expect(brokenRules(RelationalCluster, wrong).map(({ field }) => field)).to.include('parameters')
    })
  }

  for (const { sentence, isMeant, least, values } of CLASSES) {
    const fields = FIELDS.filter(isMeant)

    it(`reject ${sentence}`, () => {
      expect(fields.length, fields.map(({ path }) => path).join(' ')).to.be.at.least(least)
      const accepted = fields.flatMap(({ path, schema }) =>
        values.filter((value) => schema.safeParse(value).success).map((value) => `${path}: ${JSON.stringify(value)}`),
      )
      expect(accepted).to.deep.equal([])
    })
  }
})
