import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writePrivate } from '../controlplane/files.ts'
import { type ControlPlane, createProgress, startControlPlane } from '../controlplane/index.ts'
import { choosePorts, type Ports } from '../controlplane/ports.ts'
import { findGitHost } from '../githost/find.ts'
import { findObjectStore } from '../objectstore/find.ts'
import { PLATFORM_PORTS } from '../platform/ports.ts'
import { installPlatform, platformAccess } from '../platform.ts'
import { findRegistry } from '../registry/find.ts'
import { beforeInterrupted, interruption } from './interruption.ts'
import { seedStore } from './seed.ts'

/** A running platform for tests, and the variables that tell them where it is. */
export type TestPlatform = {
  environment: Record<string, string>
  folder: string
  managementUrl: string
  stop(): Promise<void>
}

/** For tests on a node that are marked `@backups`, which put a store there (test/node/backupStore.ts). */
export const BACKUPS = {
  PLATFORM_BACKUP_BUCKET: 'backups',
  PLATFORM_BACKUP_ENDPOINT: 'http://store.backups.svc.cluster.local:7070',
  PLATFORM_BACKUP_REGION: 'us-east-1',
}

/** Where tests simulate Git hosts and registries: the platform calls these ports, at which nothing listens before. */
async function placeOfProviders(controlPlane: ControlPlane, folder: string, { git, ssh }: Ports<'git' | 'ssh'>) {
  const { certPem, keyPem } = await controlPlane.issueServingCertificate(['127.0.0.1'])
  const file = (name: string) => join(folder, `providers-${name}`)
  const place = { certificate: file('tls.crt'), key: file('tls.key'), tokenFile: file('token') }
  await writePrivate(place.certificate, certPem)
  await writePrivate(place.key, keyPem)
  return { port: git, host: `127.0.0.1:${git}`, ssh: { port: ssh, host: `127.0.0.1:${ssh}` }, ...place }
}

/**
 * Starts a control plane and a platform in a temporary folder. What `FREEHOLD_TEST_PLATFORM` names holds what
 * `dev.json` holds and the path of kubectl; `FREEHOLD_TEST_CLUSTER` names the same file for tests of `src/kube`.
 */
export async function startTestPlatform({
  hasRealNode = false,
  environment = {},
}: {
  hasRealNode?: boolean
  environment?: Record<string, string>
} = {}): Promise<TestPlatform> {
  const folder = await mkdtemp(join(tmpdir(), 'freehold-platform-'))
  const progress = createProgress(process.stderr)
  const signal = interruption()
  const ports = await choosePorts(folder, [...PLATFORM_PORTS, 'ssh'])
  const objectStore = findObjectStore(progress, signal)
  objectStore.catch(() => undefined)
  const registryProgram = findRegistry(progress, signal)
  registryProgram.catch(() => undefined)
  const start = async () => {
    // With a real node other CRDs are installed, and none are simulated.
    if (!hasRealNode) await seedStore(folder, { progress, signal })
    return startControlPlane({
      folder,
      durable: false,
      ...(hasRealNode ? { realNode: { ports: Object.values(ports) } } : { nodes: 2 }),
      progress,
      signal,
      ...platformAccess(ports),
    })
  }
  const controlPlane = await start().catch(async (error: unknown) => {
    await rm(folder, { recursive: true, force: true })
    throw error
  })
  const stopAll = async () => {
    await controlPlane.stop()
    await rm(folder, { recursive: true, force: true })
  }
  const forget = beforeInterrupted(stopAll)
  const stop = () => stopAll().finally(forget)
  try {
    const git = await placeOfProviders(controlPlane, folder, ports)
    const {
      isPersonNew: _,
      settings: _settings,
      store,
      registry,
      ...platform
    } = await installPlatform(controlPlane, {
      folder,
      ports,
      progress,
      signal,
      objectStore,
      registry: registryProgram,
      // Real pods fetch from a real registry.
      ...(hasRealNode
        ? { gitHost: findGitHost(progress, signal) }
        : { otherGitHost: { url: `https://${git.host}/circuit`, tokenFile: git.tokenFile } }),
      outgoingHosts: [git.host, git.ssh.host],
      // Tests run the shipped bundle; `up` runs the sources.
      program: 'bundle',
      // All tests call from one address, often to be refused, and mostly as one principal.
      environment: {
        PLATFORM_REQUESTS_PER_MINUTE: '60000',
        PLATFORM_ANONYMOUS_REQUESTS_PER_MINUTE: '100000',
        ...environment,
      },
    })
    const certificateAuthority = join(folder, 'certificate-authority.crt')
    await writePrivate(certificateAuthority, controlPlane.servingCaPem)
    const file = join(folder, 'test.json')
    const { source, version, simulated, kubectlPath, kubeconfigPath: kubeconfig, gateway } = controlPlane
    const managementUrl = `http://127.0.0.1:${ports.management}`
    const activatorUrl = `http://127.0.0.1:${ports.activator}`
    const urls = { managementUrl, activatorUrl }
    const place = { folder, source, version, simulated, kubectlPath, kubeconfig, certificateAuthority, ...urls }
    await writePrivate(file, JSON.stringify({ ...platform, ...place, store, registry, gateway, git }))
    return { environment: { FREEHOLD_TEST_PLATFORM: file, FREEHOLD_TEST_CLUSTER: file }, folder, managementUrl, stop }
  } catch (error) {
    await stop()
    throw error
  }
}
