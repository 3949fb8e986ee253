import { execFile } from 'node:child_process'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { load } from 'js-yaml'
import { builtTool, type Tool, type ToolSearch } from '../../scripts/controlplane/tool.ts'
import { makeImage } from '../../scripts/node/image.ts'
import { PATH, pushInto } from '../../scripts/node/images.ts'
import { stateOf } from '../../scripts/node/namespaces.ts'
import { unpackedPackages } from '../../scripts/node/packages.ts'
import type { KubeObject } from '../../src/core/object.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { installManifests } from '../../src/kube/crds.ts'
import { VELERO_PROGRAMS } from '../cluster/veleroServer.ts'
import { testPlatform } from '../worlds/tenant.ts'
import { testNode } from './shell.ts'

/** Server, node agent, plugin and helper are one image: each is started by its own command. */
const IMAGE = 'velero/velero:test'
/** Waits in a restored pod until its volumes have their files. */
const RESTORE_HELPER: Tool = {
  folder: 'velero',
  package: 'github.com/vmware-tanzu/velero/cmd/velero-restore-helper',
  name: 'velero-restore-helper',
}
/** Milliseconds for the definitions to be served. */
const DEFINED_WITHIN = 180_000

/** Runs Velero's own command as an administrator. */
export type Velero = { (...words: string[]): Promise<string>; program: string }

/** What is built or unpacked for it, the first time in minutes. */
export async function veleroParts(search: ToolSearch) {
  const [server, plugin] = [await builtTool(VELERO_PROGRAMS[0], search), await builtTool(VELERO_PROGRAMS[1], search)]
  const helper = await builtTool(RESTORE_HELPER, search)
  const request = { name: 'velero', packages: ['coreutils', 'libc-bin', 'base-files'], dependencies: 'all' } as const
  return { server, plugin, helper, root: await unpackedPackages(request, search) }
}

/**
 * Installs Velero with its node agent into the cluster of the node, by its own command. It has no location for backups yet.
 *
 * @returns runs a command of Velero, and answers its output
 */
export async function installVeleroOnNode(client: KubeClient, search: ToolSearch): Promise<Velero> {
  const { server, plugin, helper, root } = await veleroParts(search)
  const programs = [server, plugin, helper]
  const layers = programs.map((program) => ({ from: dirname(program), paths: [basename(program)], to: '' }))
  const image = await makeImage({
    name: IMAGE,
    layers: [root, ...layers],
    key: [...programs, root].join(' '),
    // As the image of the plugin does: Velero has it copy itself beside the server.
    config: { Entrypoint: ['cp', `/${basename(plugin)}`, '/target/'], Env: [PATH, 'HOME=/tmp'], User: '65532:65532' },
  })
  await pushInto(await testNode(), [image])
  const { folder, kubeconfig } = testPlatform()
  const command = async (...words: string[]) => {
    const { stdout } = await promisify(execFile)(server, words, {
      env: { ...process.env, KUBECONFIG: kubeconfig },
      maxBuffer: 64 * 1024 * 1024,
    })
    return stdout
  }
  const manifests = await command(
    ...[
      'install',
      '--dry-run',
      '--output=yaml',
      '--no-default-backup-location',
      '--no-secret',
      '--use-volume-snapshots=false',
      '--use-node-agent',
    ],
    ...['--features=EnableCSI', `--image=docker.io/${IMAGE}`, `--plugins=docker.io/${IMAGE}`],
    ...[`--kubelet-root-dir=${join(stateOf(folder), 'kubelet')}`, '--garbage-collection-frequency=10s'],
    // Half a core otherwise, which a small node lacks beside what it backs up.
    '--velero-pod-cpu-request=50m',
  )
  const { items } = load(manifests) as { items: KubeObject[] }
  await installManifests(client, items.map(polling), { timeout: DEFINED_WITHIN })
  return Object.assign(command, { program: server })
}

/** It asks every ten seconds for the end of what it waits for, and its command has no flag for that. */
function polling(object: KubeObject): KubeObject {
  if (object.kind !== 'Deployment') return object
  const deployment = structuredClone(object) as KubeObject & {
    spec: { template: { spec: { containers: { args: string[] }[] } } }
  }
  deployment.spec.template.spec.containers[0]?.args.push('--item-operation-sync-frequency=2s')
  return deployment
}
