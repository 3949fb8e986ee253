import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentProgress } from '../../scripts/controlplane/index.ts'
import { choosePorts } from '../../scripts/controlplane/ports.ts'
import { runningNamespaces } from '../../scripts/node/namespaces.ts'
import { findObjectStore } from '../../scripts/objectstore/find.ts'
import { PLATFORM_PORTS, type PlatformPorts } from '../../scripts/platform/ports.ts'
import { type Platform, platformAccess, preparePlatform, untilReady } from '../../scripts/platform.ts'
import { keepSeenRoutes, SEEN_VARIABLE } from '../../scripts/test/coverage.ts'
import { seedStore } from '../../scripts/test/seed.ts'
import { createKubeClient, type KubeClient } from '../../src/kube/client.ts'
import { loadKubeconfig } from '../../src/kubeconfig/kubeconfig.ts'
import { TEST_CONFIG } from '../config.ts'
import { type FaultProxy, startProxy } from '../faults/proxy.ts'
import { startWire, type Wire } from '../faults/wire.ts'
import { endedBy } from '../make/ownProcess.ts'
import { askingAgain } from '../worlds/tenant.ts'
import { type OwnControlPlane, startOwnControlPlane } from './index.ts'

export type OwnPlatformOptions = {
  nodes?: number
  /** Runs pods for real, on a node of its own; needs root. */
  hasRealNode?: boolean
  /** Sends the operator's requests through a proxy for each of its accounts, which counts them and injects faults. */
  proxied?: boolean
  /** Whether the API server sends the audit log from its start on. */
  isAudited?: boolean
  /** Sends the operator's connections through a network that may fail. */
  wired?: boolean
  /** Runs an object store beside it. */
  withStore?: boolean
  environment?: Record<string, string>
}

/** Milliseconds. */
const RESTART_AFTER = 1_000
/** Tests start several platforms at once, which people have no reason to do. */
const READY_WITHIN = 600_000

type Role = 'facade' | 'controllers' | 'activator'
type Command = { program: string; args: readonly string[]; environment: Record<string, string> }

/** A platform for one test, whose operator it may kill and restart. */
export class OwnPlatform {
  readonly controlPlane: OwnControlPlane
  readonly platform: Platform
  readonly ports: PlatformPorts
  readonly admin: KubeClient
  readonly proxies: Record<'controllers' | 'facade' | 'activator', FaultProxy> | undefined
  readonly wire: Wire | undefined
  readonly hasStore: boolean
  /** How the operator is started. */
  readonly command: Command
  readonly #replicas: { role: Role; child: ChildProcess }[] = []
  #started = 1
  #operator: ChildProcess | undefined

  private constructor(
    parts: Pick<OwnPlatform, 'controlPlane' | 'platform' | 'ports' | 'admin' | 'proxies' | 'wire' | 'hasStore'>,
    command: Command,
  ) {
    this.controlPlane = parts.controlPlane
    this.platform = parts.platform
    this.ports = parts.ports
    this.admin = parts.admin
    this.proxies = parts.proxies
    this.wire = parts.wire
    this.hasStore = parts.hasStore
    this.command = command
  }

  /** Everything but the operator. */
  static async prepare(options: OwnPlatformOptions = {}): Promise<OwnPlatform> {
    const ground = options.hasRealNode === true ? await onNode() : await onPlayedNodes(options)
    try {
      return await OwnPlatform.#prepareOn(ground, options)
    } catch (error) {
      // Its processes would keep the test process alive.
      await ground.controlPlane.stop()
      throw error
    }
  }

  static async #prepareOn({ controlPlane, ports }: Ground, options: OwnPlatformOptions): Promise<OwnPlatform> {
    const { folder } = controlPlane
    const signal = new AbortController().signal
    const { platform, operator, store } = await preparePlatform(controlPlane, {
      folder,
      ports,
      progress: silentProgress,
      signal,
      program: TEST_CONFIG.isBundled ? 'bundle' : 'sources',
      ...(options.withStore === true ? { objectStore: findObjectStore(silentProgress, signal) } : {}),
    })
    const named = { fieldManager: 'test', userAgent: 'freehold-test' }
    const admin = askingAgain(createKubeClient(loadKubeconfig(controlPlane.kubeconfigPath), named))
    const environment = { ...operator.environment, ...options.environment }
    const proxies = options.proxied === true ? await proxied(folder, environment) : undefined
    const wire = options.wired === true ? await wired(folder, environment) : undefined
    const hasStore = store !== undefined
    const [program = '', ...args] = await besideNode(folder, [operator.program, ...operator.args])
    return new OwnPlatform(
      { controlPlane, platform, ports, admin, proxies, wire, hasStore },
      { program, args, environment },
    )
  }

  /**
   * Starts the operator and waits until it is ready. Its log is `logs/freehold.log` in the folder. Like a Deployment,
   * restarts it if it exits: an operator that lost its lease on a slow machine exits on purpose.
   *
   * @param more variables that override the usual ones; undefined removes one
   */
  async startOperator(more: Record<string, string | undefined> = {}): Promise<void> {
    this.#spawnOperator(more)
    await untilReady(this.ports, new AbortController().signal, this.operatorLog, READY_WITHIN)
  }

  #spawnOperator(more: Record<string, string | undefined>): void {
    const log = openSync(this.operatorLog, 'a')
    const { program, args, environment } = this.command
    const child = spawn(program, args, { stdio: ['ignore', log, log], env: { ...environment, ...more } })
    closeSync(log)
    this.#operator = child
    child.once('exit', () => {
      if (this.#operator !== child) return
      setTimeout(() => {
        if (this.#operator === child) this.#spawnOperator(more)
      }, RESTART_AFTER)
    })
  }

  get operatorPid(): number | undefined {
    return this.#operator?.pid
  }

  get operatorLog(): string {
    return join(this.controlPlane.folder, 'logs', 'freehold.log')
  }

  /** Ends the operator: at once with SIGKILL, gracefully with SIGTERM. */
  async endOperator(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const operator = this.#operator
    this.#operator = undefined
    if (operator !== undefined) await endedBy(operator, signal)
  }

  /** Stops everything, lets `between` work on the files of the control plane, and starts everything again, with `more`. */
  async restart(more: Record<string, string>, between: () => Promise<void>): Promise<void> {
    await this.endOperator('SIGTERM')
    await this.controlPlane.restart(platformAccess(this.ports), between)
    await this.startOperator(more)
  }

  /**
   * A further process beside the operator, on ports of its own; the API server asks the operator's facade alone. It ends
   * with the platform.
   *
   * @returns its address
   */
  async startReplica(role: Role = 'facade', more: Record<string, string> = {}): Promise<string> {
    this.#started += 1
    const number = this.#started
    const { folder } = this.controlPlane
    const named = (name: string) => `${name}-${number}`
    const chosen = await choosePorts(folder, PLATFORM_PORTS.map(named))
    const ports = Object.fromEntries(PLATFORM_PORTS.map((name) => [name, chosen[named(name)]])) as PlatformPorts
    const { program, args, environment } = this.command
    const logFile = join(folder, 'logs', `freehold-${number}.log`)
    const log = openSync(logFile, 'a')
    const own = {
      PLATFORM_ROLE: role,
      PLATFORM_FACADE_PORT: String(ports.facade),
      PLATFORM_ACTIVATOR_PORT: String(ports.activator),
      PLATFORM_MANAGEMENT_PORT: String(ports.management),
      PLATFORM_IDENTITY_HTTPS_PORT: String(ports.identity),
      PLATFORM_IDENTITY_HTTP_PORT: String(ports.token),
      PLATFORM_WEBHOOK_PORT: String(ports.webhook),
      PLATFORM_AGENT_PORT: String(ports.agent),
    }
    const child = spawn(program, args, { stdio: ['ignore', log, log], env: { ...environment, ...own, ...more } })
    this.#replicas.push({ role, child })
    await untilReady(ports, new AbortController().signal, logFile, READY_WITHIN)
    return `http://127.0.0.1:${ports.facade}`
  }

  /** Kills the most recently started replica of a role. */
  async endReplica(role: Role): Promise<void> {
    const index = this.#replicas.findLastIndex((replica) => replica.role === role)
    const [replica] = index < 0 ? [] : this.#replicas.splice(index, 1)
    if (replica !== undefined) await endedBy(replica.child, 'SIGKILL')
  }

  /** Adds the routes that have succeeded on this operator to those of the run: its counters end with it. */
  async keepSeen(): Promise<void> {
    const seenFile = process.env[SEEN_VARIABLE]
    // Its test does not depend on whether it answers at the end.
    if (seenFile !== undefined && this.#operator !== undefined)
      await keepSeenRoutes(`http://127.0.0.1:${this.ports.management}`, seenFile).catch(() => {})
  }

  /** Ends the operator and its replicas. Stored objects stay, and the next operator may have other settings. */
  async endProcesses(): Promise<void> {
    await this.keepSeen()
    await Promise.all(this.#replicas.splice(0).map(({ child }) => endedBy(child)))
    await this.endOperator('SIGTERM')
  }

  async stop(): Promise<void> {
    await this.endProcesses()
    await this.proxies?.controllers.close()
    await this.proxies?.facade.close()
    await this.proxies?.activator.close()
    await this.wire?.close()
    await this.admin.close()
    await this.controlPlane.stop()
  }
}

type Ground = { controlPlane: OwnControlPlane; ports: PlatformPorts }

async function onPlayedNodes({ nodes = 1, isAudited = false }: OwnPlatformOptions): Promise<Ground> {
  const ports = await freePorts()
  const access = platformAccess(ports)
  const controlPlane = await startOwnControlPlane({ nodes, ...(isAudited ? access : {}) }, seedStore)
  // Further ports in this folder are different ones.
  await choosePorts(controlPlane.folder, PLATFORM_PORTS, ports)
  if (!isAudited) await controlPlane.reconfigure(access)
  return { controlPlane, ports }
}

/** The node's namespaces need the ports before the control plane has a folder. */
async function onNode(): Promise<Ground> {
  const ports = await freePorts()
  const realNode = { ports: Object.values(ports) }
  return { controlPlane: await startOwnControlPlane({ realNode, ...platformAccess(ports) }), ports }
}

/** For values that are needed before the control plane has a folder. */
async function freePorts(): Promise<PlatformPorts> {
  const draft = await mkdtemp(join(tmpdir(), 'freehold-ports-'))
  const ports = await choosePorts(draft, PLATFORM_PORTS)
  await rm(draft, { recursive: true })
  return ports
}

/** The command in the network of the node of the folder, if it has one. */
async function besideNode(folder: string, command: readonly string[]): Promise<readonly string[]> {
  return (await runningNamespaces(folder))?.withNames(command) ?? command
}

/** Replaces the operator's kubeconfig by one whose accounts each go through a proxy that adds their credentials. */
async function proxied(folder: string, environment: Record<string, string>) {
  // An operator that outlives its proxy keeps calling it: not at a port that another test's server may get.
  const ports = await choosePorts(folder, ['controllersProxy', 'facadeProxy', 'activatorProxy'])
  const through = async (part: 'controllers' | 'facade' | 'activator') =>
    startProxy({
      port: ports[`${part}Proxy`],
      upstream: loadKubeconfig(environment.PLATFORM_KUBECONFIG, environment[`PLATFORM_${part.toUpperCase()}_CONTEXT`]),
    })
  const proxies = {
    controllers: await through('controllers'),
    facade: await through('facade'),
    activator: await through('activator'),
  }
  const urls = Object.fromEntries(Object.entries(proxies).map(([part, { url }]) => [`freehold-${part}`, url]))
  const path = join(folder, 'platform', 'proxied-kubeconfig')
  await writeFile(path, proxiedKubeconfig(urls))
  environment.PLATFORM_KUBECONFIG = path
  return proxies
}

/** Replaces the operator's kubeconfig by one that uses a network that may fail; TLS passes through unchanged. */
async function wired(folder: string, environment: Record<string, string>): Promise<Wire> {
  const given = environment.PLATFORM_KUBECONFIG ?? ''
  const { server } = loadKubeconfig(given, environment.PLATFORM_FACADE_CONTEXT)
  const { wire: port } = await choosePorts(folder, ['wire'])
  const wire = await startWire(server, port)
  const path = join(folder, 'platform', 'wired-kubeconfig')
  await writeFile(path, (await readFile(given, 'utf8')).replaceAll(server, wire.url))
  environment.PLATFORM_KUBECONFIG = path
  return wire
}

function proxiedKubeconfig(urls: Record<string, string>): string {
  const names = Object.keys(urls)
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: names.map((name) => ({ name, cluster: { server: urls[name] } })),
    users: names.map((name) => ({ name, user: {} })),
    contexts: names.map((name) => ({ name, context: { cluster: name, user: name } })),
    'current-context': names[0],
  })
}
