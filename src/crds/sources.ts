import { z } from 'zod'
import { Head } from '../contracts/sources/events.ts'
import { DELIVERY_KEYS_KEPT, HEADS_KEPT } from '../contracts/sources/journal.ts'
import { PROVIDERS, type Provider } from '../contracts/sources/providers.ts'
import { OUTGOING_URL_PATTERNS, PAGE_URL } from '../core/outgoingUrl.ts'
import { defineKind, type ObjectOf, partColumns, type Rule, statusWith } from './define.ts'
import { DateTime, DisplayName, integerBetween, matching, ObjectName, On, PlainText } from './fields.ts'
import { BranchName } from './gitFields.ts'
import { denyDeleteWhileHeld, HeldBy, HOLDERS_SHOWN_MAX } from './holders.ts'
import { secretAdmission } from './referenceAdmission.ts'

/** https, or ssh for plain Git. Whether an address may be called is checked at each call. */
export const SourceUrl = z
  .string()
  .min(9)
  .max(2048)
  .regex(OUTGOING_URL_PATTERNS.source, 'must be an https or ssh address without a password, a query or a fragment')

const PageUrl = matching(2048, PAGE_URL, 'must be an http or https address without a user')

/** Name of a person, a group or an organization at a provider. */
export const AccountName = z
  .string()
  .min(1)
  .max(128)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._/-]*$/, 'must be letters, digits, dots, hyphens, underscores and slashes')

const UserName = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[!-9;-~]+$/, 'must be ASCII characters without spaces and colons')

export const VISIBILITIES = ['Private', 'Boundary'] as const

export const CircuitSettings = z.strictObject({
  enabled: On.describe('Whether repositories can be created, tokens issued, and pushes fetched and deployed'),
  defaultVisibility: z
    .enum(VISIBILITIES)
    .default('Private')
    .describe(
      'Intended users of a new repository: Private is this source, Boundary every source of the boundary. Only recorded: this source alone reads either kind',
    ),
  defaultBranch: BranchName.max(100).default('main').describe('The first branch of a new repository'),
  sizeLimitMegabytes: integerBetween(10, 10240)
    .default(1024)
    .describe('Total size of repositories, in megabytes, above which no repository can be created'),
  allowPush: On.describe('Whether tokens of the source may push'),
})
export type CircuitSettings = z.output<typeof CircuitSettings>

const spec = z.strictObject({
  provider: z
    .enum(PROVIDERS)
    .describe('Type of the provider; Circuit is the Git host that the platform runs; immutable'),
  displayName: DisplayName,
  baseUrl: SourceUrl.describe(
    'Address of the provider, such as https://gitlab.com, of the repository for Git, of the registry for Registry; immutable, because credentials are sent there',
  ),
  organization: AccountName.optional().describe('Organization, group or workspace at the provider; immutable'),
  username: UserName.optional().describe('User name for the password or token, if one is needed; immutable'),
  credentials: z
    .strictObject({
      secretName: ObjectName.describe(
        'A Secret of this namespace: token, password or private-key, with webhook-secret for deliveries and known-hosts for ssh',
      ),
    })
    .optional()
    .describe('Credentials of the platform; absent only until a GitHub App or a Git host has issued them'),
  installationId: matching(64, /^[0-9]+$/, 'must be a number')
    .optional()
    .describe('Installation of the GitHub App; set once'),
  circuit: CircuitSettings.optional().describe('Settings of a Circuit; only for provider Circuit'),
  install: z
    .strictObject({
      step: z.enum(['Register', 'Install']).describe('Register creates the GitHub App, Install gives it repositories'),
      stateHash: PlainText.max(64).describe('SHA-256 of the state that the provider sends back, in hex'),
      expiresAt: DateTime.describe('When the state expires'),
      returnUrl: PageUrl.optional().describe('Where the browser is sent at the end'),
    })
    .optional()
    .describe('An installation in progress; written by the platform only, and removed when its state is used'),
})
type Spec = z.output<typeof spec>

const isInstalled = ({ provider }: Spec) => provider === 'GitHub' || provider === 'Circuit'

function onlyForProvider(
  owner: Provider,
  field: 'circuit' | 'installationId',
  message: string,
  code?: Rule<Spec>['code'],
): Rule<Spec> {
  const cel = `self.provider == '${owner}' || !has(self.${field})`
  return { cel, message, code, field, test: (next) => next.provider === owner || next[field] === undefined }
}

const rules: Rule<Spec>[] = [
  {
    cel: "self.provider in ['GitHub', 'Circuit'] || has(self.credentials)",
    message: 'credentials are required for this provider',
    code: 'missing-credential',
    field: 'credentials',
    test: (next) => isInstalled(next) || next.credentials !== undefined,
  },
  {
    cel: "self.provider != 'Circuit' || !has(self.credentials)",
    message: 'the platform makes the credentials of a Circuit',
    field: 'credentials',
    test: ({ provider, credentials }) => provider !== 'Circuit' || credentials === undefined,
  },
  {
    cel: "self.provider != 'Bitbucket' || has(self.organization)",
    message: 'organization is required for Bitbucket: it is the workspace',
    field: 'organization',
    test: ({ provider, organization }) => provider !== 'Bitbucket' || organization !== undefined,
  },
  {
    cel: "self.provider == 'Git' || self.baseUrl.startsWith('https://')",
    message: 'ssh is for provider Git only',
    field: 'baseUrl',
    test: ({ provider, baseUrl }) => provider === 'Git' || baseUrl.startsWith('https://'),
  },
  onlyForProvider('Circuit', 'circuit', 'circuit is for provider Circuit only', 'not-a-circuit'),
  onlyForProvider('GitHub', 'installationId', 'only GitHub has installations'),
  {
    cel: '!has(oldSelf.installationId) || (has(self.installationId) && self.installationId == oldSelf.installationId)',
    message: 'installationId cannot be changed once it is set',
    field: 'installationId',
    test: (next, previous) => previous.installationId === undefined || next.installationId === previous.installationId,
  },
]

const head = Head.omit({ before: true }).extend({
  deliveryId: z.string().describe('The delivery that reported it'),
  receivedAt: DateTime.describe('When it was received'),
  missing: z
    .object({
      from: z.string().optional().describe('Commit of the ref before them; absent if unknown'),
      to: z.string().describe('Commit of the ref after them'),
    })
    .optional()
    .describe('Earlier pushes that were not delivered yet; their delivery no longer moves the ref'),
})

/** A connection to a provider of code or images. */
export const DeploymentSource = defineKind({
  group: 'delivery',
  kind: 'DeploymentSource',
  restNaming: { collection: 'sources' },
  shortNames: ['dsrc'],
  placement: 'boundary',
  name: 'uuid',
  area: 'sources',
  aggregate: true,
  actions: 'kernel/deployments',
  // A build with its credentials shows what they give access to, as a token does.
  forms: { 'kernel/deployments/token': ['use'] },
  description:
    'A connection of a boundary to a Git host or registry. Its name is a uuid; its credentials are in a Secret.',
  spec,
  status: statusWith({
    accountName: z.string().describe('Account of the credentials at the provider'),
    accountType: z.enum(['User', 'Organization']).describe('Type of that account'),
    repositoryCount: z.int().describe('Repositories that the credentials reach, counted up to 1000'),
    installation: z
      .object({
        avatarUrl: z.string().optional().describe('Picture of the account'),
        repositorySelection: z.enum(['All', 'Selected']).describe('Whether new repositories are included'),
        permissions: z.record(z.string(), z.string()).describe('Permissions of the credentials, by subject'),
        suspendedAt: DateTime.optional().describe('Since when it is suspended at the provider'),
        createdAt: DateTime.optional().describe('When it was created at the provider'),
      })
      .describe('Data of the provider about the installation, or about the credentials'),
    hostKey: z
      .string()
      .describe(
        'With ssh: the key that the host showed first, as in known_hosts. Another key is refused unless known-hosts in the Secret contains it',
      ),
    heldBy: HeldBy.describe(
      `Resources that use it, as \`<group>/<resource>/<name>\`, at most ${HOLDERS_SHOWN_MAX}: it cannot be deleted while there are any`,
    ),
    hasWebhookSecret: z.boolean().describe('Whether deliveries can be verified'),
    lastCheckedAt: DateTime.describe('When the provider was last asked'),
    lastEventAt: DateTime.describe('When a verified delivery was last received'),
    removedAt: DateTime.describe('When the provider reported that the installation was removed'),
    heads: z
      .array(head)
      .max(HEADS_KEPT)
      .describe(
        'Newest commits of refs, as deliveries reported them: one entry for each ref, at most 100, the least active is removed first',
      ),
    deliveries: z
      .array(z.string().max(32))
      .max(DELIVERY_KEYS_KEPT)
      .describe('Hashes of the ids and contents of the last 300 deliveries, to detect repeated ones'),
  }),
  immutable: ['provider', 'baseUrl', 'organization', 'username'],
  protectedFields: { install: 'administrators' },
  rules,
  admission: [
    denyDeleteWhileHeld('is still used by resources', 'give them another source, or delete them first'),
    // baseUrl, to which they are sent, is immutable.
    secretAdmission('credentials'),
  ],
  columns: partColumns(
    { name: 'Provider', path: '.spec.provider' },
    { name: 'Display Name', path: '.spec.displayName' },
    { name: 'Account', path: '.status.accountName' },
    { name: 'Last Event', path: '.status.lastEventAt', type: 'date' },
    { name: 'URL', path: '.spec.baseUrl', priority: 1 },
  ),
})
export type DeploymentSource = ObjectOf<typeof DeploymentSource>
