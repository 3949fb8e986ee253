import { mkdir, rm } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { dump } from 'js-yaml'
import { writePrivate } from '../controlplane/files.ts'
import { layout } from '../controlplane/flags.ts'
import { kubeconfigOf, writeKubeconfigFile } from '../controlplane/kubeconfig.ts'
import type { NodeProgramName } from '../controlplane/modules.ts'
import type { Authority } from '../controlplane/pki.ts'
import { onPath, type ProcessGroup } from '../controlplane/processes.ts'
import {
  GATEWAY_ADDRESS,
  type GatewayPorts,
  NODE_ADDRESS,
  NODE_NAME,
  PACKAGES,
  REGISTRY,
  WRITABLE_REGISTRY,
} from './addresses.ts'
import {
  containerdConfiguration,
  dnsConfiguration,
  kubeletConfiguration,
  type NodeFolders,
  podNetwork,
  proxyConfiguration,
  registryConfiguration,
  registryHosts,
} from './configuration.ts'
import { pushInto } from './images.ts'
import { npmRegistry } from './library.ts'
import { type Namespaces, startNamespaces, stateOf } from './namespaces.ts'
import type { NodeParts } from './programs.ts'

export type NodeOptions = {
  readonly folder: string
  readonly group: ProcessGroup
  readonly parts: NodeParts
  /** Loopback ports inside that are also served on loopback here: those of the API server and of the platform. */
  readonly ports: readonly number[]
  /** Ports on loopback here that lead to the Gateway. */
  readonly gateway: GatewayPorts
  /** Further folders that programs inside must see. */
  readonly visible: readonly string[]
}

/** What only a running API server can give: its address, and certificates. */
export type Membership = {
  readonly server: string
  readonly ca: Authority
  readonly programs: Readonly<Record<NodeProgramName, string>>
}

export type RunningNode = {
  readonly gateway: GatewayPorts
  inNetwork: Namespaces['inNetwork']
  withNames: Namespaces['withNames']
  /** Starts containers, Services and names: when it returns, the kubelet is about to register its node. */
  join(membership: Membership): Promise<void>
}

/**
 * Makes the namespaces of a node, and starts in them what needs no API server. State of an earlier run is forgotten:
 * containers do not outlive their namespaces.
 */
export async function startNode(options: NodeOptions): Promise<RunningNode> {
  const { folder, group, parts, ports, gateway, visible } = options
  const state = stateOf(folder)
  for (const name of ['containerd', 'cni', 'kubelet', 'pod-logs', 'registry']) {
    await rm(join(state, name), { recursive: true, force: true })
  }
  for (const name of ['cni/net.d', 'kubelet', 'pod-logs', 'volume-plugins', 'volumes', 'registries']) {
    await mkdir(join(state, name), { recursive: true, mode: 0o711 })
  }
  const folders: NodeFolders = { state, pki: layout(folder).pki, packages: parts.packages }
  const path = pathOf(parts.packages)
  const kept = [folder, parts.packages, ...visible]
  const namespaces = await startNamespaces({ group, state, pause: parts.pause, path, kept })
  const launch = launcherOf(group, parts.packages, path)
  const toGateway = [`${gateway.gatewayHttp}=${GATEWAY_ADDRESS}:80`, `${gateway.gatewayHttps}=${GATEWAY_ADDRESS}:443`]
  launch('forward', [parts.forward, String(namespaces.pid), ...ports.map(String), ...toGateway])
  for (const [name, address] of [
    ['registry', REGISTRY],
    ['registry-writable', WRITABLE_REGISTRY],
  ] as const) {
    const file = join(state, `${name}.yaml`)
    const isReadOnly = address === REGISTRY
    await writePrivate(file, dump(registryConfiguration(folders, address, { isReadOnly })))
    launch(name, namespaces.inNetwork([parts.registry, 'serve', file]), { OTEL_TRACES_EXPORTER: 'none' })
  }
  for (const name of [REGISTRY, '_default'])
    await writePrivate(join(state, 'registries', name, 'hosts.toml'), registryHosts(REGISTRY))
  const mirror = [
    join(import.meta.dirname, 'packageMirror.ts'),
    await npmRegistry(),
    NODE_ADDRESS,
    String(PACKAGES.port),
  ]
  launch('packages', [process.execPath, ...mirror, ...namespaces.inNetwork([])])
  await writePrivate(join(state, 'cni/net.d/10-pods.conflist'), JSON.stringify(podNetwork(folders)))
  const containerd = join(state, 'containerd.toml')
  const program = (name: string) => programIn(parts.packages, name)
  await writePrivate(containerd, containerdConfiguration(folders, program('runc')))
  launch('containerd', namespaces.inside([program('containerd'), '--config', containerd]))
  await pushInto(namespaces, parts.images)
  return {
    gateway,
    inNetwork: namespaces.inNetwork,
    withNames: namespaces.withNames,
    join: (membership) => joinCluster({ membership, folders, namespaces, launch, parts }),
  }
}

type Launch = (name: string, command: readonly string[], environment?: NodeJS.ProcessEnv) => void
type Joining = {
  membership: Membership
  folders: NodeFolders
  namespaces: Namespaces
  launch: Launch
  parts: NodeParts
}

async function joinCluster({ membership, folders, namespaces, launch, parts }: Joining): Promise<void> {
  const { server, ca, programs } = membership
  const { state, pki } = folders
  const write = (name: string, content: string | object) =>
    writePrivate(join(state, name), typeof content === 'string' ? content : dump(content, { lineWidth: -1 }))
  const kubeconfig = async (name: string, commonName: string, organizations: readonly string[] = []) => {
    const user = await ca.keep(pki, name, { commonName, organizations, purpose: 'client' })
    const path = join(state, `${name}.kubeconfig`)
    await writeKubeconfigFile(path, kubeconfigOf(server, ca.certPem, [{ name, user }]))
    return path
  }
  const [node, proxy, dns, keeper] = await Promise.all([
    kubeconfig('node', `system:node:${NODE_NAME}`, ['system:nodes']),
    kubeconfig('kube-proxy', 'system:kube-proxy'),
    kubeconfig('dns', 'freehold:dns'),
    kubeconfig('node-keeper', 'freehold:node-keeper'),
    ca.keep(pki, 'kubelet', { commonName: NODE_NAME, purpose: 'server', names: [NODE_ADDRESS, NODE_NAME] }),
  ])
  await Promise.all([
    write('kubelet.yaml', kubeletConfiguration(folders, namespaces.cgroup)),
    write('kube-proxy.yaml', proxyConfiguration(proxy)),
    write('Corefile', dnsConfiguration(dns)),
  ])
  const root = { 'root-dir': join(state, 'kubelet'), 'cert-dir': join(state, 'kubelet-certificates') }
  const own = { 'hostname-override': NODE_NAME, 'node-ip': NODE_ADDRESS }
  const flags = { config: join(state, 'kubelet.yaml'), kubeconfig: node, ...root, ...own }
  launch('kubelet', namespaces.inside([programs.kubelet, ...words(flags)]))
  const proxyFlags = { config: join(state, 'kube-proxy.yaml'), 'hostname-override': NODE_NAME }
  launch('kube-proxy', namespaces.inNetwork([programs['kube-proxy'], ...words(proxyFlags)]))
  const script = join(import.meta.dirname, 'keeper.ts')
  launch('node-keeper', namespaces.inNetwork([process.execPath, script, keeper, join(state, 'volumes')]))
  launch('dns', namespaces.inNetwork([parts.coredns, '-conf', join(state, 'Corefile')]))
}

const words = (flags: Record<string, string>) => Object.entries(flags).map(([name, value]) => `--${name}=${value}`)

function launcherOf(group: ProcessGroup, packages: string, path: string): Launch {
  // Libraries from packages are only for what the machine lacks: its own come first.
  const libraries = ['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/lib'].map(
    (folder) => `${packages}${folder}`,
  )
  const base = { ...process.env, PATH: path, LD_LIBRARY_PATH: libraries.join(':') }
  return (name, [program = '', ...args], environment = {}) => {
    group.start({ name, program, args, environment: { ...base, ...environment } })
  }
}

function pathOf(packages: string): string {
  const own = ['/usr/sbin', '/usr/bin', '/sbin', '/bin']
  return [...(process.env.PATH ?? '').split(delimiter), ...own, ...own.map((folder) => packages + folder)].join(':')
}

/** The path of a program on the machine, otherwise from the packages. */
function programIn(packages: string, name: string): string {
  return onPath(name) ?? join(packages, 'usr', name === 'runc' ? 'sbin' : 'bin', name)
}
