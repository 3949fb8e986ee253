import { join } from 'node:path'
import { NODE_PROGRAMS, readToolLock } from '../controlplane/modules.ts'
import { cacheFolder, programsIn } from '../controlplane/sources.ts'
import { builtTool, isToolBuilt, type Tool, type ToolSearch } from '../controlplane/tool.ts'
import { REGISTRY_TOOL } from '../registry/find.ts'
import { filesImage } from './filesImage.ts'
import type { Image } from './image.ts'
import { programImage } from './images.ts'
import { unpackedPackages } from './packages.ts'

const TOOLS = {
  forward: { folder: 'node', package: './forward', name: 'forward' },
  pause: { folder: 'node', package: './pause', name: 'pause' },
  coredns: { folder: 'coredns', package: '.', name: 'coredns' },
  registry: REGISTRY_TOOL,
  traefik: { folder: 'traefik', package: 'github.com/traefik/traefik/v3/cmd/traefik', name: 'traefik' },
  'metrics-server': {
    folder: 'metrics-server',
    package: 'sigs.k8s.io/metrics-server/cmd/metrics-server',
    name: 'metrics-server',
  },
} as const satisfies Record<string, Tool>

/** Programs that run in pods: each becomes an image of that name. */
const IMAGE_PROGRAMS = ['pause', 'traefik', 'metrics-server'] as const
export const NODE_IMAGES = IMAGE_PROGRAMS.map((name) => `${name}:1`)

const PACKAGES = ['containerd', 'runc', 'containernetworking-plugins', 'nftables', 'iproute2']

/** Programs of a node beside those of Kubernetes. */
export type NodeParts = Record<keyof typeof TOOLS, string> & {
  /** Root of the Debian packages that this machine lacks. */
  readonly packages: string
  readonly images: readonly Image[]
}

/** From the cache, or built and downloaded once. @throws Error that says what is missing */
export async function findNodeParts(search: ToolSearch): Promise<NodeParts> {
  const request = { name: 'node', packages: PACKAGES, dependencies: 'missing' } as const
  const packages = await unpackedPackages(request, search)
  const found = {} as Record<keyof typeof TOOLS, string>
  for (const [name, tool] of Object.entries(TOOLS)) {
    found[name as keyof typeof TOOLS] = await builtTool(tool, search)
  }
  const images = await Promise.all([
    ...IMAGE_PROGRAMS.map((name) => programImage(`${name}:1`, found[name], { User: '65535:65535' })),
    filesImage(search),
  ])
  return { ...found, packages, images }
}

/** Whether a node starts within seconds, because its programs are all built. */
export async function isNodeBuilt(environment = process.env): Promise<boolean> {
  const lock = await readToolLock(join(import.meta.dirname, '../../tools'))
  const found = await programsIn(cacheFolder(lock, environment))
  if (NODE_PROGRAMS.some(({ name }) => found[name] === undefined)) return false
  return (await Promise.all(Object.values(TOOLS).map((tool) => isToolBuilt(tool)))).every(Boolean)
}
