import { randomUUID } from 'node:crypto'
import { mkdir, symlink } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Context } from 'mocha'
import { silentProgress } from '../../scripts/controlplane/index.ts'
import { choosePorts } from '../../scripts/controlplane/ports.ts'
import { ProcessGroup } from '../../scripts/controlplane/processes.ts'
import { findTool, type Tool } from '../../scripts/controlplane/tool.ts'
import { tokenOf } from '../../scripts/platform/operator.ts'
import { listen } from '../../src/core/listen.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { secretData } from '../../src/core/secretData.ts'
import { secret } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { installManifests } from '../../src/kube/crds.ts'
import { veleroBackupStorageLocation, veleroRestore } from '../../src/kube/velero.ts'
import { until } from '../make/until.ts'
import type { OwnControlPlane } from './index.ts'
import { veleroDefinitions } from './velero.ts'

const MODULES = 'github.com/vmware-tanzu'
const SERVER: Tool = { folder: 'velero', package: `${MODULES}/velero/cmd/velero`, name: 'velero' }
const PLUGIN_NAME = 'velero-plugin-for-aws'
const PLUGIN: Tool = { folder: 'velero', package: `${MODULES}/${PLUGIN_NAME}/${PLUGIN_NAME}`, name: PLUGIN_NAME }
/** They share most of their packages, so the second takes little time after the first. */
export const VELERO_PROGRAMS = [SERVER, PLUGIN] as const
const NAMESPACE = 'velero'
const DEFINED_WITHIN = 180_000

export type VeleroPrograms = { server: string; plugin: string }

/** The programs of Velero, built before the tests; the test is skipped, and says so, where no Go can build them. */
export async function veleroOrSkip(test: Context): Promise<VeleroPrograms> {
  return { server: await programOrSkip(SERVER, test), plugin: await programOrSkip(PLUGIN, test) }
}

async function programOrSkip(tool: Tool, test: Context): Promise<string> {
  const found = await findTool(tool, { progress: silentProgress, signal: undefined })
  if ('program' in found) return found.program
  console.log(`    skipped: ${tool.name} is built with Go ${found.needsGo} or newer, which is not on the PATH`)
  return test.skip()
}

/**
 * The objects that Velero's installer creates in a cluster. The Deployment runs nothing: the server looks up its image
 * there.
 */
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
 * Velero's server beside the control plane, with the rights of its service account in a cluster: neither the groups of
 * an administrator, nor those of the platform's users.
 */
export async function startVelero(
  { server, plugin }: VeleroPrograms,
  { controlPlane, admin }: { controlPlane: OwnControlPlane; admin: KubeClient },
): Promise<RunningVelero> {
  const folder = join(controlPlane.folder, NAMESPACE)
  const plugins = join(folder, 'plugins')
  await mkdir(plugins, { recursive: true })
  await symlink(plugin, join(plugins, PLUGIN_NAME)).catch(alreadyThere)
  const kubeconfig = join(folder, 'kubeconfig')
  await controlPlane.writeKubeconfig(kubeconfig, { name: NAMESPACE, user: await tokenOf(NAMESPACE, admin, NAMESPACE) })
  await requireRuntimePort()
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
      // A minute each, in a real cluster.
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

/** Velero's server opens this port whatever its arguments say, and ends if it is in use. */
const RUNTIME_PORT = 8080

/** @throws Error that names the port */
async function requireRuntimePort(): Promise<void> {
  const server = createServer()
  await listen(server, 'Velero', { port: RUNTIME_PORT, host: '0.0.0.0' })
  await new Promise((closed) => server.close(closed))
}

/** Where the bucket is, and which key opens it. */
export type BackupBucket = { endpoint: string; bucket: string; accessKeyId: string; secretAccessKey: string }

/** As an administrator configures it to restore into a new cluster: Velero writes nothing there. */
export async function giveBucket(admin: KubeClient, bucket: BackupBucket): Promise<void> {
  const [name, key] = ['cloud-credentials', 'cloud']
  const profile = `[default]\naws_access_key_id=${bucket.accessKeyId}\naws_secret_access_key=${bucket.secretAccessKey}\n`
  await admin.create(secret, {
    ...{ apiVersion: 'v1', kind: 'Secret', metadata: { namespace: NAMESPACE, name } },
    data: secretData({ [key]: profile }),
  } as KubeObject)
  await admin.create(veleroBackupStorageLocation, {
    apiVersion: 'velero.io/v1',
    kind: 'BackupStorageLocation',
    metadata: { namespace: NAMESPACE, name: 'default' },
    spec: {
      ...{ provider: 'aws', default: true, accessMode: 'ReadOnly' },
      objectStorage: { bucket: bucket.bucket },
      config: { region: 'us-east-1', s3Url: bucket.endpoint, s3ForcePathStyle: 'true', checksumAlgorithm: '' },
      credential: { name, key },
    },
  } as KubeObject)
}

type Restored = KubeObject & { status?: { phase?: string; completionTimestamp?: string } }

/** Restores with every status what there is of a backup, or of its namespaces. @throws Error if not all of it came */
export async function restoreAll(admin: KubeClient, backupName: string, includedNamespaces = ['*']): Promise<void> {
  const spec = { backupName, includedNamespaces, restoreStatus: { includedResources: ['*'] } }
  const { status } = await until('Velero restores', async () => {
    const found = await restoredBy(admin, spec)
    // It may not have loaded the backup yet that it has just found in the bucket.
    if (found.status?.phase !== 'FailedValidation') return found
    throw new Error(JSON.stringify(found.status))
  })
  expect(status, 'the restore').to.include({ phase: 'Completed' })
}

async function restoredBy(admin: KubeClient, spec: object): Promise<Restored> {
  const ref = { namespace: NAMESPACE, name: `restore-${randomUUID()}` }
  await admin.create(veleroRestore, {
    ...{ apiVersion: 'velero.io/v1', kind: 'Restore', metadata: ref },
    spec,
  } as KubeObject)
  return until('the restore has ended', async () => {
    const found = await admin.get<Restored>(veleroRestore, ref)
    const { phase, completionTimestamp } = found.status ?? {}
    if (phase === 'FailedValidation' || completionTimestamp !== undefined) return found
    throw new Error(JSON.stringify(found.status))
  })
}

function alreadyThere(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
}
