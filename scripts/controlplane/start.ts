import { mkdir, readFile } from 'node:fs/promises'
import { totalmem } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadAll } from 'js-yaml'
import { GATEWAY_PORTS, NODE_NAME } from '../node/addresses.ts'
import { removeCgroups, stateOf } from '../node/namespaces.ts'
import { findNodeParts, type NodeParts } from '../node/programs.ts'
import { machineFacts, nodeIsCramped, nodeIsImpossible } from '../node/requirements.ts'
import { type RunningNode, startNode } from '../node/start.ts'
import { buildPrograms } from './build.ts'
import { cachedAt } from './cache.ts'
import { openExisting } from './existing.ts'
import {
  apiServerFlags,
  controllerManagerFlags,
  etcdFlags,
  PLAYED,
  playerFlags,
  STAGES,
  schedulerFlags,
} from './flags.ts'
import { NODE_PROGRAMS, PROGRAMS, type Program, type ProgramName, readToolLock } from './modules.ts'
import { MAX_NODES, playedNames, playedNode } from './nodes.ts'
import { choosePorts } from './ports.ts'
import { accessTo, type Files, prepare } from './prepare.ts'
import { type ProcessCommand, ProcessGroup, stopLeftovers } from './processes.ts'
import { type Progress, silentProgress } from './progress.ts'
import { type AdminClient, adminClient, waitUntil } from './request.ts'
import { cacheFolder, chooseSource, programsIn, type SourceName } from './sources.ts'
import type { ToolSearch } from './tool.ts'
import type { ControlPlane, Simulated, StartOptions } from './types.ts'

const TOOLS = fileURLToPath(new URL('../../tools', import.meta.url))
const PROJECT = fileURLToPath(new URL('../..', import.meta.url))
const READY_DEADLINE_MS = 180_000
/** Always simulated in our own control plane. */
export const SIMULATED: readonly Simulated[] = ['nodes', 'pods', 'volumes', 'load-balancers', 'relational-engine']
/** Types in `deploy/played`; with a real node the first come from CloudNativePG itself. */
const RELATIONAL_ENGINE = 'cloudnative-pg.yaml'
const STORE_ENGINE = 'seaweedfs.yaml'
/** Still simulated with a real node, where nothing assigns addresses to load balancers. */
const SIMULATED_WITH_NODE: readonly Simulated[] = ['load-balancers']

/**
 * Starts a control plane on a data folder, or opens an existing cluster. What an earlier run of this folder left
 * running is stopped first. When this returns, the API server is ready, nodes are, and namespaces get their accounts.
 *
 * @throws Error with the end of the log of the process that failed, or saying what to install
 */
export async function startControlPlane(options: StartOptions): Promise<ControlPlane> {
  const folder = resolve(options.folder)
  const progress = options.progress ?? silentProgress
  // An existing folder keeps its mode: it may be shared, such as /tmp. What is created in it is private.
  await mkdir(folder, { recursive: true, mode: 0o700 })
  if (options.kubeconfig !== undefined) return openExisting(folder, resolve(options.kubeconfig))
  if ((options.nodes ?? 1) > MAX_NODES)
    throw new Error(`At most ${MAX_NODES} nodes can be played, not ${options.nodes}.`)

  if (options.realNode !== undefined) checkMachine(progress)
  const leftovers = await stopLeftovers(folder)
  await removeCgroups(stateOf(folder))
  if (leftovers.length > 0) progress.note(`Stopped what an earlier run left behind: ${leftovers.join(', ')}`)
  const { environment = process.env, signal } = options
  const wanted = options.realNode === undefined ? PROGRAMS : [...PROGRAMS, ...NODE_PROGRAMS]
  const { programs, source } = await findPrograms(wanted, { environment, progress, signal })
  const parts = options.realNode && (await findNodeParts({ environment, progress, signal }))
  const files = await progress.step('certificates and configuration', () => prepare(folder, options))
  const group = new ProcessGroup(folder)
  options.signal?.addEventListener('abort', () => group.abort(new Error('The start was interrupted.')), { once: true })
  options.signal?.throwIfAborted()
  const end = async () => {
    await group.stop()
    await removeCgroups(stateOf(folder))
  }
  let node: RunningNode | undefined
  let version: string
  try {
    node = parts && (await nodeOf(folder, { group, parts, files, options }))
    version = await run({ group, programs, files, progress, node, nodes: options.nodes ?? 1 })
  } catch (error) {
    await end()
    throw error
  }
  let stopped: Promise<void> | undefined
  return {
    source,
    version,
    simulated: node === undefined ? SIMULATED : SIMULATED_WITH_NODE,
    ...accessTo(folder, files),
    gateway: node?.gateway,
    kubectlPath: programs.kubectl,
    startProcess: (command) => group.start(inNodeNetwork(node?.withNames, command)),
    processes: group.running,
    failed: group.failed,
    stop: () => (stopped ??= end()),
  }
}

/** @throws Error that says why no node can run here */
function checkMachine(progress: Progress): void {
  const facts = machineFacts()
  const impossible = nodeIsImpossible(facts)
  if (impossible !== undefined) throw new Error(impossible)
  const cramped = nodeIsCramped(facts)
  if (cramped !== undefined) progress.note(cramped)
}

type Programs = Record<ProgramName, string>

type NodeStart = { group: ProcessGroup; parts: NodeParts; files: Files; options: StartOptions }

async function nodeOf(folder: string, { group, parts, files, options }: NodeStart): Promise<RunningNode> {
  const { ports = [] } = options.realNode ?? {}
  const gateway = await choosePorts(folder, GATEWAY_PORTS)
  const visible = [PROJECT, cachedAt('', options.environment)]
  const all = [files.flagOptions.ports.apiServer, ...ports]
  return (options.progress ?? silentProgress).step('namespaces, registry and containers of the node', () =>
    startNode({ folder, group, parts, ports: all, gateway, visible }),
  )
}

/** In the node's network, where Services and pods are reachable and names of Services resolve. */
function inNodeNetwork(enter: RunningNode['inNetwork'] | undefined, command: ProcessCommand): ProcessCommand {
  if (enter === undefined) return command
  const [program = '', ...args] = enter([command.program, ...command.args])
  return { ...command, program, args }
}

async function findPrograms(wanted: readonly Program[], { environment = process.env, progress, signal }: ToolSearch) {
  const lock = await readToolLock(TOOLS)
  const cache = cacheFolder(lock, environment)
  const assets = await programsIn(environment.KUBEBUILDER_ASSETS)
  const plan = chooseSource({ assets, cache: await programsIn(cache) }, wanted)
  if (plan.source === 'kubeconfig') throw new Error('A named kubeconfig needs no programs.')
  if (plan.build.length > 0) {
    await buildPrograms({ toolsFolder: TOOLS, cacheFolder: cache, lock, names: plan.build, progress, signal })
  }
  const programs = { ...(await programsIn(cache)), ...plan.found }
  const missing = wanted.filter(({ name }) => programs[name] === undefined).map(({ name }) => name)
  if (missing.length > 0)
    throw new Error(`${cache} lacks ${missing.join(', ')} after the build: remove that folder and try again.`)
  return { programs: programs as Programs, source: plan.source satisfies SourceName }
}

type RunOptions = {
  group: ProcessGroup
  programs: Programs
  files: Files
  progress: Progress
  /** A real node; if it is set, none is simulated. */
  node: RunningNode | undefined
  nodes: number
}

/**
 * Garbage collection would take a third of the API server's time, so a control plane of a test uses memory instead: up
 * to a twelfth of the machine's, as three run at once. Below the minimum, live data would hardly fit.
 */
const MIN_MEMORY_BYTES = 768 * 1024 ** 2
export const ROOM_FOR_GARBAGE = {
  GOGC: '500',
  GOMEMLIMIT: String(Math.max(MIN_MEMORY_BYTES, Math.round(totalmem() / 12))),
}

/** @returns the version of the API server, which a given folder of programs decides */
async function run(options: RunOptions): Promise<string> {
  const { files } = options
  const client = adminClient(files.server, { caPem: files.authorities.ca.certPem, ...files.admin })
  try {
    return await runWith(client, options)
  } finally {
    await client.close()
  }
}

async function runWith(client: AdminClient, options: RunOptions): Promise<string> {
  const { group, programs, files, progress, node, nodes } = options
  const { flagOptions } = files
  const environment = flagOptions.durable ? process.env : { ...process.env, ...ROOM_FOR_GARBAGE }
  const launch = (name: ProgramName, args: readonly string[]) =>
    group.start(inNodeNetwork(node?.inNetwork, { name, program: programs[name], args, environment }))
  const isOk = async (path: string) => (await client.send('GET', path)).status === 200
  await progress.step('etcd and kube-apiserver', async () => {
    launch('etcd', etcdFlags(flagOptions))
    launch('kube-apiserver', apiServerFlags(flagOptions))
    await waitUntil('/readyz of kube-apiserver', READY_DEADLINE_MS, () => isOk('/readyz'), group.failed)
  })
  const { gitVersion } = JSON.parse((await client.send('GET', '/version')).text) as { gitVersion: string }
  const names = node === undefined ? playedNames(nodes) : [NODE_NAME]
  await progress.step(`controllers, scheduler, ${node === undefined ? 'played nodes' : 'kubelet'}`, async () => {
    launch('kube-controller-manager', controllerManagerFlags(flagOptions))
    launch('kube-scheduler', schedulerFlags(flagOptions))
    await applyBasics(client, node === undefined ? 'cluster' : 'real-node')
    if (node === undefined) await applySimulatedNodes(client, gitVersion, nodes)
    else await node.join({ server: files.server, ca: files.authorities.ca, programs })
    await applySimulatedTypes(
      client,
      node === undefined ? [RELATIONAL_ENGINE, STORE_ENGINE] : [STORE_ENGINE],
      group.failed,
    )
    if (node === undefined) launch('kwok', playerFlags(flagOptions))
    const allReady = async () => {
      const answers = await Promise.all(names.map((name) => isNodeReady(client, name)))
      return answers.every(Boolean) && (await isOk('/api/v1/namespaces/default/serviceaccounts/default'))
    }
    await waitUntil('a ready node and the default service account', READY_DEADLINE_MS, allReady, group.failed)
  })
  return gitVersion
}

/** StorageClass, and the rights of the player and of other parts of this cluster. */
async function applyBasics(client: AdminClient, name: 'cluster' | 'real-node'): Promise<void> {
  const names = ['player', name]
  const texts = await Promise.all(names.map((file) => readFile(join(STAGES, `${file}.yaml`), 'utf8')))
  const documents = texts.flatMap((text) => loadAll(text) as BasicObject[])
  await Promise.all(documents.map((object) => client.apply(basicPath(object), object)))
}

async function applySimulatedNodes(client: AdminClient, version: string, nodes: number): Promise<void> {
  for (let index = 0; index < nodes; index += 1) {
    const { status, ...node } = playedNode(index, version)
    await client.apply(`/api/v1/nodes/${node.metadata.name}`, node)
    await client.apply(`/api/v1/nodes/${node.metadata.name}/status`, { ...node, spec: undefined, status })
  }
}

/** The types of simulated operators. The player looks for them at startup, and exits if one is missing. */
async function applySimulatedTypes(
  client: AdminClient,
  files: readonly string[],
  failed: Promise<never>,
): Promise<void> {
  const texts = await Promise.all(files.map((name) => readFile(join(PLAYED, name), 'utf8')))
  const definitions = texts.flatMap((text) => loadAll(text) as Definition[])
  const path = (name: string) => `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`
  await Promise.all(definitions.map((object) => client.apply(path(object.metadata.name), object)))
  const isServed = async ({ spec: { group, names } }: Definition) => {
    const [list, schema] = await Promise.all([
      client.send('GET', `/apis/${group}/v1/${names.plural}?limit=1`),
      // The player also reads the schema, which is published shortly after the type is served.
      client.send('GET', `/openapi/v3/apis/${group}/v1`),
    ])
    return list.status === 200 && schema.status === 200 && schema.text.includes(`{namespace}/${names.plural}/`)
  }
  const areServed = async () => (await Promise.all(definitions.map(isServed))).every(Boolean)
  await waitUntil('the types of played operators', READY_DEADLINE_MS, areServed, failed)
}

type Definition = BasicObject & { spec: { group: string; names: { plural: string } } }

type BasicObject = { apiVersion: string; kind: string; metadata: { name: string } }
const PLURALS: Record<string, string> = {
  StorageClass: 'storageclasses',
  ClusterRole: 'clusterroles',
  ClusterRoleBinding: 'clusterrolebindings',
}

function basicPath({ apiVersion, kind, metadata }: BasicObject): string {
  const plural = PLURALS[kind]
  if (plural === undefined) throw new Error(`deploy/stages/cluster.yaml holds a ${kind}, which is not known there.`)
  return `/apis/${apiVersion}/${plural}/${metadata.name}`
}

async function isNodeReady(client: AdminClient, name: string): Promise<boolean> {
  const { status, text } = await client.send('GET', `/api/v1/nodes/${name}`)
  if (status !== 200) return false
  const node = JSON.parse(text) as { status?: { conditions?: { type: string; status: string }[] } }
  return node.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false
}
