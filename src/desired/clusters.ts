import type { KubeObject } from '../core/object.ts'
import { plainLine } from '../core/plainLine.ts'
import { formatBytes, formatCores, parseQuantity } from '../core/quantity.ts'
import { compareTexts } from '../core/textOrder.ts'

type Node = KubeObject & {
  status?: { capacity?: Record<string, string>; conditions?: { type: string; status: string }[] }
}
type StorageClass = KubeObject & { allowVolumeExpansion?: boolean; provisioner?: string }

/** What a cluster may lack that resources need; of snapshots, a driver that takes them. */
export const CAPABILITIES = [
  'CertManager',
  'CloudNativePG',
  'GatewayApi',
  'LoadBalancer',
  'SnapshotClasses',
  'Velero',
] as const
export type Capability = (typeof CAPABILITIES)[number]

export type ObservedCluster = {
  capabilities: Capability[]
  nodeCount: number
  readyNodeCount: number
  cpuCapacity: string
  memoryCapacity: string
  storageClasses: { name: string; isDefault: boolean; isExpandable: boolean; survivesNode: boolean }[]
}

const isReady = ({ status }: Node) =>
  status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true

/** Returns the part of a node that its cluster's record shows; nodes send heartbeats every few seconds. */
export function relevantOfNode(object: KubeObject): unknown {
  return [isReady(object as Node), (object as Node).status?.capacity]
}

type Service = KubeObject & {
  spec?: { type?: string }
  status?: { loadBalancer?: { ingress?: readonly unknown[] } }
}

/** Whether a load balancer was provided: nothing else in Kubernetes says that a cluster can have one. */
export function isBalanced(object: KubeObject): boolean {
  const { spec, status } = object as Service
  return spec?.type === 'LoadBalancer' && (status?.loadBalancer?.ingress ?? []).length > 0
}

/** Bounds the StorageClasses that are shown: a cluster run by others may report any number. */
const MAX_CLASSES = 50
const MAX_NAME_LENGTH = 253

const DEFAULT_CLASS = 'storageclass.kubernetes.io/is-default-class'

/** Provisioners whose volumes live on one node and are lost with it. Kubernetes itself does not report this. */
const NODE_LOCAL_PROVISIONERS: ReadonlySet<string> = new Set([
  'docker.io/hostpath',
  'freehold.dev/node-folder',
  'hostpath.csi.k8s.io',
  'k8s.io/minikube-hostpath',
  'kubernetes.io/host-path',
  'kubernetes.io/no-provisioner',
  'local.csi.openebs.io',
  'microk8s.io/hostpath',
  'openebs.io/local',
  'rancher.io/local-path',
  'topolvm.cybozu.com',
  'topolvm.io',
  'zfs.csi.openebs.io',
])

/** Returns 0 for an invalid quantity. */
function amountOf(capacity: unknown): bigint {
  const text = typeof capacity === 'string' && capacity.length <= 32 ? capacity : '0'
  try {
    return parseQuantity(text)
  } catch {
    return 0n
  }
}

/** Returns the capacity, storage classes and capabilities of a cluster. */
export function observedCluster(
  nodes: readonly KubeObject[],
  classes: readonly KubeObject[],
  has: (capability: Capability) => boolean,
): ObservedCluster {
  const seen = nodes as readonly Node[]
  const sum = (resource: string) =>
    seen.reduce((total, { status }) => total + amountOf(status?.capacity?.[resource]), 0n)
  return {
    capabilities: CAPABILITIES.filter(has),
    nodeCount: seen.length,
    readyNodeCount: seen.filter(isReady).length,
    cpuCapacity: formatCores(sum('cpu')),
    memoryCapacity: formatBytes(sum('memory')),
    storageClasses: (classes as readonly StorageClass[])
      .map(({ metadata, allowVolumeExpansion, provisioner }) => ({
        name: plainLine(metadata.name, MAX_NAME_LENGTH),
        isDefault: metadata.annotations?.[DEFAULT_CLASS] === 'true',
        isExpandable: allowVolumeExpansion === true,
        survivesNode: provisioner !== undefined && !NODE_LOCAL_PROVISIONERS.has(provisioner),
      }))
      .sort((one, other) => compareTexts(one.name, other.name))
      .slice(0, MAX_CLASSES),
  }
}
