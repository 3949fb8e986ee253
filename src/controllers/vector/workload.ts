import type { Resource } from '../../core/object.ts'
import { done, type Outcome } from '../../core/outcome.ts'
import { nextVectorVersion, type VectorVersion } from '../../crds/vector.ts'
import {
  podKeys,
  type VectorInput,
  vectorInput,
  vectorSurroundings,
  vectorWorkload,
  versionOfVectorImage,
} from '../../desired/vector/index.ts'
import { ingress, podDisruptionBudget, service } from '../../kube/builtin.ts'
import { httpRoute } from '../../kube/gateway.ts'
import { compareEngineVersions, type EngineOf, keptEngine } from '../stateful/keptEngine.ts'
import { podsOfStateful } from '../stateful/pass.ts'
import type { Claim } from '../stateful/types.ts'
import { writeWorkload } from '../stateful/write.ts'
import { pruneChildren, writeChildren } from '../workload/children.ts'
import { gatewayOf } from '../workload/home.ts'
import { routeVerdict } from '../workload/hosts.ts'
import { planOf } from '../workload/pass.ts'
import type { VectorPass } from './types.ts'

/** Children that come and go with options of the spec; the others are always there. */
const PRUNED: readonly Resource[] = [service, ingress, httpRoute, podDisruptionBudget]

/** Writes the children, the StatefulSet last, so that pods find what they mount. */
export async function applyWorkload(pass: VectorPass): Promise<Outcome> {
  const input = inputOf(pass)
  const surroundings = vectorSurroundings(input)
  pass.state.route = routeVerdict(input.gateway, await writeChildren(pass, surroundings))
  const pruned = isHandingOver(pass) ? PRUNED.filter((resource) => resource !== ingress) : PRUNED
  await pruneChildren(pass, surroundings, pruned)
  await writeWorkload(pass, vectorWorkload(input))
  return done()
}

/** An Ingress that was there before serves on until the Gateway has taken its host. */
function isHandingOver({ object, state }: VectorPass): boolean {
  const isAwaited = state.route !== undefined && state.route.kind !== 'accepted'
  // An Ingress for a different host is removed at once: that host is about to be released.
  return isAwaited && object.status?.ingressHost === state.host
}

function inputOf(pass: VectorPass): VectorInput {
  const { object, state, incarnation } = pass
  const vectorVersion = versionToRun(pass)
  return vectorInput({
    cluster: { ...object, spec: { ...object.spec, vectorVersion } },
    plan: planOf(pass),
    incarnation,
    peers: state.peers,
    keys: state.keys === undefined ? undefined : podKeys(state.keys, vectorVersion),
    host: state.host,
    ingressClassName: state.home?.spec.ingressClassName,
    gateway: gatewayOf(pass),
  })
}

/**
 * The version that peers are to run now: no minor is skipped, however fast the spec changes. Until the first rollout has
 * ended, the status names no version: then kept volumes and pods tell what the files have reached.
 */
export function versionToRun(pass: VectorPass, claims: Iterable<Claim> = pass.state.claims.values()): VectorVersion {
  const { spec, status } = pass.object
  const running =
    status?.vectorVersion ??
    lowest([...claims].map((claim) => keptEngine(claim)?.version)) ??
    lowest(podsOfStateful(pass).map(({ spec }) => versionOfVectorImage(spec?.containers?.[0]?.image)))
  return nextVectorVersion(running, spec.vectorVersion)
}

const engine = (version: string) => ({ name: 'Qdrant', version, field: 'vectorVersion' })

/** The engine that kept volumes are for: files of an older version are migrated up to it, one minor at a time. */
export const wantedEngine: EngineOf<VectorPass> = ({ object }) => engine(object.spec.vectorVersion)

/** The engine that wrote to the volumes last. */
export const runningEngine: EngineOf<VectorPass> = (pass, claims) => engine(versionToRun(pass, claims))

/** Before the first rollout has ended, peers may differ. */
function lowest(versions: readonly (string | undefined)[]): string | undefined {
  return versions.filter((version) => version !== undefined).sort(compareEngineVersions)[0]
}
