import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** One program of the control plane: its package in the module that locks them all. */
export type Program = { name: ProgramName; package: string }
export type ProgramName =
  | 'etcd'
  | 'kube-apiserver'
  | 'kube-controller-manager'
  | 'kube-scheduler'
  | 'kwok'
  | 'kubectl'
  | NodeProgramName
export type NodeProgramName = 'kubelet' | 'kube-proxy'

/** The folder under `tools/` whose go.mod locks all of them: at one version each, what they share is compiled once. */
export const CONTROL_PLANE = 'controlplane'

/** Smallest first, so that the first progress shows soon. */
export const PROGRAMS: readonly Program[] = [
  { name: 'etcd', package: 'go.etcd.io/etcd/server/v3' },
  { name: 'kube-apiserver', package: 'k8s.io/kubernetes/cmd/kube-apiserver' },
  { name: 'kube-controller-manager', package: 'k8s.io/kubernetes/cmd/kube-controller-manager' },
  { name: 'kube-scheduler', package: 'k8s.io/kubernetes/cmd/kube-scheduler' },
  { name: 'kubectl', package: 'k8s.io/kubernetes/cmd/kubectl' },
  { name: 'kwok', package: 'sigs.k8s.io/kwok/cmd/kwok' },
]

/** Further programs for a real node, built only on demand. */
export const NODE_PROGRAMS: readonly Program[] = [
  { name: 'kube-proxy', package: 'k8s.io/kubernetes/cmd/kube-proxy' },
  { name: 'kubelet', package: 'k8s.io/kubernetes/cmd/kubelet' },
]

/** What is built: the version of Kubernetes, the oldest Go that builds it, and the key of the cache folder. */
export type ToolLock = { kubernetesVersion: string; goVersion: string; cacheKey: string }

/** Reads the module under `tools/`, the only place that names the versions. */
export async function readToolLock(toolsFolder: string): Promise<ToolLock> {
  const names = ['go.mod', 'go.sum']
  return toolLockOf(await Promise.all(names.map((name) => readFile(join(toolsFolder, CONTROL_PLANE, name), 'utf8'))))
}

/** @param files the texts of go.mod and go.sum */
export function toolLockOf(files: readonly string[]): ToolLock {
  const kubernetes = files[0] ?? ''
  const kubernetesVersion = /^\s*k8s\.io\/kubernetes (v\d+\.\d+\.\d+)/m.exec(kubernetes)?.[1]
  const goVersion = /^go (\d+\.\d+(?:\.\d+)?)$/m.exec(kubernetes)?.[1]
  if (kubernetesVersion === undefined || goVersion === undefined) {
    throw new Error(
      `tools/${CONTROL_PLANE}/go.mod names no version of k8s.io/kubernetes or of Go: check the file out again.`,
    )
  }
  const hash = createHash('sha256')
  for (const text of files) hash.update(`${text.length}\n`).update(text)
  return { kubernetesVersion, goVersion, cacheKey: `${kubernetesVersion}-${hash.digest('hex').slice(0, 16)}` }
}

/** Without these linker flags the programs report v0.0.0-master, and clients misjudge what the server supports. */
export function linkerFlags(version: string): string {
  const [major = '', minor = ''] = version.replace(/^v/, '').split('.')
  const set = { gitVersion: version, gitMajor: major, gitMinor: minor }
  const variables = Object.entries(set).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`)
  return ['-s', '-w', ...variables].join(' ')
}
