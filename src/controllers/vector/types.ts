import type { QdrantPort } from '../../adapters/qdrant/port.ts'
import type { VectorKey, VectorKeys } from '../../contracts/vector.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { VectorCluster } from '../../crds/vector.ts'
import type { RouteAcceptance } from '../../desired/workload/host.ts'
import type { Pass, Step } from '../engine/controller.ts'
import { newStatefulState, type StatefulState } from '../stateful/pass.ts'

/** Injected by the composition root. */
export type VectorOptions = {
  engine: QdrantPort
  /** Whether `imageName` is allowed. */
  allowOwnImages: boolean
  /** Generates keys of a version; defaults to random ones. */
  generateKey?: (version: number) => VectorKey
}

/** State shared between the steps of a pass. Each field is set by the named step and read by later ones only. */
export type VectorState = StatefulState & {
  /** claimHost; vector databases have no custom domains. */
  host?: string | undefined
  domains: readonly string[]
  /** ensureKeys */
  keys?: VectorKeys | undefined
  /** drainBeforeShrinking: peers to run now, and why they differ from the spec. */
  peers: number
  draining?: Outcome | undefined
  /** applyWorkload */
  route?: RouteAcceptance | undefined
}

export function newVectorState(): VectorState {
  return {
    ...newStatefulState(),
    domains: [],
    peers: 0,
  }
}

export type VectorPass = Pass<typeof VectorCluster, VectorState>
export type VectorStep = Step<typeof VectorCluster, VectorState>
