import type { KubeObject, Resource } from '../../core/object.ts'
import { done, type Outcome } from '../../core/outcome.ts'
import {
  type HttpRoute,
  judgeRoute,
  podKeys,
  type RouteVerdict,
  type VectorInput,
  vectorSurroundings,
  vectorWorkload,
} from '../../desired/vector/index.ts'
import { ingress, podDisruptionBudget, service, statefulSet } from '../../kube/builtin.ts'
import { httpRoute } from '../../kube/gateway.ts'
import { knownResource } from '../../kube/known.ts'
import type { StatefulSet } from '../stateful/types.ts'
import { planOf, type VectorPass } from './types.ts'

/** Children that come and go with options of the spec; the others are always there. */
const PRUNED: readonly Resource[] = [service, ingress, httpRoute, podDisruptionBudget]

/** Writes the children, the StatefulSet last, so that pods find what they mount. */
export async function applyWorkload(pass: VectorPass): Promise<Outcome> {
  const input = inputOf(pass)
  const surroundings = vectorSurroundings(input)
  const written: KubeObject[] = []
  for (const desired of surroundings) {
    const { object } = await pass.children.ensure(desired, { resource: knownResource(desired) })
    written.push(object)
  }
  pass.state.route = verdictOf(pass, written)
  for (const resource of PRUNED) {
    if (resource === ingress && isHandingOver(pass)) continue
    const names = surroundings.filter(({ kind }) => kind === resource.kind).map(({ metadata }) => metadata.name)
    await pass.children.prune(resource, names)
  }
  const { object } = await pass.children.ensure(vectorWorkload(input), { resource: statefulSet })
  pass.state.workload = object as StatefulSet
  return done()
}

/** An Ingress that was there before serves on until the Gateway has taken its host. */
function isHandingOver({ object, state }: VectorPass): boolean {
  const isAwaited = state.route !== undefined && state.route.kind !== 'accepted'
  // Of another host it goes at once: that host is about to be let go.
  return isAwaited && object.status?.ingressHost === state.host
}

function inputOf(pass: VectorPass): VectorInput {
  const { object, state, incarnation } = pass
  return {
    cluster: object,
    plan: planOf(pass),
    incarnation,
    peers: state.peers,
    keys: state.keys === undefined ? undefined : podKeys(state.keys, object.spec.vectorVersion),
    host: state.host,
    ingressClassName: state.home?.spec.ingressClassName,
    gateway: state.gateway,
  }
}

/** What the Gateway says of the route; undefined where none was written. */
function verdictOf({ state }: VectorPass, written: readonly KubeObject[]): RouteVerdict | undefined {
  const route = written.find(({ kind }) => kind === httpRoute.kind)
  return route === undefined || state.gateway === undefined ? undefined : judgeRoute(route as HttpRoute, state.gateway)
}
