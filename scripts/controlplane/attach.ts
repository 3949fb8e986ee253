import { join, resolve } from 'node:path'
import { load } from 'js-yaml'
import { readIfThere } from './files.ts'
import { layout } from './flags.ts'
import type { Kubeconfig } from './kubeconfig.ts'
import { Authority } from './pki.ts'
import { accessTo } from './prepare.ts'
import { onPath, readProcessRecords } from './processes.ts'
import type { ControlPlane } from './types.ts'

/** What another process needs to use a running control plane. */
export type ControlPlaneReference = Pick<ControlPlane, 'source' | 'version' | 'simulated' | 'kubectlPath'> & {
  folder: string
  kubeconfig: string
}

/**
 * A control plane that another process runs in a folder. Stopping it is up to that process: `stop` does nothing, and
 * `failed` never rejects.
 *
 * @throws Error when the folder holds no control plane
 */
export async function attachControlPlane(reference: ControlPlaneReference): Promise<ControlPlane> {
  const folder = resolve(reference.folder)
  const paths = layout(folder)
  const text = await readIfThere(paths.kubeconfig('admin'))
  if (text === undefined)
    throw new Error(`${join(folder, 'kubeconfigs')} has no kubeconfig: no control plane was started there.`)
  const adminKubeconfig = load(text) as Kubeconfig
  const [ca, servingCa] = await Promise.all([Authority.open(paths.pki, 'ca'), Authority.open(paths.pki, 'serving-ca')])
  const server = String(adminKubeconfig.clusters[0]?.cluster.server)
  return {
    ...accessTo(folder, {
      server,
      authorities: { ca, servingCa },
      adminKubeconfig,
      adminPath: paths.kubeconfig('admin'),
    }),
    source: reference.source,
    version: reference.version,
    simulated: reference.simulated,
    kubectlPath: reference.kubectlPath ?? onPath('kubectl'),
    startProcess: ({ name }) => {
      throw new Error(`${name} cannot be started beside a control plane of another process.`)
    },
    processes: await readProcessRecords(folder),
    failed: new Promise(() => undefined),
    stop: async () => undefined,
  }
}
