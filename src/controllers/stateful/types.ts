import type { KubeObject } from '../../core/object.ts'
import type { LivePod } from '../../desired/workload/podProblems.ts'

export type StatefulSet = KubeObject & {
  spec: {
    replicas?: number
    template?: { metadata?: { annotations?: Record<string, string> } }
    volumeClaimTemplates?: { spec?: { storageClassName?: string; resources?: { requests?: { storage?: string } } } }[]
  }
  status?: {
    observedGeneration?: number
    replicas?: number
    readyReplicas?: number
    updatedReplicas?: number
    currentRevision?: string
    updateRevision?: string
  }
}

export type Claim = KubeObject & {
  spec: { storageClassName?: string; resources?: { requests?: { storage?: string } } }
  status?: { capacity?: { storage?: string } }
}

export type Pod = LivePod
