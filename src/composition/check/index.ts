import { readFile } from 'node:fs/promises'
import { request as httpsRequest } from 'node:https'
import { connect as openSocket } from 'node:net'
import type { buildConnector } from 'undici'
import { z } from 'zod'
import { isStoreError, type ObjectStore } from '../../adapters/objectstorage/port.ts'
import { queryPrometheus, seriesAnswerSchema } from '../../adapters/prometheus/httpApi.ts'
import type { Configuration } from '../../config.ts'
import { storeUserName } from '../../contracts/objectstorage.ts'
import type { BackupLocationWithStatus } from '../../contracts/platformbackups/conditions.ts'
import { systemClock } from '../../core/clock.ts'
import { type Summarized, summaryOf } from '../../core/conditions.ts'
import { messageOf } from '../../core/errors.ts'
import { DIGEST_ANNOTATION, INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { WEBHOOK_CONFIGURATION } from '../../core/webhook.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import type { AnyKind } from '../../crds/define.ts'
import { KINDS } from '../../crds/index.ts'
import { rootSchema } from '../../crds/manifest.ts'
import { ObjectAccessKey } from '../../crds/objectstorage.ts'
import { PlatformBackupSettings } from '../../crds/platformBackups.ts'
import { RoleAssignment } from '../../crds/rbac.ts'
import {
  validatingAdmissionPolicy,
  validatingAdmissionPolicyBinding,
  validatingWebhookConfiguration,
} from '../../kube/builtin.ts'
import type { KubeClient } from '../../kube/client.ts'
import { isKubeError } from '../../kube/errors.ts'
import { veleroBackupStorageLocation } from '../../kube/velero.ts'
import { objectStore } from '../areas/objectstorage.ts'
import { seesPushes } from '../areas/registry.ts'
import { issuerConnector } from '../issuerTrust.ts'
import { openOutgoing } from '../outgoing.ts'
import { type Finding, fault, off, ok } from './finding.ts'
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
import { POLICIES } from './policies.ts'

/** What the checks may use: the cluster, and the configured systems. */
export type CheckContext = {
  readonly client: Pick<KubeClient, 'get' | 'list' | 'request'>
  readonly configuration: Configuration
}
type Check = { readonly name: string; readonly run: (context: CheckContext) => Promise<Finding> }

const TIMEOUT_MS = 10_000

const CHECKS: readonly Check[] = [
  { name: 'API server', run: async ({ client }) => judgeVersion(await getJson(client, '/version')) },
  { name: 'Clock', run: checkClock },
  { name: 'Kinds', run: checkKinds },
  { name: 'Webhook', run: checkWebhook },
  { name: 'Policies', run: checkPolicies },
  { name: 'kubectl', run: async ({ configuration }) => judgeKubectl(configuration) },
  { name: 'Audit log', run: async ({ configuration }) => judgeAuditLog(configuration) },
  { name: 'Identity', run: checkIssuer },
  { name: 'First Owner', run: checkOwners },
  { name: 'Secret vaults', run: checkVaultKeys },
  { name: 'Object store', run: checkObjectStore },
  { name: 'Registry', run: checkRegistry },
  { name: 'Databases', run: checkPostgres },
  { name: 'Gateway', run: checkGateway },
  { name: 'Git host', run: checkGitHost },
  { name: 'Backups', run: checkBackups },
  { name: 'Mail', run: checkMail },
  { name: 'Prometheus', run: checkPrometheus },
]

/** Runs all checks in parallel. They change nothing, and a failing one does not stop the others. */
export function checkInstallation(context: CheckContext): Promise<(Finding & { name: string })[]> {
  return Promise.all(
    CHECKS.map(async ({ name, run: look }) => {
      const failed = (error: unknown) =>
        fault(`It could not be checked: ${messageOf(error)}`, 'Correct the named problem, and check again.')
      return { name, ...(await look(context).catch(failed)) }
    }),
  )
}

async function getJson<T>(client: CheckContext['client'], path: string): Promise<T> {
  const found = await findJson<T>(client, path)
  if (found === undefined) throw new Error(`The API server answers ${path} with 404.`)
  return found
}

async function findJson<T>(client: CheckContext['client'], path: string): Promise<T | undefined> {
  const answer = await client.request({ path, timeout: TIMEOUT_MS })
  const text = await answer.text()
  if (answer.status === 404) return undefined
  if (answer.status !== 200) throw new Error(`The API server answers ${path} with ${answer.status}.`)
  return JSON.parse(text)
}

async function checkClock({ client }: CheckContext): Promise<Finding> {
  const requestedAt = systemClock.now()
  const answer = await client.request({ path: '/version', timeout: TIMEOUT_MS })
  await answer.text()
  return judgeClock(String(answer.headers.date), requestedAt, systemClock.now())
}

async function servesGroup({ client }: CheckContext, group: string): Promise<boolean> {
  const { groups } = await getJson<{ groups: { name: string }[] }>(client, '/apis')
  return groups.some(({ name }) => name === group)
}

async function checkKinds({ client }: CheckContext): Promise<Finding> {
  const served = new Set<string>()
  const other: string[] = []
  for (const apiVersion of new Set(KINDS.map((kind) => kind.apiVersion))) {
    const group = apiVersion.split('/')[0]
    const found = await findJson<{ resources: { name: string }[] }>(client, `/apis/${apiVersion}`)
    for (const { name } of found?.resources ?? []) served.add(`${name}.${group}`)
    const published = await publishedSchemas(client, apiVersion)
    const kinds = KINDS.filter((kind) => kind.apiVersion === apiVersion)
    other.push(...kinds.filter((kind) => !isAsDeclared(kind, published.get(kind.kind))).map(nameOf))
  }
  return judgeKinds(KINDS.map(nameOf), served, other)
}

const nameOf = ({ resource }: AnyKind) => `${resource.plural}.${resource.group}`

type Published = { properties?: Record<string, unknown>; 'x-kubernetes-group-version-kind'?: { kind: string }[] }

/** Returns the published schemas of an API version, by kind. */
async function publishedSchemas(client: CheckContext['client'], apiVersion: string): Promise<Map<string, Published>> {
  type Document = { components?: { schemas?: Record<string, Published> } }
  const document = await findJson<Document>(client, `/openapi/v3/apis/${apiVersion}`)
  const schemas = Object.values(document?.components?.schemas ?? {})
  return new Map(
    schemas.flatMap((schema) => (schema['x-kubernetes-group-version-kind'] ?? []).map(({ kind }) => [kind, schema])),
  )
}

function isAsDeclared(kind: AnyKind, published: Published | undefined): boolean {
  const { spec, status } = rootSchema(kind).properties as Record<string, unknown>
  return isSameSchema(published?.properties, { spec, status })
}

type Webhooks = KubeObject & {
  webhooks?: {
    clientConfig: { caBundle?: string; url?: string; service?: { name: string; namespace: string; path?: string } }
  }[]
}

async function checkWebhook({ client }: CheckContext): Promise<Finding> {
  const found = await client
    .get<Webhooks>(validatingWebhookConfiguration, { name: WEBHOOK_CONFIGURATION })
    .catch((error) => {
      if (isKubeError(error, 'NotFound')) return undefined
      throw error
    })
  const config = found?.webhooks?.[0]?.clientConfig
  const { caBundle = '', url, service } = config ?? {}
  const address = url ?? (service && `https://${service.name}.${service.namespace}.svc${service.path ?? ''}`)
  if (config === undefined || address === undefined || caBundle === '') {
    return judgeWebhook(config && { authority: caBundle !== '' }, {})
  }
  return judgeWebhook({ authority: true }, await probeWebhook(address, Buffer.from(caBundle, 'base64').toString()))
}

type Binding = KubeObject & { spec: { policyName: string; validationActions?: string[] } }

async function checkPolicies({ client }: CheckContext): Promise<Finding> {
  const [policies, bindings] = await Promise.all([
    client.list(validatingAdmissionPolicy, {}),
    client.list<Binding>(validatingAdmissionPolicyBinding, {}),
  ])
  const found = policies.items.map(
    ({ metadata }) => [metadata.name, metadata.annotations?.[DIGEST_ANNOTATION] ?? ''] as const,
  )
  const denying = bindings.items.filter(({ spec }) => spec.validationActions?.includes('Deny') === true)
  const leaving = [...policies.items, ...bindings.items].filter(({ metadata }) => metadata.deletionTimestamp)
  return judgePolicies(
    POLICIES,
    new Map(found),
    new Set(denying.map(({ spec }) => spec.policyName)),
    new Set(leaving.map(({ metadata }) => metadata.name)),
  )
}

/** Connects to the webhook. Any answer will do, because only the API server knows the path. */
function probeWebhook(address: string, ca: string): Promise<{ status?: number; reason?: string }> {
  return new Promise((resolve) => {
    const request = httpsRequest(address, { ca, method: 'GET', timeout: TIMEOUT_MS }, (answer) => {
      answer.resume()
      resolve({ status: answer.statusCode ?? 0 })
    })
    request.on('timeout', () => request.destroy(new Error('no answer in time')))
    // A server that requires a client certificate is running.
    request.on('error', (error: NodeJS.ErrnoException) =>
      resolve(/certificate required/i.test(error.message) ? { status: 403 } : { reason: messageOf(error) }),
    )
    request.end()
  })
}

async function checkIssuer({ configuration }: CheckContext): Promise<Finding> {
  const { issuer } = configuration
  const connect = issuerConnector(configuration)
  const read = async (url: string) => (await fetchOf(url, connect)).json() as Promise<Record<string, unknown>>
  try {
    const found = await read(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)
    const { keys } = (await read(configuration.jwksUrl ?? String(found.jwks_uri))) as { keys?: unknown[] }
    return judgeIssuer(issuer, found, keys?.length ?? 0)
  } catch (error) {
    return judgeIssuer(issuer, undefined, 0, messageOf(error))
  }
}

/** Fetches a configured URL, which needs no vetting. */
async function fetchOf(url: string, connect?: buildConnector.connector): Promise<Response> {
  const { Agent, fetch } = await import('undici')
  const dispatcher = new Agent(connect === undefined ? {} : { connect })
  return fetch(url, { dispatcher, signal: AbortSignal.timeout(TIMEOUT_MS), redirect: 'manual' }) as unknown as Response
}

async function checkOwners({ client }: CheckContext): Promise<Finding> {
  const { items } = await client.list(RoleAssignment.resource, { namespace: SYSTEM_NAMESPACE })
  const specs = items.map(({ spec }) => spec as { scope?: string; roleDefinitionName?: string })
  return judgeOwners(
    specs.filter(({ scope, roleDefinitionName }) => scope === '/' && roleDefinitionName === 'Owner').length,
  )
}

async function checkVaultKeys({ configuration: { vaultKeysFile } }: CheckContext): Promise<Finding> {
  const remedy = 'Create the Secret freehold-vault-keys and set vaultKeysFile, as docs/areas/secrets.md says.'
  if (vaultKeysFile === undefined)
    return off('No platform key is set: secret vaults wait with ConfigurationInvalid.', remedy)
  const { keys = [] } = JSON.parse(await readFile(vaultKeysFile, 'utf8')) as { keys?: unknown[] }
  return keys.length > 0
    ? ok('The file of the platform keys can be read.')
    : fault('The file of the platform keys contains no key.', remedy)
}

async function checkObjectStore({ client, configuration }: CheckContext): Promise<Finding> {
  const store = await objectStore(configuration)
  const link = 'docs/areas/objectstorage.md'
  if (store === undefined)
    return off('No object store is set: accounts wait with EngineMissing.', `Set objectStoreDriver: ${link}.`)
  try {
    await store.isEmpty('freehold-check').catch((error) => {
      if (!isStoreError(error, 'NotFound')) throw error
    })
    return judgeObjectStore(await unknownKeys(store, client))
  } catch (error) {
    if (!isStoreError(error)) throw error
    return fault(`A request to the object store failed: ${messageOf(error)}`, `See ${link}.`)
  } finally {
    await store.close()
  }
}

async function unknownKeys(store: ObjectStore, client: CheckContext['client']): Promise<string[]> {
  // In this order: a record exists before its key, and until after the key is deleted.
  const users = await store.otherKeys(new Set())
  const { items } = await client.list(ObjectAccessKey.resource, {})
  const known = new Set(
    items.map(({ metadata }) => storeUserName(metadata.annotations?.[INCARNATION_ANNOTATION] ?? '')),
  )
  return users.filter((user) => !known.has(user))
}

async function checkRegistry({ configuration }: CheckContext): Promise<Finding> {
  const { registryUrl } = configuration
  if (registryUrl === undefined)
    return off(
      'No registry is set: there are no images of the platform.',
      'Set registryUrl and the settings that it needs.',
    )
  try {
    const answer = await fetchOf(`${registryUrl.replace(/\/$/, '')}/v2/`)
    const challenge = answer.headers.get('www-authenticate') ?? ''
    return judgeRegistry(registryUrl, { status: answer.status, challenge }, seesPushes(configuration))
  } catch (error) {
    return judgeRegistry(registryUrl, { reason: messageOf(error) })
  }
}

async function checkPostgres(context: CheckContext): Promise<Finding> {
  const isSimulated = context.configuration.simulated.includes('relational-engine')
  const isServed = isSimulated ? 'simulated' : await servesGroup(context, 'postgresql.cnpg.io')
  return judgeEngine(isServed, 'CloudNativePG', 'relational databases', 'docs/areas/relational.md')
}

async function checkGateway(context: CheckContext): Promise<Finding> {
  const { items } = await context.client.list(PlatformCluster.resource, {})
  const named = items.flatMap(({ spec }) => {
    const { gateway } = spec as { gateway?: { namespace: string; name: string } }
    return gateway === undefined ? [] : [`${gateway.namespace}/${gateway.name}`]
  })
  return judgeGateway(named, await servesGroup(context, 'gateway.networking.k8s.io'))
}

async function checkGitHost({ configuration }: CheckContext): Promise<Finding> {
  const { circuitUrl, circuitTokenFile } = configuration
  if (circuitUrl === undefined) return judgeGitHost(undefined, {})
  const token = circuitTokenFile === undefined ? '' : (await readFile(circuitTokenFile, 'utf8').catch(() => '')).trim()
  if (token === '') return judgeGitHost(circuitUrl, {})
  const outgoing = openOutgoing(configuration, { allowedHosts: [new URL(circuitUrl).host] })
  try {
    const headers = { authorization: `token ${token}` }
    const answer = await outgoing.fetch(`${circuitUrl.replace(/\/$/, '')}/api/v1/user`, { headers })
    const { is_admin } = answer.status === 200 ? ((await answer.json()) as { is_admin?: boolean }) : {}
    return judgeGitHost(circuitUrl, { status: answer.status, isAdmin: is_admin === true })
  } catch (error) {
    return judgeGitHost(circuitUrl, { reason: messageOf(error) })
  } finally {
    await outgoing.close()
  }
}

async function checkBackups(context: CheckContext): Promise<Finding> {
  const { client, configuration } = context
  const isInstalled = await servesGroup(context, veleroBackupStorageLocation.group)
  const locations = isInstalled
    ? (
        await client.list<BackupLocationWithStatus>(veleroBackupStorageLocation, {
          namespace: configuration.backupNamespace,
        })
      ).items
    : undefined
  const { items } = await client.list(PlatformBackupSettings.resource, { namespace: SYSTEM_NAMESPACE })
  const set = items.find(({ spec }) => (spec as { target?: object }).target !== undefined) as Summarized | undefined
  return judgeBackups(locations, systemClock.now(), set && summaryOf(set).statusMessage)
}

async function checkPrometheus({ configuration: { prometheusUrl: url } }: CheckContext): Promise<Finding> {
  if (url === undefined) return judgePrometheus(undefined)
  const asked = { answer: seriesAnswerSchema(z.unknown()), signal: AbortSignal.timeout(TIMEOUT_MS) }
  const [reason] = await queryPrometheus(url, 'query', { query: 'vector(1)' }, asked).then(
    () => [],
    (error) => [messageOf(error)],
  )
  return judgePrometheus(new URL(url).origin, reason)
}

async function checkMail({ configuration: { smtpUrl, mailFolder } }: CheckContext): Promise<Finding> {
  if (smtpUrl === undefined && mailFolder !== undefined)
    return ok(`No mail is sent: each is a file in ${mailFolder}, with the link in it.`)
  if (smtpUrl === undefined)
    return off('No mail server is set: nobody gets links by mail.', 'Set smtpUrl and mailFrom.')
  const { hostname, port, protocol } = new URL(smtpUrl)
  const server = { host: hostname, port: Number(port || (protocol === 'smtps:' ? 465 : 587)) }
  return new Promise((resolve) => {
    const socket = openSocket({ ...server, timeout: TIMEOUT_MS }, () => {
      socket.destroy()
      resolve(ok(`${hostname} takes connections.`))
    })
    const failed = (reason: string) => {
      socket.destroy()
      resolve(fault(`${hostname} cannot be reached: ${reason}.`, 'Correct smtpUrl, or allow connections to it.'))
    }
    socket.on('timeout', () => failed('no answer in time'))
    socket.on('error', (error) => failed(error.message))
  })
}
