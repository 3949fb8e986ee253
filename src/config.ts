import { readFileSync } from 'node:fs'
import { load } from 'js-yaml'
import { z } from 'zod'
import { activatorSettings } from './config/activator.ts'
import { buildSettings } from './config/builds.ts'
import { between, Flag, List, Networks, OptionalText, Port, Positive, Url, Whole } from './config/fields.ts'
import { lifecycleSettings } from './config/lifecycle.ts'
import { objectStoreSettings } from './config/objectStore.ts'
import { podSettings } from './config/pods.ts'
import { registrySettings } from './config/registry.ts'
import { LOG_LEVELS } from './core/log.ts'
import { reasonOf } from './core/reasonOf.ts'
import { REQUEST_LIMITS } from './core/requestLimits.ts'

export const ROLES = ['facade', 'controllers', 'activator', 'all', 'agent'] as const

/**
 * The whole configuration: every name is also an environment variable, `PLATFORM_` and the name in upper snake case
 * (`facadePort` is `PLATFORM_FACADE_PORT`). The reference page is generated from the descriptions.
 */
export const Configuration = z.strictObject({
  role: z.enum(ROLES).default('all').describe('Which parts this process runs'),
  logLevel: z.enum(LOG_LEVELS).default('info').describe('What is logged: this level and the graver ones'),

  kubeconfig: OptionalText.describe('Path of a kubeconfig; in-cluster credentials when absent'),
  facadeContext: OptionalText.describe('Context of that file for the facade; the current one when absent'),
  controllersContext: OptionalText.describe('Context of that file for the controllers'),

  facadeHost: z.string().default('0.0.0.0').describe('Address on which the facade listens for callers'),
  facadePort: Port.default(8080).describe('Port on which it does; 0 takes any that is free'),
  publicUrl: Url.optional().describe('How callers reach the facade; used in links'),
  managementHost: z
    .string()
    .default('0.0.0.0')
    .describe('Where /livez, /readyz and /metrics listen, apart from the public port'),
  managementPort: Port.default(9090).describe('Port of that'),
  requestsPerMinute: Positive.default(REQUEST_LIMITS.requestsPerMinute).describe(
    'Per principal, a sixth of them at once; over it: 429',
  ),
  answerBytesPerSecond: Positive.default(REQUEST_LIMITS.answerBytesPerSecond).describe(
    'Per principal or address, on average, of answers over 64 KiB; over it: 429',
  ),
  uploadBytesPerSecond: Whole.min(1_048_576)
    .default(REQUEST_LIMITS.uploadBytesPerSecond)
    .describe(
      "Per principal or address, on average, of uploads, eight seconds' worth at once; what comes faster is read more slowly",
    ),
  anonymousRequestsPerMinute: Positive.default(REQUEST_LIMITS.anonymousRequestsPerMinute).describe(
    'Per address, on routes without a token and for refused tokens; deliveries of Git hosts count until their signature is verified',
  ),
  staleReadSeconds: Whole.min(0)
    .default(60)
    .describe(
      'While the API server cannot be heard: how long reads are answered, with their age, before they are refused with 503 and /readyz fails',
    ),
  apiServerTimeoutSeconds: between(1, 120)
    .default(8)
    .describe('How long the facade waits for an answer of the API server before it says 503'),
  drainSeconds: between(0, 60)
    .default(0)
    .describe(
      'How long a facade that was told to stop goes on answering, so that load balancers learn of it first; its answers close their connections, and /readyz fails',
    ),
  trustedProxies: List.default([]).describe('Addresses or networks whose X-Forwarded-For is believed'),

  identityProvider: z
    .enum(['local', 'keycloak', 'external'])
    .default('external')
    .describe(
      'local serves tokens from PlatformClient and PlatformUser objects; keycloak administers people, tenants and their identity providers in a realm; external only believes the issuer',
    ),
  issuer: Url.or(z.literal(''))
    .default('')
    .describe('Exactly the iss claim of accepted tokens; all roles but agent need it'),
  realm: z
    .string()
    .min(1)
    .max(63)
    .default('freehold')
    .describe('Realm that the platform administers at the identity provider; part of the paths of the local one'),
  audience: z
    .string()
    .min(1)
    .default('platform-kubernetes-client')
    .describe('What the aud claim of accepted tokens must hold'),
  jwksUrl: Url.optional().describe("Where the issuer's keys are; its well-known place when absent"),
  issuerCertificateAuthority: OptionalText.describe(
    'Path of a PEM bundle that the issuer, and the administration of Keycloak, are verified with',
  ),
  browserClientId: z
    .string()
    .min(1)
    .max(255)
    .optional()
    .describe(
      'Public client at an identity provider that is not local, with PKCE and the redirect address `<publicUrl>/invitations/accept/signed-in`; with it people accept invitations in a browser',
    ),
  keycloakUrl: Url.optional().describe(
    'Where Keycloak is administered, without the path of a realm; from the issuer when absent',
  ),
  keycloakClientId: z
    .string()
    .min(1)
    .max(255)
    .optional()
    .describe(
      'Service account with the roles manage-users, manage-identity-providers, manage-realm and view-realm of realm-management',
    ),
  keycloakClientSecretFile: OptionalText.describe('Path of a file that holds its secret'),
  keycloakAdminRealm: z
    .string()
    .min(1)
    .max(63)
    .optional()
    .describe('Realm that the service account belongs to; the realm itself when absent'),
  identityHost: z
    .string()
    .default('127.0.0.1')
    .describe('The local provider binds loopback only unless told otherwise'),
  identityHttpsPort: Port.default(8443).describe('Port of the local provider for people and their tokens'),
  identityHttpPort: Port.default(8081).describe(
    'Port of its token endpoint without TLS, for services on the same host',
  ),
  identityCertificate: OptionalText.describe('Path of a PEM certificate for the https side of the local provider'),
  identityKey: OptionalText.describe('Path of its PEM key'),
  accessTokenSeconds: Positive.default(900).describe('For how long a token of the local provider is good'),

  smtpUrl: z
    .url({ protocol: /^smtps?$/ })
    .optional()
    .describe(
      'Mail server for invitations and password resets, with its credentials: smtps://user:password@host:465, or smtp:// with STARTTLS',
    ),
  mailFrom: z.string().min(3).max(254).default('freehold@localhost').describe('Sender of mails'),
  mailFolder: OptionalText.describe('Folder in which mails are laid as files instead, for trying things; smtpUrl wins'),
  invitationResends: Whole.min(0).default(3).describe('How often an invitation is sent again freely'),
  invitationResendHours: Positive.default(24).describe(
    'After those, once more whenever so many hours have passed since the last',
  ),
  outgoingHosts: List.default([]).describe(
    'Hosts, with their port if it is not 443, that may be called although they are not on the Internet: identity providers of tenants inside your own network. All others must have public addresses',
  ),
  outgoingCertificateAuthority: OptionalText.describe(
    'Path of a PEM bundle that hosts of tenants are verified with (deployment sources, identity providers, registries of charts), beside what Node trusts',
  ),
  circuitUrl: z
    .url({ protocol: /^https$/ })
    .optional()
    .describe(
      'The Gitea that the platform runs for deployment sources of type circuit; they wait with EngineMissing when absent',
    ),
  circuitTokenFile: OptionalText.describe(
    'Path of a file with a token of its administrator, scopes write:admin and write:user; read at each use',
  ),
  webhookHost: z.string().default('0.0.0.0').describe('Where the API server asks the facade; https only'),
  webhookPort: Port.default(9443).describe('Port of that'),
  webhookCertificate: OptionalText.describe('Path of a PEM certificate for the webhooks; nothing listens when absent'),
  webhookKey: OptionalText.describe('Path of its PEM key'),
  webhookClientAuthority: OptionalText.describe(
    "Path of the PEM bundle that the API server's client certificate is verified with",
  ),

  agentPort: Port.optional().describe('Port on which agents of other clusters call; without it none can join'),
  agentHost: z.string().default('0.0.0.0').describe('Address on which they do'),
  agentUrl: Url.optional().describe('How agents reach that port, as join tokens tell them; https'),
  agentPeerHost: z
    .string()
    .default('127.0.0.1')
    .describe('Address at which other processes of the platform reach that port of this one; of a pod its own'),
  agentHub: Url.optional().describe('Of the role agent: the agentUrl of the platform to join'),
  agentFingerprint: z
    .string()
    .regex(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/, 'expected the SHA-256 of a certificate, as hexadecimal pairs')
    .optional()
    .describe("Of the role agent: fingerprint of the platform's authority, as the join token came with"),
  agentToken: z.string().min(1).max(256).optional().describe('Of the role agent: the join token, needed once'),

  auditWebhook: Flag.default(false).describe(
    'Whether the API server sends its audit log to the webhooks, so that activity tells who used kubectl; else the watch tells what it can',
  ),
  webhookOwnAuthority: Flag.default(false).describe(
    'Without webhookCertificate: keep an authority in a Secret and put it into the webhook configuration freehold-iam',
  ),

  ...activatorSettings,
  leaderElection: Flag.default(true).describe(
    'Whether replicas agree on one that runs the controllers; false where there is only one',
  ),
  projectRbac: Flag.default(true).describe(
    'Whether assignments are written as RoleBindings, for API servers that do not ask the facade',
  ),
  closedNetworks: List.default([]).describe(
    "Networks that pods of tenants do not reach, as CIDRs, such as the API server's addresses (see apiServerNetworks); those of clouds' credentials are always closed",
  ),
  apiServerNetworks: Networks.default([]).describe(
    'Where the API server is, by Service and by itself, if closedNetworks closes it: instances of relational databases ask it. Such as 10.96.0.1/32@443 and 10.1.2.3/32@6443',
  ),
  objectsPerBoundary: Positive.default(5_000).describe(
    'How many objects of our kinds a boundary may hold in its own namespace, and as many in all its groups together; one of more than 16 KiB counts once for each 16 KiB. Over it: 422 QUOTA_EXCEEDED',
  ),
  ...podSettings,
  workersPerController: between(2, 64)
    .default(8)
    .describe(
      'Objects of a kind that are worked on at once; of one boundary half of them at most, and one less than all in other clusters, which may be slow',
    ),
  engines: z
    .enum(['real', 'simulated'])
    .default('real')
    .describe('simulated: pods are simulated and no engine answers, as in the embedded control plane'),
  playedEngines: OptionalText.describe(
    'While engines are simulated: path of a JSON file of SQL engines that really run, by host; for tests',
  ),
  engineAccess: z
    .enum(['service', 'proxy'])
    .default('service')
    .describe("How engines are reached: cluster DNS, or the API server's proxy from outside"),
  ...objectStoreSettings,
  ...registrySettings,
  ...lifecycleSettings,
  ...buildSettings,
  clusterDomain: z
    .string()
    .default('freehold.localhost')
    .describe('Suffix of default host names, for the PlatformCluster made at install'),
  region: z.string().default('').describe('Where the cluster is, for the PlatformCluster made at install'),
  vaultKeysFile: OptionalText.describe(
    'Path of the platform keys that wrap the data keys of secret vaults: a JWK set of symmetric keys of 256 bits, oldest first; the last one wraps. Read again when it changes',
  ),
  allowOwnImages: Flag.default(false).describe('Whether a resource may name an image of its own'),
  filesImage: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Image of the pods through which files of volumes are read and written: one that holds this program. The image of the facade itself when absent; needed where the facade does not run in a pod',
    ),
  backupBucket: z
    .string()
    .min(1)
    .max(63)
    .optional()
    .describe('Bucket for backups of databases; none are taken when absent'),
  backupEndpoint: Url.optional().describe("Where the bucket is, speaking S3; the provider's own place when absent"),
  backupPrefix: z.string().max(256).default('').describe('Folder in the bucket'),
  backupRegion: z.string().max(63).optional().describe('Region of the bucket, where its store has regions'),
  backupNamespace: z
    .string()
    .max(63)
    .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/, 'must be the name of a namespace')
    .default('velero')
    .describe('Where Velero is, which backs up volumes of container instances to its default BackupStorageLocation'),
  prometheusUrl: Url.optional().describe(
    'Prometheus that measures pods, volumes, engines and the Traefik of the Gateway, such as http://prometheus.monitoring:9090. Without it web metrics of apps stay empty, and routes of monitoring answer ENGINE_MISSING',
  ),
  otlpEndpoint: Url.optional().describe(
    'Collector of OpenTelemetry that takes traces of requests by OTLP over HTTP, such as http://collector:4318; nothing is traced when absent',
  ),
  traceRatio: z.coerce.number().min(0).max(1).default(1).describe('Part of the traces begun here that is sent there'),
  simulated: List.default([]).describe('What /version lists as played'),

  commit: z.string().default('unknown').describe('What /version shows; the image sets it'),
  builtAt: z.string().default('1970-01-01T00:00:00Z').describe('What /version shows; the image sets it'),
})
/** All roles but agent verify tokens, and need their issuer. */
const OfPlatform = Configuration.extend({ issuer: Url })
export type Configuration = z.output<typeof Configuration>

const PREFIX = 'PLATFORM_'
/** Variables with our prefix that belong to the command-line client (interface section 5). */
const CLIENT_VARIABLES = new Set([
  'PLATFORM_TOKEN',
  'PLATFORM_CLIENT_ID',
  'PLATFORM_CLIENT_SECRET',
  'PLATFORM_CONFIG_FILE',
])

export class ConfigurationError extends Error {}

export function variableName(field: string): string {
  return `${PREFIX}${field.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`
}

/**
 * Reads the configuration: an optional YAML file named by PLATFORM_CONFIG_FILE, variables over it, flags over both.
 *
 * @throws ConfigurationError naming each unknown or wrong entry; nothing is guessed
 */
export function readConfiguration(
  environment: Record<string, string | undefined>,
  flags: Record<string, string> = {},
): Configuration {
  const file = environment.PLATFORM_CONFIG_FILE
  const ofFile = file === undefined ? {} : readFile(file)
  const given = { ...readVariables(environment), ...flags }
  const whole = { ...ofFile, ...given } as { role?: unknown }
  const schema = whole.role === 'agent' ? Configuration : OfPlatform
  const parsed = schema.safeParse(whole, { reportInput: true })
  const empty = Object.keys(whole).filter((name) => isNoNumber(name, (whole as Record<string, unknown>)[name]))
  if (parsed.success && empty.length === 0) return parsed.data
  const isInFile = (name: string) => name in ofFile && !(name in given)
  const placeOf = (name: string) => (isInFile(name) ? `"${name}" in ${file}` : variableName(name))
  const others = parsed.error?.issues.filter(({ path }) => !empty.includes(path.join('.'))) ?? []
  const problems = others.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') return issue.keys.map((name) => `${placeOf(name)} is not a setting.`)
    return [`${placeOf(issue.path.join('.'))} ${reasonOf(issue)}.`]
  })
  problems.push(...empty.map((name) => `${placeOf(name)} must be a number.`))
  throw new ConfigurationError(
    `The configuration cannot be used:\n  ${problems.join('\n  ')}\ndocs/reference/configuration.md lists all settings.`,
  )
}

/** Whether a setting must be a number, but has a value that would be coerced to one: an empty text, or true. */
function isNoNumber(name: string, value: unknown): boolean {
  const isWritten = typeof value === 'number' || (typeof value === 'string' && value.trim() !== '')
  return !isWritten && isOfNumber((Configuration.shape as Record<string, z.ZodType>)[name])
}

function isOfNumber(schema: z.ZodType | undefined): boolean {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return isOfNumber(schema.unwrap() as z.ZodType)
  return schema instanceof z.ZodNumber
}

function readFile(path: string): Record<string, unknown> {
  const content = load(readFileSync(path, 'utf8'))
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    throw new ConfigurationError(`${path}: expected a mapping of configuration names to values.`)
  }
  return content as Record<string, unknown>
}

/** Returns the variables that are meant for the platform, unknown ones included. */
export function settingsIn(environment: Record<string, string | undefined>): Record<string, string> {
  const isMeant = ([name, value]: [string, string | undefined]) =>
    name.startsWith(PREFIX) && value !== undefined && !CLIENT_VARIABLES.has(name)
  return Object.fromEntries(Object.entries(environment).filter(isMeant)) as Record<string, string>
}

function readVariables(environment: Record<string, string | undefined>): Record<string, string> {
  const fields = new Map(Object.keys(Configuration.shape).map((field) => [variableName(field), field]))
  const entries: Record<string, string> = {}
  const unknown: string[] = []
  for (const [name, value] of Object.entries(settingsIn(environment))) {
    const field = fields.get(name)
    if (field === undefined) unknown.push(name)
    else entries[field] = value
  }
  if (unknown.length > 0)
    throw new ConfigurationError(
      `Unknown variables: ${unknown.sort().join(', ')}. See docs/reference/configuration.md.`,
    )
  return entries
}

/** Returns what may be shown: without the object store's key, the token of an agent, and credentials in URLs. */
export function withoutSecrets(configuration: Configuration): Configuration {
  const shown = Object.entries(configuration).map(([name, value]) => [name, shownValue(name, value)])
  return Object.fromEntries(shown) as Configuration
}

function shownValue(name: string, value: unknown): unknown {
  if (typeof value !== 'string' || value === '') return value
  if (name === 'objectStoreSecretAccessKey' || name === 'agentToken') return 'redacted'
  const url = value.includes('@') ? URL.parse(value) : null
  if (url === null) return value
  // A user name without a password is a token.
  if (url.password !== '') url.password = 'redacted'
  else if (url.username !== '' && name !== 'smtpUrl') url.username = 'redacted'
  return url.href
}
