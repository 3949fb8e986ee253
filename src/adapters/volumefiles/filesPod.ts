import type { VolumeFolder } from '../../contracts/files.ts'
import { FILES_LABEL } from '../../contracts/workloads.ts'
import { MANAGED_BY, MANAGED_BY_LABEL } from '../../core/labels.ts'
import { sha256 } from '../../core/names.ts'
import type { KubeObject, Resource } from '../../core/object.ts'
import type { FilesLocation, FileVolume } from './port.ts'

export const JOBS: Resource = { group: 'batch', version: 'v1', plural: 'jobs', kind: 'Job', namespaced: true }
export const PODS: Resource = { group: '', version: 'v1', plural: 'pods', kind: 'Pod', namespaced: true }
export const FILES_CONTAINER = 'files'

const PROGRAM = '/app/src/adapters/volumefiles/agent/main.ts'
export const SERVE_COMMAND = ['node', PROGRAM, 'serve']

/** Seconds after which even a busy pod is replaced. */
const MAX_LIFETIME_SECONDS = 6 * 3_600

/** Derives the name from owner, volumes, user, node and image, so that equal requests share a pod. */
export function filesPodName({ owner, volumes, identity, node }: FilesLocation, image: string): string {
  const key = JSON.stringify([owner.uid, volumes, identity, node ?? '', image])
  return `files-${sha256(key).slice(0, 20)}`
}

/** Returns where the volumes are mounted in the pod. */
export function mountedFolders({ volumes }: FilesLocation): VolumeFolder[] {
  return volumes.map(({ path }, index) => ({ path, folder: volumePath(index) }))
}

const volumePath = (index: number) => `/volumes/${index}`

/**
 * Builds the Job for a pod beside the volumes of a resource, which runs while files are requested. A Job, because
 * Kubernetes deletes it when finished. It does not carry the resource's labels, or Services would route requests to it.
 */
export function buildFilesJob(place: FilesLocation, image: string): KubeObject {
  const { namespace, owner, clusterId } = place
  const { apiVersion, kind, name, uid } = owner
  const labels = { [FILES_LABEL]: 'true', [MANAGED_BY_LABEL]: MANAGED_BY }
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: filesPodName(place, image),
      namespace,
      labels,
      // In another cluster the owner does not exist, and the garbage collector would delete the Job.
      ...(clusterId === undefined && { ownerReferences: [{ apiVersion, kind, name, uid }] }),
    },
    spec: {
      backoffLimit: 0,
      activeDeadlineSeconds: MAX_LIFETIME_SECONDS,
      ttlSecondsAfterFinished: 0,
      template: { metadata: { labels }, spec: podSpec(place, image) },
    },
  }
}

function podSpec({ volumes, identity, node }: FilesLocation, image: string): object {
  const { user, group = user, fsGroup } = identity
  const claims = [...new Set(volumes.map(({ claim }) => claim))]
  return {
    restartPolicy: 'Never',
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: 1,
    // A ReadWriteOnce volume can only be mounted on the node of its pod.
    ...(node !== undefined && { affinity: { nodeAffinity: nodeAffinityFor(node) } }),
    securityContext: {
      runAsNonRoot: true,
      runAsUser: user,
      runAsGroup: group,
      ...(fsGroup !== undefined && { fsGroup, fsGroupChangePolicy: 'OnRootMismatch' }),
      seccompProfile: { type: 'RuntimeDefault' },
    },
    containers: [
      {
        name: FILES_CONTAINER,
        image,
        command: ['node', PROGRAM, 'wait'],
        resources: { requests: { cpu: '10m', memory: '64Mi' }, limits: { cpu: '1', memory: '512Mi' } },
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          runAsNonRoot: true,
          capabilities: { drop: ['ALL'] },
        },
        volumeMounts: volumes.map((volume, index) => mount(volume, claims.indexOf(volume.claim), volumePath(index))),
      },
    ],
    volumes: claims.map((claimName, index) => ({ name: `claim-${index}`, persistentVolumeClaim: { claimName } })),
  }
}

function mount({ subPath, readOnly }: FileVolume, claim: number, mountPath: string): object {
  return {
    name: `claim-${claim}`,
    mountPath,
    ...(subPath !== undefined && { subPath }),
    ...(readOnly === true && { readOnly }),
  }
}

function nodeAffinityFor(node: string): object {
  const matchFields = [{ key: 'metadata.name', operator: 'In', values: [node] }]
  return { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields }] } }
}
