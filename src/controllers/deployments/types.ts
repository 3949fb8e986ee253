import type { BlobStore } from '../../adapters/blobs/port.ts'
import type { BuildLogs } from '../../adapters/buildlogs/port.ts'
import type { SourceArchives } from '../../adapters/builds/port.ts'
import type { AddressesOf } from '../../adapters/outgoing/addresses.ts'
import type { PodLogs } from '../../adapters/podlogs/port.ts'
import type { RegistryPort } from '../../adapters/registry/port.ts'
import type { SourcePort } from '../../adapters/sources/port.ts'
import type { BuildSettings } from '../../contracts/builds/request.ts'
import type { DeploymentRecord } from '../../crds/deployments.ts'
import type { BuildJob, BuildPod } from '../../desired/builds/index.ts'
import type { Decision, Seen } from '../../desired/deployments.ts'
import type { Step } from '../engine/controller.ts'

/** What builds need of the platform. */
export type BuildPorts = {
  /** Undefined: no image that builds is set. */
  settings: BuildSettings | undefined
  /** Pods are played: builds end at once, well, and without an image. */
  isPlayed: boolean
  addressesOf: AddressesOf
  logs: PodLogs
  buildLogs: BuildLogs
  /** Where uploaded files of functions are kept. */
  sourceBlobs: Pick<BlobStore, 'read'>
  /** Where builds find them; undefined where there is no registry. */
  archives: SourceArchives | undefined
}

export type BuildOptions = BuildPorts & {
  sources: Pick<SourcePort, 'repositories' | 'token'>
  /** Of the Git host that the platform runs. */
  circuitUrl: string | undefined
  registry: Pick<RegistryPort, 'host' | 'keys'> | undefined
}

export type RecordState = {
  number: number | undefined
  decision: Decision | undefined
  /** What is seen of its build; absent if it was not started. */
  build: { job: BuildJob; pods: readonly BuildPod[]; seen: NonNullable<Seen['build']>; isOver: boolean } | undefined
}
export type RecordStep = Step<typeof DeploymentRecord, RecordState>
