import { readFileSync } from 'node:fs'
import { load } from 'js-yaml'
import { z } from 'zod'
import { activatorSettings } from './config/activator.ts'
import { agentSettings } from './config/agents.ts'
import { buildSettings } from './config/builds.ts'
import {
  Cidrs,
  Flag,
  Hosts,
  HttpsUrl,
  Image,
  IntegerSetting,
  integerSettingInRange,
  List,
  Networks,
  OptionalText,
  Port,
  PositiveIntegerSetting,
  Proxies,
  Url,
} from './config/fields.ts'
import { lifecycleSettings } from './config/lifecycle.ts'
import { namespaceSettings } from './config/namespaces.ts'
import { objectStoreSettings } from './config/objectStore.ts'
import { podSettings } from './config/pods.ts'
import { registrySettings } from './config/registry.ts'
import { LOG_LEVELS } from './core/log.ts'
import { DOMAIN } from './core/names.ts'
import { REQUEST_LIMITS } from './core/requestLimits.ts'
import { describeIssue } from './core/schemaIssues.ts'

export const ROLES = ['facade', 'controllers', 'activator', 'all', 'agent'] as const

/**
 * The whole configuration: every name is also an environment variable, `PLATFORM_` and the name in upper snake case
 * (`facadePort` is `PLATFORM_FACADE_PORT`). The reference page is generated from the descriptions.
 */
export const Configuration = z.strictObject({
  role: z.enum(ROLES).default('all').describe('Which parts this process runs'),
  logLevel: z.enum(LOG_LEVELS).default('info').describe('Lowest level that is logged'),

  kubeconfig: OptionalText.describe('Path of a kubeconfig; in-cluster credentials when absent'),
  facadeContext: OptionalText.describe('Context of that file for the facade; the current one when absent'),
  controllersContext: OptionalText.describe('Context of that file for the controllers'),

  facadeHost: z.string().default('0.0.0.0').describe('Address on which the facade listens for callers'),
  facadePort: Port.default(8080).describe('Port on which it listens; 0 chooses a free one'),
  publicUrl: Url.optional().describe('URL at which callers reach the facade; used in links'),
  managementHost: z
    .string()
    .default('0.0.0.0')
    .describe('Address on which /livez, /readyz and /metrics are served, separate from the public port'),
  managementPort: Port.default(9090).describe('Port on which they are served'),
  requestsPerMinute: PositiveIntegerSetting.default(REQUEST_LIMITS.requestsPerMinute).describe(
    'Maximum requests of a principal per minute, with bursts of a sixth of that; beyond it, 429',
  ),
  answerBytesPerSecond: PositiveIntegerSetting.default(REQUEST_LIMITS.answerBytesPerSecond).describe(
    'Maximum average rate of answers over 64 KiB, per principal or address; beyond it, 429',
  ),
  uploadBytesPerSecond: IntegerSetting.min(1_048_576)
    .default(REQUEST_LIMITS.uploadBytesPerSecond)
    .describe(
      'Maximum average rate of uploads, per principal or address, with bursts of eight seconds; faster uploads are slowed down',
    ),
  anonymousRequestsPerMinute: PositiveIntegerSetting.default(REQUEST_LIMITS.anonymousRequestsPerMinute).describe(
    'Maximum requests of an address per minute without a valid token; deliveries of Git hosts count until their signature is verified',
  ),
  staleReadSeconds: IntegerSetting.min(0)
    .default(60)
    .describe(
      'How long reads are answered from the cache, with their age, while the API server is unreachable; then they get 503 and /readyz fails',
    ),
  apiServerTimeoutSeconds: integerSettingInRange(1, 120)
    .default(8)
    .describe('How long the facade waits for the API server before it answers 503'),
  drainSeconds: integerSettingInRange(0, 60)
    .default(0)
    .describe(
      'How long a stopping facade or activator continues to answer, so that load balancers notice; meanwhile the answers of a facade close connections, and /readyz fails',
    ),
  trustedProxies: Proxies.default([]).describe(
    'Addresses or networks whose X-Forwarded-For header is trusted; none of those that pods of tenants can have, or they could claim any address',
  ),

  identityProvider: z
    .enum(['local', 'keycloak', 'external'])
    .default('external')
    .describe(
      'local issues tokens for PlatformClient and PlatformUser objects; keycloak manages people, tenants and their identity providers in a realm; external only trusts the issuer',
    ),
  issuer: Url.or(z.literal(''))
    .default('')
    .describe('Exact iss claim of accepted tokens; required for all roles but agent'),
  realm: z
    .string()
    .min(1)
    .max(63)
    .default('freehold')
    .describe('Realm that the platform manages at the identity provider; part of the paths of the local one'),
  audience: z
    .string()
    .min(1)
    .default('platform-kubernetes-client')
    .describe('Audience that the aud claim of accepted tokens must contain'),
  jwksUrl: Url.optional().describe("URL of the issuer's keys; found by discovery when absent"),
  issuerCertificateAuthority: OptionalText.describe(
    'Path of a PEM bundle of authorities for the certificate of the issuer, instead of those that Node trusts; for that of Keycloak, besides these',
  ),
  browserClientId: z
    .string()
    .min(1)
    .max(255)
    .optional()
    .describe(
      'Public client at a non-local identity provider, with PKCE and the redirect URI `<publicUrl>/invitations/accept/signed-in`; lets people accept invitations in a browser',
    ),
  keycloakUrl: Url.optional().describe(
    'URL of the Keycloak server, without a realm; derived from the issuer when absent',
  ),
  keycloakClientId: z
    .string()
    .min(1)
    .max(255)
    .optional()
    .describe(
      'Service account with the roles manage-users, manage-identity-providers, manage-realm and view-realm of realm-management',
    ),
  keycloakClientSecretFile: OptionalText.describe('Path of a file with the secret of keycloakClientId'),
  keycloakAdminRealm: z
    .string()
    .min(1)
    .max(63)
    .optional()
    .describe('Realm of the service account; the managed realm when absent'),
  identityHost: z.string().default('127.0.0.1').describe('Address on which the local provider listens'),
  identityHttpsPort: Port.default(8443).describe('HTTPS port of the local provider'),
  identityHttpPort: Port.default(8081).describe(
    "Port of the local provider's token endpoint without TLS, for services on the same host",
  ),
  identityCertificate: OptionalText.describe('Path of the PEM certificate of the local provider'),
  identityKey: OptionalText.describe('Path of the PEM key of that certificate'),
  accessTokenSeconds: PositiveIntegerSetting.default(900).describe('Lifetime of access tokens of the local provider'),

  smtpUrl: z
    .url({ protocol: /^smtps?$/ })
    .optional()
    .describe(
      'Mail server for invitations and password resets, with its credentials: smtps://user:password@host:465, or smtp:// with STARTTLS',
    ),
  mailFrom: z
    .string()
    .max(254)
    .regex(/[^\s@]@[^\s@]/, 'must contain an address, such as freehold@example.com')
    .default('freehold@localhost')
    .describe('Sender of mails'),
  mailFolder: OptionalText.describe('Folder to write mails to as files, for testing; ignored with smtpUrl'),
  invitationResends: IntegerSetting.min(0).default(3).describe('How often an invitation can be resent without waiting'),
  invitationResendHours: PositiveIntegerSetting.default(24).describe('Hours between further resends of an invitation'),
  outgoingHosts: Hosts.default([]).describe(
    'Hosts with private addresses that may be called, such as identity providers of tenants inside your network; with the port if it is not 443. All others must have public addresses',
  ),
  outgoingCertificateAuthority: OptionalText.describe(
    'Path of a PEM bundle of authorities for hosts of tenants (deployment sources, identity providers, registries of charts), in addition to those that Node trusts',
  ),
  circuitUrl: HttpsUrl.optional().describe(
    "URL of the platform's Gitea, for deployment sources of type circuit; they wait with EngineMissing when absent",
  ),
  circuitTokenFile: OptionalText.describe(
    'Path of a file with a token of its administrator, scopes write:admin and write:user; read at each use',
  ),
  webhookHost: z.string().default('0.0.0.0').describe('Address on which the webhooks listen, by HTTPS only'),
  webhookPort: Port.default(9443).describe('Port on which the webhooks listen'),
  webhookCertificate: OptionalText.describe('Path of the PEM certificate of the webhooks; they are off when absent'),
  webhookKey: OptionalText.describe('Path of the PEM key of that certificate'),
  webhookClientAuthority: OptionalText.describe(
    "Path of a PEM bundle of authorities for the API server's client certificate",
  ),

  ...agentSettings,

  auditWebhook: Flag.default(false).describe(
    'Whether the API server sends its audit log to the webhooks, so that activity shows who used kubectl; otherwise it shows what watches reveal',
  ),
  webhookOwnAuthority: Flag.default(false).describe(
    'Without webhookCertificate: whether to create an authority in a Secret and write it into the webhook configuration freehold-iam',
  ),

  ...activatorSettings,
  leaderElection: Flag.default(true).describe(
    'Whether replicas elect one that runs the controllers; false for a single replica',
  ),
  projectRbac: Flag.default(true).describe(
    'Whether assignments are written as RoleBindings, for API servers that do not use the webhook authorizer',
  ),
  closedNetworks: Cidrs.default([]).describe(
    "CIDRs that pods of tenants cannot reach, such as the API server's addresses (see apiServerNetworks); the metadata services of clouds are always closed",
  ),
  apiServerNetworks: Networks.default([]).describe(
    'Addresses of the API server and its Service if closedNetworks includes them, since instances of relational databases need it. Such as 10.96.0.1/32@443 and 10.1.2.3/32@6443',
  ),
  objectsPerBoundary: PositiveIntegerSetting.default(5_000).describe(
    "Maximum objects of Freehold's kinds in the namespace of a boundary, and in all its groups together; larger objects count once per 16 KiB. Beyond it, 422 QUOTA_EXCEEDED",
  ),
  ...namespaceSettings,
  ...podSettings,
  workersPerController: integerSettingInRange(2, 64)
    .default(8)
    .describe(
      'Objects of a kind that are reconciled concurrently; at most half of them of one boundary, and all but one in other clusters, which may be slow',
    ),
  engines: z
    .enum(['real', 'simulated'])
    .default('real')
    .describe('simulated: pods are simulated and no engine answers, as in the embedded control plane'),
  playedEngines: OptionalText.describe(
    'Path of a JSON file with real SQL engines by host, while engines are simulated; for tests',
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
    .max(200)
    .regex(DOMAIN, 'must be a domain in lower case, such as apps.example.com')
    .default('freehold.localhost')
    .describe('Suffix of default host names, for the PlatformCluster created at installation'),
  region: z.string().default('').describe('Region of the cluster, for the PlatformCluster created at installation'),
  vaultKeysFile: OptionalText.describe(
    'Path of the platform keys that wrap the data keys of secret vaults: a JWK set of 256-bit symmetric keys, oldest first; the last one wraps. Reloaded when it changes',
  ),
  allowOwnImages: Flag.default(false).describe('Whether resources may specify their own image'),
  filesImage: Image.optional().describe(
    "Image of the pods that read and write files of volumes, which must contain this program; the facade's own image when absent. Required if the facade does not run in a pod",
  ),
  backupBucket: z
    .string()
    .min(1)
    .max(63)
    .optional()
    .describe('Bucket for backups of databases; none are taken when absent'),
  backupEndpoint: Url.optional().describe("S3 endpoint of the bucket; the provider's default when absent"),
  backupPrefix: z.string().max(256).default('').describe('Folder in the bucket'),
  backupRegion: z.string().max(63).optional().describe('Region of the bucket, if its store has regions'),
  backupNamespace: z
    .string()
    .max(63)
    .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/, 'must be the name of a namespace')
    .default('velero')
    .describe(
      'Namespace of Velero, which backs up volumes of container instances to its default BackupStorageLocation',
    ),
  prometheusUrl: Url.optional().describe(
    "Prometheus with metrics of pods, volumes, engines and the Gateway's Traefik, such as http://prometheus.monitoring:9090. Without it, web metrics of apps are empty, and monitoring routes answer ENGINE_MISSING",
  ),
  otlpEndpoint: Url.optional().describe(
    'OpenTelemetry collector for traces, by OTLP over HTTP, such as http://collector:4318; nothing is traced when absent',
  ),
  traceRatio: z.coerce
    .number()
    .min(0)
    .max(1)
    .default(1)
    .describe('Fraction of the traces started here that is sent to otlpEndpoint'),
  simulated: List.default([]).describe('Parts that /version lists as simulated'),

  commit: z.string().default('unknown').describe('What /version shows; the image sets it'),
  builtAt: z.string().default('1970-01-01T00:00:00Z').describe('What /version shows; the image sets it'),
})
/** All roles but agent verify tokens, and need their issuer. */
export const PlatformConfiguration = Configuration.extend({
  issuer: Url.describe(Configuration.shape.issuer.description ?? ''),
})
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
  const overrides = { ...readVariables(environment), ...flags }
  const merged = { ...ofFile, ...overrides } as { role?: unknown }
  const schema = merged.role === 'agent' ? Configuration : PlatformConfiguration
  const parsed = schema.safeParse(merged, { reportInput: true })
  const empty = Object.keys(merged).filter((name) => isInvalidNumber(name, (merged as Record<string, unknown>)[name]))
  if (parsed.success && empty.length === 0) return parsed.data
  const isInFile = (name: string) => name in ofFile && !(name in overrides)
  const placeOf = (name: string) => (isInFile(name) ? `"${name}" in ${file}` : variableName(name))
  const others = parsed.error?.issues.filter(({ path }) => !empty.includes(path.join('.'))) ?? []
  const problems = others.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') return issue.keys.map((name) => `${placeOf(name)} is not a setting.`)
    return [`${placeOf(issue.path.join('.'))} ${describeIssue(issue)}.`]
  })
  problems.push(...empty.map((name) => `${placeOf(name)} must be a number.`))
  throw new ConfigurationError(
    `The configuration cannot be used:\n  ${problems.join('\n  ')}\ndocs/reference/configuration.md lists all settings.`,
  )
}

/** Settings of the file that have no effect because a variable has another value, as the deployments set some. */
export function overriddenSettings(environment: Record<string, string | undefined>): string[] {
  const file = environment.PLATFORM_CONFIG_FILE
  const variables = readVariables(environment)
  const isOverridden = ([name, value]: [string, unknown]) =>
    variables[name] !== undefined && variables[name] !== `${value}`
  return file === undefined
    ? []
    : Object.entries(readFile(file))
        .filter(isOverridden)
        .map(([name]) => name)
}

/** Whether a setting must be a number, but has a value that would be coerced to one: an empty text, or true. */
function isInvalidNumber(name: string, value: unknown): boolean {
  const isWritten = typeof value === 'number' || (typeof value === 'string' && value.trim() !== '')
  return !isWritten && isNumberSchema((Configuration.shape as Record<string, z.ZodType>)[name])
}

function isNumberSchema(schema: z.ZodType | undefined): boolean {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault)
    return isNumberSchema(schema.unwrap() as z.ZodType)
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
  const isOfPlatform = ([name, value]: [string, string | undefined]) =>
    name.startsWith(PREFIX) && value !== undefined && !CLIENT_VARIABLES.has(name)
  return Object.fromEntries(Object.entries(environment).filter(isOfPlatform)) as Record<string, string>
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
