import type { Readable } from 'node:stream'
import type { FileAnswer, FileRequest } from '../../contracts/files.ts'

export type FileVolume = {
  /** Where, in the container. */
  path: string
  /** Its PersistentVolumeClaim. */
  claim: string
  subPath?: string | undefined
  readOnly?: boolean | undefined
}

/** The owner and the place of files. */
export type FilePlace = {
  namespace: string
  /** The other cluster that the volumes are on; the platform's own if undefined. */
  clusterId?: string | undefined
  /** The resource. What is made to reach its files goes with it. */
  owner: { apiVersion: string; kind: string; name: string; uid: string }
  volumes: readonly FileVolume[]
  /** As whom the container runs: new files are theirs. */
  identity: { user: number; group?: number | undefined; fsGroup?: number | undefined }
  /** Whether no copy runs or is to run. */
  isStopped?: boolean | undefined
  /** The node of the pod that has the volumes mounted; undefined if none has. */
  node?: string | undefined
}

export type FileOptions = {
  /** What is written, for an upload. */
  body?: AsyncIterable<Uint8Array> | undefined
  /** Ends the request; an upload that has not come to its end leaves nothing. */
  signal: AbortSignal
}

/** Files of volumes, checked and touched in one step where they are: no path leads out of the volumes. */
export interface VolumeFiles {
  /**
   * @returns the answer and the bytes that it announces, which come only as fast as they are read: whoever does not read
   *   them to their end destroys them
   * @throws PlatformError SERVICE_UNAVAILABLE if the volumes cannot be reached now; QUOTA_EXCEEDED if the group has no room
   *   for what reaches them; FEATURE_UNSUPPORTED where pods are played, or no image is known for the pods that reach
   *   them; INSTANCE_STOPPED of a stopped one whose pods are played
   */
  ask(place: FilePlace, request: FileRequest, options: FileOptions): Promise<{ answer: FileAnswer; bytes: Readable }>
}
