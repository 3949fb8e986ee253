import { join } from 'node:path'
import type { KubeObject } from '../../src/core/object.ts'
import { NODE_NAME } from './addresses.ts'

/** Of the StorageClass that makes volumes from folders of the node (deploy/stages/real-node.yaml). */
export const PROVISIONER = 'freehold.dev/node-folder'
const PROVISIONED_BY = 'pv.kubernetes.io/provisioned-by'

export type Claim = KubeObject & {
  spec: {
    accessModes?: string[]
    storageClassName?: string
    volumeName?: string
    volumeMode?: string
    resources?: { requests?: { storage?: string } }
  }
}
export type Volume = KubeObject & {
  spec: { persistentVolumeReclaimPolicy?: string; local?: { path: string }; [field: string]: unknown }
  status?: { phase?: string }
}
type StorageClass = KubeObject & { provisioner: string; reclaimPolicy?: string }

/**
 * The volume that a claim waits for; undefined if it waits for none of ours. A local volume, not a host path: the kubelet
 * gives it to the group of the pod, so that containers that are not root can write.
 */
export function volumeFor(claim: Claim, storageClass: StorageClass | undefined, folder: string): Volume | undefined {
  const { accessModes = ['ReadWriteOnce'], storageClassName, volumeName, volumeMode, resources } = claim.spec
  if (storageClass?.provisioner !== PROVISIONER || volumeMode === 'Block') return undefined
  if ((volumeName ?? '') !== '' || claim.metadata.deletionTimestamp !== undefined) return undefined
  const { uid = '', name, namespace } = claim.metadata
  const claimRef = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid }
  const here = { key: 'kubernetes.io/hostname', operator: 'In', values: [NODE_NAME] }
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: `pvc-${uid}`, annotations: { [PROVISIONED_BY]: PROVISIONER } },
    spec: {
      accessModes,
      capacity: { storage: resources?.requests?.storage ?? '1Gi' },
      storageClassName,
      persistentVolumeReclaimPolicy: storageClass.reclaimPolicy ?? 'Delete',
      volumeMode: 'Filesystem',
      claimRef,
      local: { path: join(folder, `pvc-${uid}`) },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [here] }] } },
    },
  }
}

/** The folder to remove, for a volume of ours whose claim is gone and that is not retained. */
export function folderToRemove({ metadata, spec, status }: Volume, folder: string): string | undefined {
  if (metadata.annotations?.[PROVISIONED_BY] !== PROVISIONER) return undefined
  if (status?.phase !== 'Released' || spec.persistentVolumeReclaimPolicy !== 'Delete') return undefined
  // Users who can write a volume must not choose what root removes.
  const own = join(folder, metadata.name)
  return spec.local?.path === own && /^pvc-[0-9a-f-]{36}$/.test(metadata.name) ? own : undefined
}
