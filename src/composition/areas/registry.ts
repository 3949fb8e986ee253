import { readFile } from 'node:fs/promises'
import { createFileAuditLog } from '../../adapters/audit/file.ts'
import { createMemoryAuditLog } from '../../adapters/audit/memory.ts'
import { sourceArchives } from '../../adapters/builds/archives.ts'
import type { SourceArchives } from '../../adapters/builds/port.ts'
import { createRegistryClient, type TokenFor } from '../../adapters/registry/client.ts'
import { registryDisk } from '../../adapters/registry/disk.ts'
import { createRegistryKeys, type PemKeyPair } from '../../adapters/registry/keys.ts'
import { RegistryError, type RegistryPort } from '../../adapters/registry/port.ts'
import type { PrincipalStatus } from '../../api/callers/principalStatus.ts'
import type { TokenVerifier } from '../../api/callers/tokens.ts'
import type { RegistryCaller, RegistryService } from '../../api/registry/service.ts'
import { BoundarySpace } from '../../api/registry/space.ts'
import { type Configuration, ConfigurationError } from '../../config.ts'
import { isConnected } from '../../contracts/clusters.ts'
import { isFinalPhase } from '../../contracts/deployments.ts'
import { auditEntry, auditPartyOf } from '../../contracts/registry/audit.ts'
import { imageNamesIn, imageUsesIn } from '../../contracts/registry/images.ts'
import { PLATFORM_ACTOR, PLATFORM_READER } from '../../contracts/registry/names.ts'
import { systemClock } from '../../core/clock.ts'
import { currentFile } from '../../core/currentFile.ts'
import { PlatformError } from '../../core/errors.ts'
import { sha256 } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { parseQuantity } from '../../core/quantity.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { DeploymentRecord } from '../../crds/deployments.ts'
import { QUOTA_COUNTED_KINDS } from '../../crds/index.ts'
import {
  clientSecretCheck,
  type GuessLimiter,
  type IdentityClient,
  kubeClientStore,
  type LastSeen,
} from '../../identity/index.ts'
import { controllerRevision, pod } from '../../kube/builtin.ts'
import type { KubeClient } from '../../kube/client.ts'
import { memoizeWithTtl } from '../memoizeWithTtl.ts'
import { clientSignIn, issuerSecretCheck } from './clientSignIn.ts'
import type { AreaSetup } from './setup.ts'

/** Lifetimes of tokens in seconds: for a single call, and for an upload. */
const CALL_TOKEN_SECONDS = 60
const UPLOAD_TOKEN_SECONDS = 3_600

/** Tokens for the platform's own reads and deletions. */
const ownTokens =
  ({ keys }: Pick<RegistryPort, 'keys'>): TokenFor =>
  (type, name, actions) =>
    keys.token(PLATFORM_READER, [{ type, name, actions }], { now: systemClock.now(), seconds: CALL_TOKEN_SECONDS })

/**
 * Tokens for uploading sources. Recorded in the audit like all push tokens, where the clean-up looks for pushes in
 * progress.
 *
 * @internal Used by its test.
 */
export const uploadTokens =
  ({ keys, audit }: Pick<RegistryPort, 'keys' | 'audit'>, space: RegistryService['space']): TokenFor =>
  async (type, name, actions) => {
    await space.refuseIfFull(name.split('/')[0] ?? '')
    const now = systemClock.now()
    const entry = { actor: PLATFORM_ACTOR, repository: name, granted: actions, detail: actions.join(',') }
    await audit.append([auditEntry(now, { action: 'Token', ...entry })]).catch((error: unknown) => {
      throw new RegistryError('Unreachable', 'The audit of the registry cannot be written.', error)
    })
    return keys.token(PLATFORM_ACTOR, [{ type, name, actions }], { now, seconds: UPLOAD_TOKEN_SECONDS })
  }

/** @throws ConfigurationError if a registry is configured without its authority */
async function authorityOf({ registryAuthorityCertificate, registryAuthorityKey }: Configuration): Promise<PemKeyPair> {
  if (registryAuthorityCertificate === undefined || registryAuthorityKey === undefined) {
    throw new ConfigurationError('registryUrl needs registryAuthorityCertificate and registryAuthorityKey.')
  }
  return {
    certPem: await readFile(registryAuthorityCertificate, 'utf8'),
    keyPem: await readFile(registryAuthorityKey, 'utf8'),
  }
}

/**
 * Returns everything that may name an image: pods, resources and revisions. A function that is scaled to zero has no
 * pod, but needs its image to start again.
 *
 * @internal Used by its test.
 */
export async function listImageUses(client: Pick<KubeClient, 'list'>, others: Pick<AreaSetup['agents'], 'clientOf'>) {
  const running: unknown[][] = [(await client.list(pod)).items, await imagesOfOtherClusters(client, others)]
  for (const { resource } of QUOTA_COUNTED_KINDS) running.push((await client.list(resource)).items)
  const deployments = await client.list<KubeObject & Pick<DeploymentRecord, 'status'>>(DeploymentRecord.resource)
  // An uploaded source is needed until it is built, an image until its revision is stored.
  running.push(deployments.items.filter(({ status }) => !isFinalPhase(status?.stage)))
  return imageUsesIn({ running: running.flat(), revisions: (await client.list(controllerRevision)).items })
}

/** Milliseconds to list pods of another cluster, while the caller waits. */
const LIST_TIMEOUT_MS = 15_000

type OtherCluster = KubeObject & Pick<PlatformCluster, 'spec' | 'status'>

/**
 * Returns the images of pods in connected clusters. For the others, and for clusters with invalid answers, resources
 * and revisions must do: one cluster must not block the clean-up for all.
 */
async function imagesOfOtherClusters(
  client: Pick<KubeClient, 'list'>,
  { clientOf }: Pick<AreaSetup['agents'], 'clientOf'>,
): Promise<string[]> {
  const { items: clusters } = await client.list<OtherCluster>(PlatformCluster.resource)
  const connected = clusters.filter(({ spec, status }) => !spec.isPlatform && isConnected(status?.agent))
  const namesOf = async ({ metadata: { name } }: OtherCluster) =>
    imageNamesIn((await clientOf(name).list(pod, { signal: AbortSignal.timeout(LIST_TIMEOUT_MS) })).items)
  return (await Promise.all(connected.map((cluster) => namesOf(cluster).catch(() => [])))).flat()
}

type RegistryPorts = {
  registry: RegistryPort | undefined
  space?: RegistryService['space']
  archives: SourceArchives | undefined
}

/** Creates what facade and controllers share; undefined without a registry. @throws ConfigurationError */
export async function registryPorts({ configuration, client, agents }: AreaSetup): Promise<RegistryPorts> {
  const { registryUrl, registryStorageFolder: storage, registryAuditFolder: folder } = configuration
  if (registryUrl === undefined) return { registry: undefined, archives: undefined }
  const url = registryUrl.replace(/\/+$/, '')
  const { registryHost: host = new URL(url).host, registryService: service = host } = configuration
  // Loaded only with a registry, because it imports the certificate libraries.
  const { issueCertificate } = await import('../certificates.ts')
  const keys = createRegistryKeys({
    authority: await authorityOf(configuration),
    certify: (by, now) =>
      issueCertificate(by, { commonName: 'freehold registry tokens', purpose: 'client', days: 2 }, now),
    issuer: configuration.registryIssuer,
    service,
  })
  const disk = storage === undefined ? undefined : registryDisk(storage)
  const registry: RegistryPort = {
    host,
    keys,
    registry: createRegistryClient({ url, tokenFor: ownTokens({ keys }), disk }),
    seesPushes: seesPushes(configuration),
    audit:
      folder === undefined
        ? createMemoryAuditLog(undefined, auditPartyOf)
        : createFileAuditLog({ folder, clock: systemClock, partyOf: auditPartyOf }),
    uses: () => listImageUses(client, { clientOf: (clusterId) => agents.clientOf(clusterId) }),
    grace: configuration.registryUploadGraceSeconds * 1000,
  }
  const space = new BoundarySpace(registry.registry, bytesIn(configuration.registryBytesPerBoundary))
  return { registry, space, archives: sourceArchives({ url, tokenFor: uploadTokens(registry, space) }) }
}

/** Quantities are read in thousandths. */
const bytesIn = (quantity: string) => Number(parseQuantity(quantity) / 1000n)

/** Without a shared folder each process only knows the tokens that it issued, and the controllers issue none. */
export const seesPushes = ({ role, registryAuditFolder }: Pick<Configuration, 'role' | 'registryAuditFolder'>) =>
  role === 'all' || registryAuditFolder !== undefined

/** Milliseconds to cache the uses for read requests, each of which reads everything. Clean-up runs bypass it. */
const USE_TTL_MS = 10_000

export type SignInParts = {
  tokens: Pick<TokenVerifier, 'verify'>
  principalStatus: PrincipalStatus | undefined
  /** Shared by all endpoints at which service accounts present their secret. */
  secretGuesses: GuessLimiter
  lastSeen: LastSeen
}

type SignIn = RegistryService['signIn']

async function signInWith({ configuration, client, onStop }: AreaSetup, parts: SignInParts): Promise<SignIn> {
  const { tokens, principalStatus, secretGuesses, lastSeen } = parts
  const isActive: SignIn['stands'] = async ({ principalId, principalType, principalUid }) =>
    (await principalStatus?.endOf(principalId, principalType, principalUid)) === undefined
  const ifActive = async (caller: RegistryCaller) => ((await isActive(caller)) ? caller : undefined)
  const byToken: SignIn['byToken'] = async (token) => {
    try {
      const { principalId, principalType, principalUid, expiresAt } = await tokens.verify(`Bearer ${token}`)
      return await ifActive({ principalId, principalType, principalUid, expiresAt })
    } catch (error) {
      if (error instanceof PlatformError && error.status === 401) return undefined
      throw error
    }
  }
  if (configuration.identityProvider === 'local') {
    const clients = kubeClientStore(client)
    const check = clientSecretCheck(clients, lastSeen)
    const { signIn } = clientSignIn(check, secretGuesses, { checksAgain: true })
    const byClient: SignIn['byClient'] = async (principalId, secret, address) => {
      const found = await signIn(principalId, secret, address)
      const secretDigest = found && digestOf(found)
      return (
        found && ifActive({ principalId, principalType: 'ServicePrincipal', principalUid: found.uid, secretDigest })
      )
    }
    const holdsSecret = async ({ principalId, secretDigest }: RegistryCaller) => {
      const found = secretDigest === undefined ? undefined : await clients.find(principalId)
      return secretDigest === (found && digestOf(found))
    }
    return { stands: async (caller) => (await isActive(caller)) && holdsSecret(caller), byToken, byClient }
  }
  const issuer = await issuerSecretCheck(configuration)
  onStop(() => issuer.close())
  const { signIn } = clientSignIn(issuer.check, secretGuesses)
  const byClient: SignIn['byClient'] = async (id, secret, address) => {
    const found = await signIn(id, secret, address)
    const caller = found && (await byToken(found.accessToken))
    // Its secret does not expire with this token.
    return caller && { ...caller, expiresAt: undefined }
  }
  return { stands: isActive, byToken, byClient }
}

const digestOf = ({ clientId, secret }: IdentityClient) => sha256(`${clientId} ${secret}`)

type ServedPorts = Omit<RegistryPorts, 'registry'> & { registry: RegistryService | undefined }

/**
 * @internal Used by its test.
 * @throws ConfigurationError if notifications could not be authenticated
 */
export function requireNotifySecret({
  registryNotifySecretFile: file,
}: Pick<Configuration, 'registryNotifySecretFile'>): () => string {
  const secret = file === undefined ? undefined : currentFile(file)
  if (secret !== undefined && secret() !== '') return secret
  throw new ConfigurationError(
    'registryUrl needs registryNotifySecretFile, a file that is not empty: anybody could tell what was pushed.',
  )
}

export async function registryServices(setup: AreaSetup, parts: SignInParts): Promise<ServedPorts> {
  const { registry: port, space, archives } = await registryPorts(setup)
  if (port === undefined || space === undefined) return { registry: undefined, archives }
  const { registryService: service = port.host } = setup.configuration
  const notifySecret = requireNotifySecret(setup.configuration)
  const signIn = await signInWith(setup, parts)
  const uses = memoizeWithTtl(port.uses, USE_TTL_MS)
  return { registry: { ...port, uses, space, service, notifySecret, signIn }, archives }
}
