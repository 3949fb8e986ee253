import type { QdrantPort } from '../../adapters/qdrant/port.ts'
import type { VectorKey, VectorKeys } from '../../contracts/vector.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { VectorCluster } from '../../crds/vector.ts'
import type { RouteVerdict } from '../../desired/workload/host.ts'
import type { Pass, Step } from '../engine/controller.ts'
import { newStatefulState, type StatefulState } from '../stateful/pass.ts'

/** What the controller of vector databases is given by the composition root. */
export type VectorOptions = {
  engine: QdrantPort
  /** Whether `imageName` is allowed. */
  allowOwnImages: boolean
  /** Makes a generation of random keys. */
  generateKey: (version: number) => VectorKey
}

/** What steps of one pass hand on. Each field is set by the step named, and read by later ones only. */
export type VectorState = StatefulState & {
  /** claimHost; of its own domains it has none. */
  host: string | undefined
  domains: readonly string[]
  /** ensureKeys */
  keys: VectorKeys | undefined
  /** drainBeforeShrinking: peers to run now, and why that is not what was asked for. */
  peers: number
  draining: Outcome | undefined
  /** applyWorkload */
  route: RouteVerdict | undefined
}

export function newVectorState(): VectorState {
  return {
    ...newStatefulState(),
    host: undefined,
    domains: [],
    keys: undefined,
    peers: 0,
    draining: undefined,
    route: undefined,
  }
}

export type VectorPass = Pass<typeof VectorCluster, VectorState>
export type VectorStep = Step<typeof VectorCluster, VectorState>
