import type { QdrantPort } from '../../adapters/qdrant/port.ts'
import type { VectorKey, VectorKeys } from '../../contracts/vector.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { EffectivePlan } from '../../core/sizing/plans.ts'
import type { Gateway, PlatformCluster } from '../../crds/clusters.ts'
import type { VectorCluster } from '../../crds/vector.ts'
import type { RouteVerdict } from '../../desired/vector/index.ts'
import type { Pass } from '../engine/controller.ts'
import type { Claim, StatefulSet } from '../stateful/types.ts'

/** What the controller of vector databases is given by the composition root. */
export type VectorOptions = {
  engine: QdrantPort
  /** Whether `imageName` is allowed. */
  allowOwnImages: boolean
  /** Makes a generation of random keys. */
  generateKey: (version: number) => VectorKey
}

/** What steps of one pass hand on. Each field is set by the step named, and read by later ones only. */
export type VectorState = {
  /** findCluster */
  home: PlatformCluster | undefined
  /** findCluster: what takes the place of an Ingress there. */
  gateway: Gateway | undefined
  /** resolvePlan */
  plan: EffectivePlan | undefined
  /** resolvePlan: peers that are asked for, whether or not it runs. */
  replicas: number
  /** claimHost */
  host: string | undefined
  /** adoptVolumes: the claims that exist, by ordinal. */
  claims: ReadonlyMap<number, Claim>
  /** ensureKeys */
  keys: VectorKeys | undefined
  /** drainBeforeShrinking: peers to run now, and why that is not what was asked for. */
  peers: number
  draining: Outcome | undefined
  /** growVolumes: why volumes are not yet as asked for. */
  volumes: Outcome | undefined
  /** applyWorkload */
  route: RouteVerdict | undefined
  workload: StatefulSet | undefined
}

export function newVectorState(): VectorState {
  return {
    home: undefined,
    gateway: undefined,
    plan: undefined,
    replicas: 0,
    host: undefined,
    claims: new Map(),
    keys: undefined,
    peers: 0,
    draining: undefined,
    volumes: undefined,
    route: undefined,
    workload: undefined,
  }
}

export type VectorPass = Pass<typeof VectorCluster, VectorState>

/** The namespace and name of the object of a pass. */
export function placeOfPass(pass: VectorPass): { namespace: string; name: string } {
  const { namespace = '', name } = pass.object.metadata
  return { namespace, name }
}

/** The plan, in steps after `resolvePlan`. */
export function planOf(pass: VectorPass): EffectivePlan {
  if (pass.state.plan === undefined) throw new Error('resolvePlan must run before.')
  return pass.state.plan
}

/** Whether peers are wanted now. */
export function wantedPeers(pass: VectorPass): number {
  return pass.object.spec.running ? pass.state.replicas : 0
}
