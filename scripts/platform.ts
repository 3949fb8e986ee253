import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { BACKUP_SECRET } from '../src/controllers/relational/backup.ts'
import { SYSTEM_NAMESPACE } from '../src/core/names.ts'
import type { KubeObject } from '../src/core/object.ts'
import { createKubeClient, type KubeClient } from '../src/kube/client.ts'
import { loadKubeconfig } from '../src/kubeconfig/kubeconfig.ts'
import { readIfThere, writePrivate } from './controlplane/files.ts'
import type { AccessOptions, ControlPlane, Progress } from './controlplane/index.ts'
import { logFileOf } from './controlplane/processes.ts'
import type { GitHostProgram } from './githost/find.ts'
import { type GitHost, startGitHost } from './githost/start.ts'
import { installAddons, routeThroughGateway, untilGatewayServes } from './node/addons.ts'
import { NODE_ADDRESS } from './node/addresses.ts'
import { endpointSlice, platformServices } from './node/services.ts'
import { type RunningStore, startObjectStore } from './objectstore/start.ts'
import { applyManifests, applyObjects } from './platform/manifests.ts'
import { operatorEnvironment, writeOperatorKubeconfig } from './platform/operator.ts'
import { type FirstOwners, installFirstOwners } from './platform/owners.ts'
import { untilPoliciesJudge } from './platform/policies.ts'
import type { PlatformPorts } from './platform/ports.ts'
import { untilAnswers } from './platform/readiness.ts'
import { untilTenantsAreServed } from './platform/tenants.ts'
import { type RunningRegistry, startRegistry } from './registry/start.ts'

/** Listeners of the platform on 127.0.0.1, chosen before the API server starts, which must know the issuer. */
export const REALM = 'freehold'
/**
 * Public hosts of resources are below this domain. Browsers and curl resolve all hosts below localhost to this machine.
 */
export const DOMAIN = 'freehold.localhost'
/** The audience that the facade and the API server require (interface section 5). */
const AUDIENCE = 'platform-kubernetes-client'
const READY_TIMEOUT_MS = 180_000
/** Milliseconds for one call of the installation: a busy machine needs long for all CRDs at once. */
const REQUEST_TIMEOUT_MS = 180_000
/**
 * As in the image: Node would give the young generation 40 MB more, for a tenth of the processor time of a read. No
 * package is a symbolic link, and checking 1,800 files for links takes a tenth of the start.
 */
const NODE_FLAGS = ['--max-semi-space-size=8', '--preserve-symlinks']

const realmUrl = (origin: string) => `${origin}/realms/${REALM}`
export const issuerUrl = (ports: PlatformPorts) => realmUrl(`https://127.0.0.1:${ports.identity}`)

export type PlatformOptions = {
  /** The data folder; the platform's own files go into `platform` in it. */
  folder: string
  ports: PlatformPorts
  progress: Progress
  /** Aborted when the user stops `up` before it is ready. */
  signal: AbortSignal
  /** The program of the object store, once it is built; undefined to run without one. */
  objectStore?: Promise<string | undefined>
  /** The same for the image registry. */
  registry?: Promise<string | undefined>
  /** The program of the Git host, once it is built; undefined to run without one. */
  gitHost?: Promise<GitHostProgram | undefined> | undefined
  /** A Git host that somebody else runs. */
  otherGitHost?: GitHost
  /** Hosts of sources beside those on the Internet: those that tests simulate. */
  outgoingHosts?: readonly string[]
  /** Variables of the platform that override the derived ones. */
  environment?: Readonly<Record<string, string>>
  /**
   * What the operator is started from: the sources if absent, or the existing bundle of the image (scripts/bundle.ts).
   */
  program?: 'sources' | 'bundle'
}

/** How to reach the platform, as `dev.json` tells it. */
export type Platform = { facadeUrl: string; tokenUrl: string; realm: string } & FirstOwners

/** The issuer that the API server trusts, and the webhooks that it asks before RBAC. */
export function platformAccess(ports: PlatformPorts): AccessOptions {
  return {
    oidc: { issuerUrl: issuerUrl(ports), audience: AUDIENCE },
    authorizationWebhook: { url: `https://127.0.0.1:${ports.webhook}/authorize` },
    auditWebhook: { url: `https://127.0.0.1:${ports.webhook}/audit` },
  }
}

/** A control plane that lacks only the operator's process. */
export type PreparedPlatform = {
  platform: Platform
  store: RunningStore | undefined
  registry: RunningRegistry | undefined
  /** How the operator is to be started. */
  operator: { program: string; args: readonly string[]; environment: Record<string, string> }
}

/**
 * Puts the platform onto a ready control plane: CRDs and manifests, a first Owner, and the operator's process, which is
 * ready when the facade, the tokens and the default objects are.
 *
 * @throws Error of the step that failed, with the end of the operator's log where the operator did
 */
export async function installPlatform(
  controlPlane: ControlPlane,
  options: PlatformOptions,
): Promise<Platform & Pick<PreparedPlatform, 'store' | 'registry'> & { settings: Record<string, string> }> {
  const { ports, progress, signal } = options
  const { platform, operator, store, registry } = await preparePlatform(controlPlane, options)
  await progress.step('starting the platform', async () => {
    controlPlane.startProcess({ name: 'freehold', ...operator })
    await Promise.race([untilReady(ports, signal, logFileOf(options.folder, 'freehold')), controlPlane.failed])
  })
  // It is unknown what an existing cluster's API server asks.
  if (controlPlane.source !== 'kubeconfig') {
    await progress.step('waiting until the API server serves tenants', () =>
      Promise.race([untilTenantsAreServed(controlPlane, platform, signal), controlPlane.failed]),
    )
    await finishAsAdministrator(controlPlane, progress, signal)
  }
  signal.throwIfAborted()
  return { ...platform, store, registry, settings: operator.environment }
}

async function finishAsAdministrator(
  controlPlane: ControlPlane,
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  const { gateway } = controlPlane
  const admin = administrator(controlPlane)
  try {
    await progress.step('waiting until all policies judge', () =>
      Promise.race([untilPoliciesJudge(admin, signal), controlPlane.failed]),
    )
    // The operator has created the cluster's record by now, which must name the Gateway of the node.
    await routeThroughGateway(admin, gateway)
    if (gateway === undefined) return
    await progress.step('waiting for the Gateway', () => untilGatewayServes(controlPlane, gateway, DOMAIN))
  } finally {
    await admin.close()
  }
}

/** With all rights; must be closed. */
export function administrator({ kubeconfigPath }: ControlPlane): KubeClient {
  const access = loadKubeconfig(kubeconfigPath)
  return createKubeClient(access, {
    fieldManager: 'freehold-install',
    userAgent: 'freehold-up',
    timeout: REQUEST_TIMEOUT_MS,
  })
}

/** Everything but starting the operator, for tests that kill and restart it. */
export async function preparePlatform(controlPlane: ControlPlane, options: PlatformOptions): Promise<PreparedPlatform> {
  const { folder, ports, progress } = options
  const admin = administrator(controlPlane)
  // It is unknown whether anything in an existing cluster reaches this machine.
  const isReached = controlPlane.source !== 'kubeconfig'
  const webhook = isReached
    ? { url: `https://127.0.0.1:${ports.webhook}/admit`, caPem: controlPlane.servingCaPem }
    : undefined
  try {
    // First, so that their images are pulled while everything else is installed.
    if (controlPlane.gateway !== undefined)
      await progress.step('gateway and metrics of the node', () => installAddons(admin, controlPlane, DOMAIN))
    await progress.step('applying CRDs and manifests', () => applyManifests(admin, webhook))
    if (controlPlane.gateway !== undefined) await applyObjects(admin, platformServices(ports), [endpointSlice])
    if (controlPlane.simulated.includes('pods')) await applyObjects(admin, [simulatedBackupSecret()])
    const credentials = await progress.step('making the first Owners', () => installFirstOwners(admin, folder))
    const tokenUrl = `${realmUrl(`http://127.0.0.1:${ports.token}`)}/protocol/openid-connect/token`
    const platform = { facadeUrl: `http://127.0.0.1:${ports.facade}`, tokenUrl, realm: REALM, ...credentials }
    const companions = await startCompanions(controlPlane, options)
    const { store, registry } = companions
    return { platform, store, registry, operator: await operatorCommand(controlPlane, options, companions, admin) }
  } finally {
    await admin.close()
  }
}

type Companions = Pick<PreparedPlatform, 'store' | 'registry'> & { gitHost: GitHost | undefined }

/** Programs that run beside the platform, if they are available. */
async function startCompanions(controlPlane: ControlPlane, options: PlatformOptions): Promise<Companions> {
  const { folder, ports, progress, otherGitHost } = options
  const programs = [await options.objectStore, await options.registry, await options.gitHost] as const
  const [storeProgram, registryProgram, gitProgram] = programs
  const started = async <Program, Running>(
    name: string,
    program: Program | undefined,
    start: (program: Program) => Running | Promise<Running>,
  ) => (program === undefined ? undefined : progress.step(`starting ${name}`, async () => start(program)))
  const gitHost = await started('the Git host', gitProgram, async (program) => {
    // Builds on a real node fetch from there, and so do processes beside it.
    const address = controlPlane.gateway === undefined ? '127.0.0.1' : NODE_ADDRESS
    const certificate = await controlPlane.issueServingCertificate([...new Set([address, '127.0.0.1', 'localhost'])])
    return startGitHost(program, { folder, address, port: ports.git, certificate }, (process) =>
      controlPlane.startProcess(process),
    )
  })
  return {
    store: await started('the object store', storeProgram, (program) =>
      startObjectStore(controlPlane, { program, folder, ports }),
    ),
    registry: await started('the registry', registryProgram, (program) =>
      startRegistry(controlPlane, { program, folder, ports }),
    ),
    gitHost: gitHost ?? otherGitHost,
  }
}

/**
 * Credentials of a backup target that nobody serves: simulated backups need none, but the code path of a real one is
 * used.
 */
function simulatedBackupSecret(): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: BACKUP_SECRET, namespace: SYSTEM_NAMESPACE },
    type: 'Opaque',
    stringData: { 'access-key-id': 'played', 'secret-access-key': 'played' },
  }
}

/** @param timeout milliseconds */
export function untilReady(
  ports: PlatformPorts,
  signal: AbortSignal,
  logFile: string,
  timeout = READY_TIMEOUT_MS,
): Promise<void> {
  return untilAnswers(`http://127.0.0.1:${ports.management}/readyz`, timeout, signal, logFile)
}

/**
 * The key that wraps the data keys of secret vaults, created once for a data folder: without it no secret can be read.
 */
async function platformKeys(path: string): Promise<string> {
  if ((await readIfThere(path)) === undefined) {
    const key = {
      kty: 'oct',
      kid: `embedded-${randomBytes(4).toString('hex')}`,
      k: randomBytes(32).toString('base64url'),
    }
    await writePrivate(path, `${JSON.stringify({ keys: [key] }, null, 2)}\n`)
  }
  return path
}

async function programOf({ program }: PlatformOptions): Promise<string[]> {
  if (program !== 'bundle') return [...NODE_FLAGS, join(import.meta.dirname, '..', 'src', 'main.ts')]
  // Imported here only: running the sources does not need the packages that bundle them.
  const { bundledProgram } = await import('./bundle.ts')
  return bundledProgram()
}

async function operatorCommand(
  controlPlane: ControlPlane,
  options: PlatformOptions,
  companions: Companions,
  admin: KubeClient,
): Promise<PreparedPlatform['operator']> {
  const { folder, ports, outgoingHosts = [], environment = {} } = options
  const kubeconfig = await writeOperatorKubeconfig(controlPlane, folder, admin)
  const { certPem, keyPem } = await controlPlane.issueServingCertificate(['127.0.0.1', 'localhost'])
  const file = (name: string) => join(folder, 'platform', name)
  const vaultKeys = await platformKeys(file('vault-keys.json'))
  const [certificate, key, authority] = [file('identity.crt'), file('identity.key'), file('authority.crt')]
  // The cluster's authority, which signs the certificate that the API server presents to webhooks.
  const clientAuthority = file('client-authority.crt')
  await Promise.all([
    writePrivate(certificate, certPem),
    writePrivate(key, keyPem),
    writePrivate(authority, controlPlane.servingCaPem),
    writePrivate(clientAuthority, controlPlane.caPem),
  ])
  const identity = {
    certificate,
    key,
    authority,
    clientAuthority,
    issuer: issuerUrl(ports),
    realm: REALM,
    audience: AUDIENCE,
    domain: DOMAIN,
  }
  return {
    program: process.execPath,
    args: await programOf(options),
    environment: {
      ...operatorEnvironment(controlPlane, {
        ports,
        kubeconfig,
        ...identity,
        mailFolder: join(folder, 'mails'),
        vaultKeys,
        playedEngines: file('engines.json'),
        ...companions,
        outgoingHosts,
      }),
      ...environment,
    },
  }
}
