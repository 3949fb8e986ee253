import { rm, symlink } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { settingsIn } from '../../src/config.ts'
import { messageOf } from '../../src/core/errors.ts'
import { unlessAborted } from '../../src/core/unlessAborted.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { writePrivate } from '../controlplane/files.ts'
import { type ControlPlane, type Progress, startControlPlane } from '../controlplane/index.ts'
import { writeKubeconfigFile } from '../controlplane/kubeconfig.ts'
import { choosePorts } from '../controlplane/ports.ts'
import { stopLeftovers } from '../controlplane/processes.ts'
import type { ToolSearch } from '../controlplane/tool.ts'
import { findGitHost, isGitHostBuilt } from '../githost/find.ts'
import { pushEngines, pushLibrary } from '../node/library.ts'
import { runningNamespaces } from '../node/namespaces.ts'
import { installPrometheus } from '../node/prometheus.ts'
import { installRelationalEngine } from '../node/relationalEngine.ts'
import { findObjectStore } from '../objectstore/find.ts'
import { PLATFORM_PORTS } from '../platform/ports.ts'
import { administrator, installPlatform, platformAccess } from '../platform.ts'
import { findRegistry } from '../registry/find.ts'
import type { UpArguments } from './arguments.ts'
import { becomeSupervisor, type DevFile, forgetData, refuseOtherPods, writeDevFile } from './state.ts'

const COMMAND_LINE = resolve(import.meta.dirname, '../../bin/freehold.mjs')

type Search = ToolSearch & { readonly signal: AbortSignal }

export type Supervision = {
  progress: Progress
  /** Ends the run, before or after it is ready. */
  signal: AbortSignal
  /** Called once no other process can run on the data folder. */
  onBegin?(): void
  /** `isPersonNew`: this run created the first person's password. */
  onReady(dev: DevFile, isPersonNew: boolean): void
}

/**
 * Runs everything until the signal, or until a process fails, then stops everything.
 *
 * @returns false when another process runs on this data folder
 * @throws Error of the failed step or process; nothing is left running then
 */
export async function supervise(
  options: UpArguments,
  { progress, signal, onBegin, onReady }: Supervision,
): Promise<boolean> {
  const { folder } = options
  const release = await becomeSupervisor(folder)
  if (release === undefined) return false
  onBegin?.()
  let controlPlane: ControlPlane | undefined
  // Parallel builds end with the run: after a failure they would keep it alive as long as a build takes.
  const over = new AbortController()
  const search: Search = { progress, signal: AbortSignal.any([signal, over.signal]) }
  try {
    // Before ports are chosen: leftovers of an earlier run hold this folder's ports.
    const leftovers = await stopLeftovers(folder)
    if (leftovers.length > 0) progress.note(`Stopped what an earlier run left behind: ${leftovers.join(', ')}`)
    if (options.fresh) await forgetData(folder)
    if (options.kubeconfig === undefined) await refuseOtherPods(folder, options.node)
    const programs = await findBeside(options, search)
    const requestedPorts = options.facadePort === undefined ? {} : { facade: options.facadePort }
    const ports = await choosePorts(folder, PLATFORM_PORTS, requestedPorts)
    controlPlane = await startControlPlane({
      folder,
      kubeconfig: options.kubeconfig,
      nodes: options.nodes,
      ...(options.node ? { realNode: { ports: Object.values(ports) } } : {}),
      progress,
      signal,
      ...platformAccess(ports),
    })
    if (options.node) void completeNode(controlPlane, folder, search)
    const {
      isPersonNew,
      store: _store,
      registry: served,
      ...platform
      // Pending work ends with the processes that it calls, which are stopped next; nobody waits for it.
    } = await unlessAborted(
      installPlatform(controlPlane, {
        ...{ folder, ports, progress, signal, ...programs },
        environment: settingsIn(process.env),
      }),
      signal,
    )
    const host = served === undefined ? {} : { registry: served.host, registryAddress: served.address }
    const dev = { ...platform, ...host, ...(await describe(folder, controlPlane, platform.settings)) }
    await writeDevFile(folder, dev)
    onReady(dev, isPersonNew)
    await Promise.race([controlPlane.failed, aborted(signal)])
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    over.abort()
    const running = controlPlane
    if (running !== undefined) await progress.step('stopping', () => running.stop())
    await release()
  }
  return true
}

/** Programs that run beside the platform, which may have to be built first. */
async function findBeside({ git }: UpArguments, { progress, signal }: Search) {
  if (git && !(await isGitHostBuilt()))
    progress.note('The Git host is built now, which takes ten minutes and more, and then never again')
  const objectStore = findObjectStore(progress, signal)
  const gitHost = git ? findGitHost(progress, signal) : undefined
  const registry = findRegistry(progress, signal)
  // Awaited when the platform is installed; an earlier failure is not the one to show.
  for (const search of [objectStore, gitHost, registry]) search?.catch(() => undefined)
  return { objectStore, gitHost, registry }
}

/** In parallel to everything else: the platform is usable earlier, and the first compilation takes half an hour. */
async function completeNode(controlPlane: ControlPlane, folder: string, search: ToolSearch): Promise<void> {
  const { progress, signal } = search
  const node = await runningNamespaces(folder)
  if (node === undefined) return
  const reported = async (title: string, complete: () => Promise<string>) => {
    const failed = (error: unknown) => `${title} cannot run: ${messageOf(error)}`
    const line = await complete().catch(failed)
    if (signal?.aborted !== true) progress.note(line)
  }
  await reported('SQL instances', async () => {
    await pushEngines(node, search)
    return 'SQL instances can run: MariaDB is on the node'
  })
  const asAdministrator = async <Result>(work: (client: KubeClient) => Promise<Result>) => {
    const client = administrator(controlPlane)
    return work(client).finally(() => client.close())
  }
  await reported('Relational databases', () =>
    asAdministrator(async (client) => {
      const home = { node, client, kubectl: controlPlane.kubectlPath ?? 'kubectl' }
      const major = await installRelationalEngine(home, search)
      return `Relational databases can run: CloudNativePG and PostgreSQL ${major} are on the node`
    }),
  )
  await reported('Web metrics', () =>
    asAdministrator(async (client) => {
      await installPrometheus({ node, client }, search)
      return 'Requests are counted: Prometheus is on the node'
    }),
  )
  await reported('Builds', async () => {
    await pushLibrary(node, search)
    return 'Code can be built: images of the builder and of Node.js are on the node'
  })
}

async function describe(folder: string, controlPlane: ControlPlane, settings: DevFile['settings']) {
  const certificateAuthority = join(folder, 'certificate-authority.crt')
  await writePrivate(certificateAuthority, controlPlane.servingCaPem)
  const { source, version, kubectlPath, gateway } = controlPlane
  // With the data folder on the path both commands are found, even without an installed kubectl.
  for (const [name, target] of [['kubectl', kubectlPath] as const, ['freehold', COMMAND_LINE] as const]) {
    await rm(join(folder, name), { force: true })
    if (target !== undefined) await symlink(target, join(folder, name))
  }
  let kubeconfig = controlPlane.kubeconfigPath
  if (source !== 'kubeconfig') {
    kubeconfig = join(folder, 'kubeconfig')
    await writeKubeconfigFile(kubeconfig, controlPlane.adminKubeconfig)
  }
  // For /version: what the control plane simulates, plus what was started beside it.
  const simulated = (settings.PLATFORM_SIMULATED ?? '').split(',').filter((part) => part !== '')
  return { gateway, kubeconfig, kubernetes: { source, version, simulated }, certificateAuthority }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    if (signal.aborted) done()
    else signal.addEventListener('abort', () => done(), { once: true })
  })
}
