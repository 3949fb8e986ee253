import type { BlobStore } from '../../adapters/blobs/port.ts'
import type { BuildLogs } from '../../adapters/buildlogs/port.ts'
import type { SourceArchives } from '../../adapters/builds/port.ts'
import type { ResolveAddresses } from '../../adapters/outgoing/addresses.ts'
import type { PodLogs } from '../../adapters/podlogs/port.ts'
import type { RegistryPort } from '../../adapters/registry/port.ts'
import type { SourcePort } from '../../adapters/sources/port.ts'
import type { BuildSettings } from '../../contracts/builds/request.ts'
import type { DeploymentRecord } from '../../crds/deployments.ts'
import type { BuildJob, BuildPod } from '../../desired/builds/index.ts'
import type { DeploymentDecision, DeploymentFacts } from '../../desired/deployments.ts'
import type { Step } from '../engine/controller.ts'

/** Ports that builds need. */
export type BuildPorts = {
  /** Undefined if no build image is configured. */
  settings: BuildSettings | undefined
  /** Whether pods are simulated: builds then succeed at once without an image. */
  isSimulated: boolean
  addressesOf: ResolveAddresses
  logs: PodLogs
  buildLogs: BuildLogs
  /** Uploaded files of functions. */
  sourceBlobs: Pick<BlobStore, 'read'>
  /** Sources for builds; undefined without a registry. */
  archives: SourceArchives | undefined
}

export type BuildOptions = BuildPorts & {
  sources: Pick<SourcePort, 'repositories' | 'token'>
  registry: Pick<RegistryPort, 'host' | 'keys'> | undefined
}

export type RecordState = {
  number?: number | undefined
  decision?: DeploymentDecision | undefined
  /** The observed build; undefined if it was not started. */
  build?:
    | { job: BuildJob; pods: readonly BuildPod[]; seen: NonNullable<DeploymentFacts['build']>; isOver: boolean }
    | undefined
}
export type RecordStep = Step<typeof DeploymentRecord, RecordState>
