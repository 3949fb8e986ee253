import { arch } from 'node:process'

export type NodeSize = { cpu: string; memory: string; pods: string; storage: string }
export const NODE_SIZE: NodeSize = { cpu: '64', memory: '256Gi', pods: '500', storage: '4Ti' }

const ARCHITECTURES: Partial<Record<NodeJS.Architecture, string>> = { x64: 'amd64', arm64: 'arm64' }
/** Operating system and architecture of this machine, as Kubernetes and images name them. */
export const ARCHITECTURE = ARCHITECTURES[arch] ?? 'amd64'

/** A node that KWOK simulates: its annotation says so, and its pod range has more addresses than it can run pods. */
export function playedNode(index: number, version: string, size: NodeSize = NODE_SIZE) {
  const name = `freehold-node-${index}`
  const amount = { cpu: size.cpu, memory: size.memory, pods: size.pods, 'ephemeral-storage': size.storage }
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      annotations: { 'kwok.x-k8s.io/node': 'fake' },
      labels: {
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': ARCHITECTURE,
        'topology.kubernetes.io/region': 'local',
        'topology.kubernetes.io/zone': `local-${index}`,
      },
    },
    // 1,022 addresses a node: /22 steps through 10.244.0.0/16, so 64 nodes at most.
    spec: { podCIDR: `10.244.${index * 4}.0/22` },
    status: {
      capacity: amount,
      allocatable: amount,
      nodeInfo: {
        architecture: ARCHITECTURE,
        bootID: '',
        containerRuntimeVersion: 'played',
        kernelVersion: 'played',
        kubeProxyVersion: '',
        kubeletVersion: version,
        machineID: name,
        operatingSystem: 'linux',
        osImage: 'played',
        systemUUID: name,
      },
    },
  }
}
export const MAX_NODES = 64

export function playedNames(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `freehold-node-${index}`)
}
