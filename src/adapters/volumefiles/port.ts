import type { Readable } from 'node:stream'
import type { FileAnswer, FileRequest } from '../../contracts/files.ts'

export type FileVolume = {
  /** Mount path in the container. */
  path: string
  /** Name of the PersistentVolumeClaim. */
  claim: string
  subPath?: string | undefined
  readOnly?: boolean | undefined
}

/** The location and the owner of files. */
export type FilesLocation = {
  namespace: string
  /** The cluster of the volumes; by default the platform's own. */
  clusterId?: string | undefined
  /** The resource. Objects that are created to reach its files are deleted with it. */
  owner: { apiVersion: string; kind: string; name: string; uid: string }
  volumes: readonly FileVolume[]
  /** The user of the container, who owns new files. */
  identity: { user: number; group?: number | undefined; fsGroup?: number | undefined }
  /** Whether no copy runs or is to run. */
  isStopped?: boolean | undefined
  /** The node where the volumes are mounted, if any. */
  node?: string | undefined
}

export type FileOptions = {
  /** Content of an upload. */
  body?: AsyncIterable<Uint8Array> | undefined
  /** Aborts the request. An upload that is aborted leaves nothing. */
  signal: AbortSignal
}

/** Access to files of volumes. Checking a path and using it is one step, so that no path leads out of the volumes. */
export interface VolumeFiles {
  /**
   * @returns the answer and the bytes that follow it, with backpressure; a caller that does not read them to the end
   *   must destroy the stream
   * @throws PlatformError SERVICE_UNAVAILABLE if the volumes cannot be reached now; QUOTA_EXCEEDED if the group has no
   *   room for the pod that reaches them; FEATURE_UNSUPPORTED if pods are simulated or no image is configured;
   *   INSTANCE_STOPPED for a stopped resource with simulated pods
   */
  ask(
    place: FilesLocation,
    request: FileRequest,
    options: FileOptions,
  ): Promise<{ answer: FileAnswer; bytes: Readable }>
}
