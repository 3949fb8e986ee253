import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { definitionsOf } from '../../scripts/controlplane/definitions.ts'
import { ProcessGroup } from '../../scripts/controlplane/processes.ts'
import { builtTool, type Tool, type ToolSearch } from '../../scripts/controlplane/tool.ts'
import { NODE_NAME } from '../../scripts/node/addresses.ts'
import { stateOf } from '../../scripts/node/namespaces.ts'
import type { KubeObject, Resource } from '../../src/core/object.ts'
import { storageClass } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { installManifests } from '../../src/kube/crds.ts'
import { testPlatform } from '../worlds/tenant.ts'
import { testNode } from './shell.ts'

const SNAPSHOTTER = 'github.com/kubernetes-csi/external-snapshotter'
/** Our driver, which is for tests only, and what every cluster with snapshots runs beside one. */
const PROGRAMS = {
  driver: { folder: 'csi', package: './driver', name: 'driver' },
  provisioner: {
    folder: 'csi',
    package: 'github.com/kubernetes-csi/external-provisioner/v6/cmd/csi-provisioner',
    name: 'csi-provisioner',
  },
  snapshotter: { folder: 'csi', package: `${SNAPSHOTTER}/v8/cmd/csi-snapshotter`, name: 'csi-snapshotter' },
  controller: { folder: 'csi', package: `${SNAPSHOTTER}/v8/cmd/snapshot-controller`, name: 'snapshot-controller' },
} as const satisfies Record<string, Tool>

/** The tests of CSI itself, for the driver. */
const SANITY: Tool = {
  folder: 'csi',
  package: 'github.com/kubernetes-csi/csi-test/v5/cmd/csi-sanity',
  name: 'csi-sanity',
}

/** The driver, and the program that tests it. */
export async function driverAndTests(search: ToolSearch) {
  return { driver: await builtTool(PROGRAMS.driver, search), tests: await builtTool(SANITY, search) }
}

/** The name by which the driver registers (tools/csi/driver). */
export const DRIVER = 'volumes.freehold.test'
/** Of the class whose volumes the driver makes. */
export const SNAPSHOTTABLE = 'snapshottable'

const csiDriver: Resource = {
  group: 'storage.k8s.io',
  version: 'v1',
  plural: 'csidrivers',
  kind: 'CSIDriver',
  namespaced: false,
}

/** What is built for it, the first time in minutes. */
export async function snapshotParts(search: ToolSearch) {
  const found = {} as Record<keyof typeof PROGRAMS, string>
  for (const [name, tool] of Object.entries(PROGRAMS))
    found[name as keyof typeof PROGRAMS] = await builtTool(tool, search)
  return found
}

/** The definitions of snapshots, of the release that the controllers have. */
const snapshotDefinitions = () =>
  definitionsOf({ tool: 'csi', module: `${SNAPSHOTTER}/client/v8`, folder: 'config/crd', cachedAs: 'csi-snapshots' })

/**
 * Gives the node of the tests a storage class whose volumes can be snapshotted. There is no VolumeSnapshotClass yet.
 *
 * @returns to be stopped, with all that it started
 */
export async function installSnapshots(client: KubeClient, search: ToolSearch): Promise<ProcessGroup> {
  const programs = await snapshotParts(search)
  const { folder: platform, kubeconfig } = testPlatform()
  const folder = join(platform, 'csi')
  const registration = join(stateOf(platform), 'kubelet/plugins_registry', `${DRIVER}-reg.sock`)
  await mkdir(folder, { recursive: true })
  await installManifests(
    client,
    [
      ...(await snapshotDefinitions()),
      {
        apiVersion: 'storage.k8s.io/v1',
        kind: 'CSIDriver',
        metadata: { name: DRIVER },
        spec: { attachRequired: false, fsGroupPolicy: 'File', volumeLifecycleModes: ['Persistent'] },
      },
      {
        apiVersion: 'storage.k8s.io/v1',
        kind: 'StorageClass',
        metadata: { name: SNAPSHOTTABLE },
        provisioner: DRIVER,
        reclaimPolicy: 'Delete',
        volumeBindingMode: 'WaitForFirstConsumer',
      },
    ] as KubeObject[],
    { resources: [csiDriver, storageClass] },
  )
  const node = await testNode()
  const group = new ProcessGroup(folder)
  const socket = join(folder, 'csi.sock')
  const access = [`--csi-address=${socket}`, `--kubeconfig=${kubeconfig}`]
  const commands = {
    driver: [programs.driver, join(folder, 'disks'), socket, registration, NODE_NAME],
    provisioner: [programs.provisioner, ...access, '--feature-gates=Topology=false', '--extra-create-metadata'],
    snapshotter: [programs.snapshotter, ...access],
    controller: [programs.controller, `--kubeconfig=${kubeconfig}`, '--http-endpoint='],
  }
  for (const [name, command] of Object.entries(commands)) {
    const [program = '', ...args] = node.inside(command)
    group.start({ name, program, args })
  }
  return group
}
