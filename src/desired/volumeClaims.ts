import { OWNER_INCARNATION_ANNOTATION, PREFIX } from '../core/labels.ts'
import type { EffectivePlan } from '../core/sizing/plans.ts'

/** On a StatefulSet: the size that its claim template was written with, which the API server may store as another one. */
export const STORAGE_SIZE_ANNOTATION = `${PREFIX}storage-size`

export function storageSizeAnnotation({ storageSize }: Pick<EffectivePlan, 'storageSize'>): Record<string, string> {
  return storageSize === undefined ? {} : { [STORAGE_SIZE_ANNOTATION]: storageSize }
}

/** The claim template of a StatefulSet: one volume for each pod, which no other pod mounts. */
export function volumeClaimTemplate({
  name,
  labels,
  incarnation,
  plan: { storageClass, storageSize },
}: {
  name: string
  labels: Record<string, string>
  incarnation: string
  plan: Pick<EffectivePlan, 'storageClass' | 'storageSize'>
}): object {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    // The incarnation tells our claims from those that a namesake left behind.
    metadata: { name, labels, annotations: { [OWNER_INCARNATION_ANNOTATION]: incarnation } },
    spec: {
      accessModes: ['ReadWriteOnce'],
      ...(storageClass === '' ? {} : { storageClassName: storageClass }),
      resources: { requests: { storage: storageSize ?? '' } },
      volumeMode: 'Filesystem',
    },
  }
}
