import { readFile } from 'node:fs/promises'
import { fileAudit } from '../../adapters/audit/file.ts'
import { memoryAudit } from '../../adapters/audit/memory.ts'
import { sourceArchives } from '../../adapters/builds/archives.ts'
import type { SourceArchives } from '../../adapters/builds/port.ts'
import { createRegistryClient } from '../../adapters/registry/client.ts'
import { registryDisk } from '../../adapters/registry/disk.ts'
import { createRegistryKeys, type Pair } from '../../adapters/registry/keys.ts'
import type { RegistryKeys, RegistryPort } from '../../adapters/registry/port.ts'
import type { Standing } from '../../api/callers/standing.ts'
import type { TokenVerifier } from '../../api/callers/tokens.ts'
import type { RegistryService } from '../../api/registry/service.ts'
import { type Configuration, ConfigurationError } from '../../config.ts'
import { isEnd } from '../../contracts/deployments.ts'
import type { RegistryAuditEntry } from '../../contracts/registry/audit.ts'
import { PLATFORM_ACTOR } from '../../contracts/registry/names.ts'
import { usesIn } from '../../contracts/registry/images.ts'
import { systemClock } from '../../core/clock.ts'
import { PlatformError } from '../../core/errors.ts'
import type { KubeObject } from '../../core/object.ts'
import { DeploymentRecord } from '../../crds/deployments.ts'
import { RESOURCE_KINDS } from '../../crds/index.ts'
import { controllerRevision, pod } from '../../kube/builtin.ts'
import type { KubeClient } from '../../kube/client.ts'
import { clientSignIn } from './clientSignIn.ts'
import type { AreaSetup } from './setup.ts'

type Settings = { url: string; host: string; service: string; authority: Pair }

/** Undefined where no registry is configured. @throws ConfigurationError where it lacks its authority */
async function settingsOf(configuration: Configuration): Promise<Settings | undefined> {
  const { registryUrl, registryAuthorityCertificate, registryAuthorityKey } = configuration
  if (registryUrl === undefined) return undefined
  if (registryAuthorityCertificate === undefined || registryAuthorityKey === undefined) {
    throw new ConfigurationError('registryUrl needs registryAuthorityCertificate and registryAuthorityKey.')
  }
  const host = configuration.registryHost ?? new URL(registryUrl).host
  const [certPem, keyPem] = await Promise.all([
    readFile(registryAuthorityCertificate, 'utf8'),
    readFile(registryAuthorityKey, 'utf8'),
  ])
  const service = configuration.registryService ?? host
  return { url: registryUrl.replace(/\/+$/, ''), host, service, authority: { certPem, keyPem } }
}

/** What facade and controllers both work with. */
async function openRegistry({ configuration, client }: AreaSetup, settings: Settings): Promise<RegistryPort> {
  const { registryIssuer: issuer, registryStorageFolder: storage, registryAuditFolder: folder } = configuration
  const { authority, host, service, url } = settings
  // Loaded only where there is a registry: it brings the machinery of certificates.
  const { issueCertificate } = await import('../certificates.ts')
  const certify = (by: Pair, now: Date) =>
    issueCertificate(by, { commonName: 'freehold registry tokens', purpose: 'client', days: 2 }, now)
  const keys = createRegistryKeys({ authority, certify, issuer, service })
  return {
    host,
    keys,
    registry: createRegistryClient({
      url,
      tokenFor: ownTokens(keys),
      disk: storage === undefined ? undefined : registryDisk(storage),
    }),
    audit:
      folder === undefined
        ? memoryAudit<RegistryAuditEntry>()
        : fileAudit<RegistryAuditEntry>({ folder, clock: systemClock }),
    uses: () => usesNow(client),
    grace: configuration.registryUploadGraceSeconds * 1000,
  }
}

/** Seconds: of one call, and of an upload, which ends with one. */
const A_CALL = 60
const AN_UPLOAD = 3_600

/** Of the platform itself: for one repository. */
function ownTokens(keys: RegistryKeys, seconds = A_CALL) {
  return (type: 'repository' | 'registry', name: string, actions: readonly string[]) =>
    keys.token(PLATFORM_ACTOR, [{ type, name, actions }], { now: systemClock.now(), seconds })
}

/** Everything that may name an image: pods, resources, and what can be brought back. */
async function usesNow(client: KubeClient) {
  const running: unknown[] = (await client.list(pod)).items
  for (const { resource } of RESOURCE_KINDS) running.push(...(await client.list(resource)).items)
  const deployments = await client.list<KubeObject & Pick<DeploymentRecord, 'status'>>(DeploymentRecord.resource)
  // An uploaded source until it is built, and an image until its revision is kept.
  running.push(...deployments.items.filter(({ status }) => !isEnd(status?.stage)))
  return usesIn({ running, revisions: (await client.list(controllerRevision)).items })
}

/** Milliseconds. */
const REMEMBERED = 10_000

/** For those who only look: whoever may pull may ask, and each answer reads everything. Runs ask anew. */
function remembered<Answer>(ask: () => Promise<Answer>): () => Promise<Answer> {
  let known: { until: number; answer: Promise<Answer> } | undefined
  return () => {
    if (known !== undefined && systemClock.monotonic() < known.until) return known.answer
    const answer = ask()
    known = { until: systemClock.monotonic() + REMEMBERED, answer }
    answer.catch(() => {
      known = undefined
    })
    return answer
  }
}

type Ports = { registry: RegistryPort | undefined; archives: SourceArchives | undefined }

export async function registryPorts(setup: AreaSetup): Promise<Ports> {
  const settings = await settingsOf(setup.configuration)
  if (settings === undefined) return { registry: undefined, archives: undefined }
  const registry = await openRegistry(setup, settings)
  return { registry, archives: archivesOf(settings, registry) }
}

const archivesOf = ({ url }: Settings, { keys }: RegistryPort) =>
  sourceArchives({ url, tokenFor: ownTokens(keys, AN_UPLOAD) })

export type SignInParts = {
  tokens: Pick<TokenVerifier, 'verify'>
  standing: Standing | undefined
}

export async function registryServices(
  setup: AreaSetup,
  { tokens, standing }: SignInParts,
): Promise<{ registry: RegistryService | undefined; archives: SourceArchives | undefined }> {
  const { configuration } = setup
  const settings = await settingsOf(configuration)
  if (settings === undefined) return { registry: undefined, archives: undefined }
  const port = await openRegistry(setup, settings)
  const stands: RegistryService['signIn']['stands'] = async ({ principalId, principalType, principalUid }) =>
    (await standing?.endOf(principalId, principalType, principalUid)) === undefined
  const byToken: RegistryService['signIn']['byToken'] = async (token) => {
    try {
      const caller = await tokens.verify(`Bearer ${token}`)
      return (await stands(caller)) ? caller : undefined
    } catch (error) {
      if (error instanceof PlatformError && error.status === 401) return undefined
      throw error
    }
  }
  const secret = configuration.registryNotifySecretFile
  const notifySecret = secret === undefined ? undefined : (await readFile(secret, 'utf8')).trim()
  const client = await clientSignIn(configuration)
  setup.onStop(() => client.close())
  const byClient: RegistryService['signIn']['byClient'] = async (id, password, address) => {
    const token = await client.tokenOf(id, password, address)
    return token === undefined ? undefined : byToken(token)
  }
  const signIn = { byToken, byClient, stands }
  const registry = { ...port, uses: remembered(port.uses), service: settings.service, notifySecret, signIn }
  return { registry, archives: archivesOf(settings, port) }
}
