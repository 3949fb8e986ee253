import { definitionsOf } from '../../scripts/controlplane/definitions.ts'
import type { KubeObject } from '../../src/core/object.ts'

/** The definitions of Velero and of CSI snapshots as their releases have them. @throws Error if they cannot be had */
export async function veleroDefinitions(): Promise<KubeObject[]> {
  const velero = {
    tool: 'velero',
    module: 'github.com/vmware-tanzu/velero',
    folder: 'config/crd/v1/bases',
    cachedAs: 'velero',
  }
  // Velero's server exits if they are missing, even without a data mover.
  const movers = { ...velero, folder: 'config/crd/v2alpha1/bases', cachedAs: 'velero-movers' }
  const found = await Promise.all([definitionsOf(velero), definitionsOf(movers), snapshotDefinitions()])
  return found.flat()
}

/** The definitions of CSI snapshots as their release has them. @throws Error if they cannot be had */
export function snapshotDefinitions(): Promise<KubeObject[]> {
  return definitionsOf({
    tool: 'velero',
    module: 'github.com/kubernetes-csi/external-snapshotter/client/v8',
    folder: 'config/crd',
    cachedAs: 'csi-snapshots',
  })
}
