import type { Resource } from '../../core/object.ts'
import { done, type Outcome } from '../../core/outcome.ts'
import { nextVectorVersion, type VectorVersion } from '../../crds/vector.ts'
import {
  podKeys,
  type VectorInput,
  vectorAuxiliaryChildren,
  vectorInput,
  vectorWorkload,
  versionOfVectorImage,
} from '../../desired/vector/index.ts'
import { ingress, podDisruptionBudget, service } from '../../kube/builtin.ts'
import { httpRoute } from '../../kube/gateway.ts'
import { podsOfStateful } from '../stateful/pass.ts'
import { compareEngineVersions, type EngineOf, retainedEngine } from '../stateful/retainedEngine.ts'
import type { Claim } from '../stateful/types.ts'
import { writeWorkload } from '../stateful/write.ts'
import { pruneChildren, writeChildren } from '../workload/children.ts'
import { gatewayOf } from '../workload/cluster.ts'
import { routeAcceptance } from '../workload/hosts.ts'
import { planOf } from '../workload/pass.ts'
import type { VectorPass } from './types.ts'

/** Children that depend on options of the spec; all others always exist. */
const PRUNED: readonly Resource[] = [service, ingress, httpRoute, podDisruptionBudget]

/** Writes the children, the StatefulSet last, so that pods find what they mount. */
export async function applyWorkload(pass: VectorPass): Promise<Outcome> {
  const input = inputOf(pass)
  const surroundings = vectorAuxiliaryChildren(input)
  pass.state.route = routeAcceptance(input.gateway, await writeChildren(pass, surroundings))
  const pruned = isHandingOver(pass) ? PRUNED.filter((resource) => resource !== ingress) : PRUNED
  await pruneChildren(pass, surroundings, pruned)
  await writeWorkload(pass, vectorWorkload(input))
  return done()
}

/** Keeps an existing Ingress until the Gateway has accepted its host. */
function isHandingOver({ object, state }: VectorPass): boolean {
  const isAwaited = state.route !== undefined && state.route.kind !== 'accepted'
  // An Ingress for another host is removed at once, because that host is about to be released.
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
    ingressClassName: state.cluster?.spec.ingressClassName,
    gateway: gatewayOf(pass),
  })
}

/**
 * Returns the version to run now. No minor version is skipped, however fast the spec changes. Before the first rollout
 * has finished, the status has no version: then retained volumes and pods reveal it.
 */
export function versionToRun(pass: VectorPass, claims: Iterable<Claim> = pass.state.claims.values()): VectorVersion {
  const { spec, status } = pass.object
  const running =
    status?.vectorVersion ??
    lowestVersion([...claims].map((claim) => retainedEngine(claim)?.version)) ??
    lowestVersion(podsOfStateful(pass).map(({ spec }) => versionOfVectorImage(spec?.containers?.[0]?.image)))
  return nextVectorVersion(running, spec.vectorVersion)
}

const engine = (version: string) => ({ name: 'Qdrant', version, field: 'vectorVersion' })

/** The engine for retained volumes: files of an older version are migrated to it, one minor version at a time. */
export const wantedEngine: EngineOf<VectorPass> = ({ object }) => engine(object.spec.vectorVersion)

/** The engine that last wrote to the volumes. */
export const runningEngine: EngineOf<VectorPass> = (pass, claims) => engine(versionToRun(pass, claims))

/** Returns the lowest version, because peers may differ before the first rollout has finished. */
function lowestVersion(versions: readonly (string | undefined)[]): string | undefined {
  return versions.filter((version) => version !== undefined).sort(compareEngineVersions)[0]
}
