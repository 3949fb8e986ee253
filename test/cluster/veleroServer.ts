import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { silentProgress } from '../../scripts/controlplane/index.ts'
import { choosePorts } from '../../scripts/controlplane/ports.ts'
import { ProcessGroup } from '../../scripts/controlplane/processes.ts'
import { builtTool, type Tool } from '../../scripts/controlplane/tool.ts'
import { tokenOf } from '../../scripts/platform/operator.ts'
import type { KubeObject } from '../../src/core/object.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { installManifests } from '../../src/kube/crds.ts'
import type { OwnControlPlane } from './index.ts'
import { veleroDefinitions } from './velero.ts'

const MODULES = 'github.com/vmware-tanzu'
const SERVER: Tool = { folder: 'velero', package: `${MODULES}/velero/cmd/velero`, name: 'velero' }
const PLUGIN_NAME = 'velero-plugin-for-aws'
const PLUGIN: Tool = { folder: 'velero', package: `${MODULES}/${PLUGIN_NAME}/${PLUGIN_NAME}`, name: PLUGIN_NAME }
const NAMESPACE = 'velero'
const DEFINED_WITHIN = 180_000

/** The programs of Velero, built once. @throws Error if they cannot be built here */
export async function builtVelero(): Promise<{ server: string; plugin: string }> {
  const search = { progress: silentProgress, signal: undefined }
  // One after the other: they share most of what is compiled.
  const server = await builtTool(SERVER, search)
  return { server, plugin: await builtTool(PLUGIN, search) }
}

/** What Velero's own installer makes in a cluster. The Deployment runs nothing: the server looks up its image there. */
export async function installVelero(admin: KubeClient): Promise<void> {
  const account = { name: NAMESPACE, namespace: NAMESPACE }
  const rights = 'rbac.authorization.k8s.io'
  const manifests = [
    ...(await veleroDefinitions()),
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: account },
    {
      apiVersion: `${rights}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: NAMESPACE },
      roleRef: { apiGroup: rights, kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'ServiceAccount', ...account }],
    },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: account,
      spec: {
        replicas: 0,
        selector: { matchLabels: { deploy: NAMESPACE } },
        template: {
          metadata: { labels: { deploy: NAMESPACE } },
          spec: { containers: [{ name: NAMESPACE, image: 'velero/velero' }], serviceAccountName: NAMESPACE },
        },
      },
    },
  ]
  await installManifests(admin, manifests as KubeObject[], { timeout: DEFINED_WITHIN })
}

export type RunningVelero = { logFile: string; stop(): Promise<void> }

/**
 * Velero's server beside the control plane, with the rights that its service account has in a cluster: neither the groups of
 * an administrator, nor those of the platform's people.
 */
export async function startVelero(
  { server, plugin }: { server: string; plugin: string },
  { controlPlane, admin }: { controlPlane: OwnControlPlane; admin: KubeClient },
): Promise<RunningVelero> {
  const folder = join(controlPlane.folder, NAMESPACE)
  const plugins = join(folder, 'plugins')
  await mkdir(plugins, { recursive: true })
  await symlink(plugin, join(plugins, PLUGIN_NAME)).catch(alreadyThere)
  const kubeconfig = join(folder, 'kubeconfig')
  await controlPlane.writeKubeconfig(kubeconfig, { name: NAMESPACE, user: await tokenOf(NAMESPACE, admin, NAMESPACE) })
  const ports = await choosePorts(folder, ['metrics', 'profiler'])
  const group = new ProcessGroup(folder)
  const { logFile } = group.start({
    name: 'velero',
    program: server,
    args: [
      'server',
      `--kubeconfig=${kubeconfig}`,
      `--namespace=${NAMESPACE}`,
      `--plugin-dir=${plugins}`,
      `--metrics-address=127.0.0.1:${ports.metrics}`,
      `--profiler-address=127.0.0.1:${ports.profiler}`,
      // A minute each, in a cluster.
      '--store-validation-frequency=5s',
      '--backup-sync-period=5s',
      '--item-operation-sync-frequency=2s',
      '--garbage-collection-frequency=10s',
      '--schedule-skip-immediately',
    ],
    // It keeps keys of locations in files there.
    environment: { ...process.env, TMPDIR: folder, HOME: folder },
  })
  return { logFile, stop: () => group.stop() }
}

function alreadyThere(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
}
