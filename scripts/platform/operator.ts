import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { API_SERVICE_ADDRESS } from '../controlplane/flags.ts'
import type { ControlPlane } from '../controlplane/index.ts'
import { ACTIVATOR_ACCOUNT, CONTROLLERS_ACCOUNT, FACADE_ACCOUNT } from '../generate/policies.ts'
import type { GitHost } from '../githost/start.ts'
import { CLOSED_NETWORKS, NODE_ADDRESS, PACKAGES, REGISTRY, REGISTRY_PORT } from '../node/addresses.ts'
import { BUILDER_IMAGE } from '../node/builderImage.ts'
import { FILES_IMAGE } from '../node/filesImage.ts'
import { PROMETHEUS_URL } from '../node/prometheus.ts'
import type { RunningStore } from '../objectstore/start.ts'
import type { RunningRegistry } from '../registry/start.ts'
import type { PlatformPorts } from './ports.ts'

/** A cluster may give shorter ones; `up` requests new ones at its next start. */
const TOKEN_LIFETIME_SECONDS = 365 * 86_400

/**
 * A kubeconfig with one context for each service account of ours, so that the platform runs under the same roles and
 * policies as in a cluster. It has tokens, as pods have: the API server caches a token, but verifies a certificate at
 * every request.
 */
export async function writeOperatorKubeconfig(
  controlPlane: ControlPlane,
  folder: string,
  admin: KubeClient,
): Promise<string> {
  const path = join(folder, 'platform', 'kubeconfig')
  const accounts = [CONTROLLERS_ACCOUNT, FACADE_ACCOUNT, ACTIVATOR_ACCOUNT]
  const contexts = await Promise.all(accounts.map(async (name) => ({ name, user: await tokenOf(name, admin) })))
  await controlPlane.writeKubeconfig(path, ...contexts)
  return path
}

export async function tokenOf(
  account: string,
  admin: KubeClient,
  namespace = SYSTEM_NAMESPACE,
): Promise<{ token: string }> {
  const wanted = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest' }
  const answer = await admin.request({
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...wanted, spec: { expirationSeconds: TOKEN_LIFETIME_SECONDS } }),
  })
  const { status } = JSON.parse(await answer.text()) as { status?: { token?: string } }
  if (status?.token === undefined)
    throw new Error(`The cluster gave no token for the service account ${account} (${answer.status}).`)
  return { token: status.token }
}

export type OperatorFiles = {
  ports: PlatformPorts
  kubeconfig: string
  certificate: string
  key: string
  authority: string
  clientAuthority: string
  issuer: string
  realm: string
  audience: string
  domain: string
  /** The object store beside the platform, if one runs. */
  store: RunningStore | undefined
  registry: RunningRegistry | undefined
  /** The Git host beside the platform, if one runs. */
  gitHost: GitHost | undefined
  outgoingHosts: readonly string[]
  /** Mails are written here, because there is no mail server. */
  mailFolder: string
  /** Path of the platform keys of secret vaults. */
  vaultKeys: string
  /** Where tests specify SQL engines that really run. */
  playedEngines: string
}

/** The variables that `src/main.ts` reads, its only knowledge of the embedded control plane. */
export function operatorEnvironment(controlPlane: ControlPlane, files: OperatorFiles): Record<string, string> {
  const own = controlPlane.source === 'kubeconfig' ? {} : embeddedEnvironment(files)
  const isSimulated = controlPlane.simulated.includes('pods')
  const hasRealNode = controlPlane.source !== 'kubeconfig' && !isSimulated
  return {
    ...inheritedEnvironment(['PATH', 'HOME', 'NODE_OPTIONS', 'NODE_COMPILE_CACHE', 'TZ']),
    ...own,
    PLATFORM_ROLE: 'all',
    PLATFORM_KUBECONFIG: files.kubeconfig,
    PLATFORM_FACADE_CONTEXT: FACADE_ACCOUNT,
    PLATFORM_CONTROLLERS_CONTEXT: CONTROLLERS_ACCOUNT,
    PLATFORM_ACTIVATOR_CONTEXT: ACTIVATOR_ACCOUNT,
    // Builds request registry tokens from it.
    PLATFORM_FACADE_HOST: hasRealNode ? '0.0.0.0' : '127.0.0.1',
    PLATFORM_FACADE_PORT: String(files.ports.facade),
    PLATFORM_ACTIVATOR_HOST: hasRealNode ? '0.0.0.0' : '127.0.0.1',
    PLATFORM_ACTIVATOR_PORT: String(files.ports.activator),
    PLATFORM_PUBLIC_URL: `http://127.0.0.1:${files.ports.facade}`,
    PLATFORM_MANAGEMENT_HOST: '127.0.0.1',
    PLATFORM_MANAGEMENT_PORT: String(files.ports.management),
    PLATFORM_AGENT_HOST: '127.0.0.1',
    PLATFORM_AGENT_PORT: String(files.ports.agent),
    PLATFORM_IDENTITY_PROVIDER: 'local',
    PLATFORM_ISSUER: files.issuer,
    PLATFORM_REALM: files.realm,
    PLATFORM_AUDIENCE: files.audience,
    PLATFORM_ISSUER_CERTIFICATE_AUTHORITY: files.authority,
    PLATFORM_IDENTITY_HTTPS_PORT: String(files.ports.identity),
    PLATFORM_IDENTITY_HTTP_PORT: String(files.ports.token),
    PLATFORM_IDENTITY_CERTIFICATE: files.certificate,
    PLATFORM_IDENTITY_KEY: files.key,
    PLATFORM_MAIL_FOLDER: files.mailFolder,
    PLATFORM_VAULT_KEYS_FILE: files.vaultKeys,
    PLATFORM_ENGINES: isSimulated ? 'simulated' : 'real',
    // The platform is in the network of a real node, where names of Services resolve.
    PLATFORM_ENGINE_ACCESS: hasRealNode ? 'service' : 'proxy',
    ...(hasRealNode ? nodeEnvironment(controlPlane, files.ports) : {}),
    PLATFORM_CLUSTER_DOMAIN: files.domain,
    // A platform for trying things out makes no calls of its own.
    PLATFORM_RELEASE_FEED_MINUTES: '0',
    PLATFORM_PLAYED_ENGINES: files.playedEngines,
    // Nothing is there: the simulated engine reports that it wrote its backups.
    ...(isSimulated
      ? { PLATFORM_BACKUP_BUCKET: 'played', PLATFORM_BACKUP_ENDPOINT: 'https://backups.freehold.localhost' }
      : {}),
    PLATFORM_SIMULATED: [
      ...controlPlane.simulated,
      ...(isSimulated ? ['vector-engine', 'sql-engine', 'backup-target', 'builds'] : []),
      // Real S3 on a folder of this machine: enough for trying things out, not for keeping data.
      ...(files.store === undefined ? [] : ['object-store']),
    ].join(','),
    ...storeEnvironment(files.store),
    ...sourceEnvironment(files),
    ...registryEnvironment(files.registry),
    PLATFORM_COMMIT: commit(),
    PLATFORM_BUILT_AT: new Date().toISOString(),
  }
}

/** Images of the platform's own pods, and what pods of builds may reach. */
function nodeEnvironment(
  { apiServerUrl }: Pick<ControlPlane, 'apiServerUrl'>,
  { registry, facade }: PlatformPorts,
): Record<string, string> {
  // On the node it has the same port as on this machine.
  const apiServer = `${NODE_ADDRESS}/32@${new URL(apiServerUrl).port}`
  const ports = [REGISTRY_PORT, PACKAGES.port, registry, facade]
  return {
    PLATFORM_CLOSED_NETWORKS: CLOSED_NETWORKS.join(','),
    PLATFORM_API_SERVER_NETWORKS: `${API_SERVICE_ADDRESS}/32@443,${apiServer}`,
    PLATFORM_FILES_IMAGE: FILES_IMAGE,
    PLATFORM_PROMETHEUS_URL: PROMETHEUS_URL,
    PLATFORM_BUILD_IMAGE: BUILDER_IMAGE,
    PLATFORM_BUILD_IMAGE_MIRROR: REGISTRY,
    PLATFORM_BUILD_PACKAGE_MIRRORS: `npm=${PACKAGES.url}`,
    PLATFORM_BUILD_NETWORKS: `${NODE_ADDRESS}/32@${ports.join('+')}`,
  }
}

/** Settings for an API server that we configure: it asks the webhook. */
function embeddedEnvironment({ ports, certificate, key, clientAuthority }: OperatorFiles): Record<string, string> {
  return {
    // The API server asks the webhook, so RoleBindings would only repeat its answers later.
    PLATFORM_PROJECT_RBAC: 'false',
    // The holder of the data folder is the only instance; a lease could only end it on a machine that is busy for
    // seconds.
    PLATFORM_LEADER_ELECTION: 'false',
    // The API server shares this machine with everything else: a slow one is not an absent one.
    PLATFORM_API_SERVER_TIMEOUT_SECONDS: '60',
    PLATFORM_WEBHOOK_HOST: '127.0.0.1',
    PLATFORM_WEBHOOK_PORT: String(ports.webhook),
    PLATFORM_WEBHOOK_CERTIFICATE: certificate,
    PLATFORM_WEBHOOK_KEY: key,
    PLATFORM_WEBHOOK_CLIENT_AUTHORITY: clientAuthority,
    PLATFORM_AUDIT_WEBHOOK: 'true',
  }
}

function storeEnvironment(store: RunningStore | undefined): Record<string, string> {
  if (store === undefined) return {}
  return {
    PLATFORM_OBJECT_STORE_DRIVER: 'versitygw',
    PLATFORM_OBJECT_STORE_ENDPOINT: store.endpoint,
    PLATFORM_OBJECT_STORE_USERS_ENDPOINT: store.usersEndpoint,
    PLATFORM_OBJECT_STORE_ACCESS_KEY_ID: store.accessKeyId,
    PLATFORM_OBJECT_STORE_SECRET_ACCESS_KEY: store.secretAccessKey,
    PLATFORM_OBJECT_STORE_ACCESS_LOG: store.accessLog,
    PLATFORM_OBJECT_STORE_FOLDER: store.folder,
    PLATFORM_OBJECT_STORE_VERSION: store.version,
  }
}

function registryEnvironment(registry: RunningRegistry | undefined): Record<string, string> {
  if (registry === undefined) return {}
  return {
    PLATFORM_REGISTRY_URL: registry.url,
    PLATFORM_REGISTRY_HOST: registry.host,
    PLATFORM_REGISTRY_AUTHORITY_CERTIFICATE: registry.authorityCertificate,
    PLATFORM_REGISTRY_AUTHORITY_KEY: registry.authorityKey,
    PLATFORM_REGISTRY_NOTIFY_SECRET_FILE: registry.notifySecretFile,
    PLATFORM_REGISTRY_STORAGE_FOLDER: registry.storageFolder,
    PLATFORM_REGISTRY_AUDIT_FOLDER: registry.auditFolder,
  }
}

function sourceEnvironment({ gitHost, authority, outgoingHosts }: OperatorFiles): Record<string, string> {
  return {
    PLATFORM_OUTGOING_CERTIFICATE_AUTHORITY: authority,
    ...(outgoingHosts.length > 0 && { PLATFORM_OUTGOING_HOSTS: outgoingHosts.join(',') }),
    ...(gitHost !== undefined && {
      PLATFORM_CIRCUIT_URL: gitHost.url,
      PLATFORM_CIRCUIT_TOKEN_FILE: gitHost.tokenFile,
    }),
  }
}

function inheritedEnvironment(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  )
}

function commit(): string {
  try {
    const root = join(import.meta.dirname, '../..')
    return execFileSync('git', ['-C', root, 'rev-parse', '--short=12', 'HEAD'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  } catch {
    return 'unknown'
  }
}
