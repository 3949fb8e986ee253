import { OWNER_INCARNATION_ANNOTATION } from '../core/labels.ts'
import type { EffectivePlan } from './plans.ts'

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
