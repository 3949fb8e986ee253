import type { KubeObject, Resource } from '../../core/object.ts'
import { done, type Outcome } from '../../core/outcome.ts'
import { podKeys, type VectorInput, vectorSurroundings, vectorWorkload } from '../../desired/vector/index.ts'
import { builtinResource, ingress, podDisruptionBudget, service, statefulSet } from '../../kube/builtin.ts'
import { planOf, type StatefulSet, type VectorPass } from './types.ts'

/** Children that come and go with options of the spec; the others are always there. */
const PRUNED: readonly Resource[] = [service, ingress, podDisruptionBudget]

/** Writes the children, the StatefulSet last, so that pods find what they mount. */
export async function applyWorkload(pass: VectorPass): Promise<Outcome> {
  const input = inputOf(pass)
  const surroundings = vectorSurroundings(input)
  for (const object of surroundings) await pass.children.ensure(object, { resource: resourceOf(object) })
  for (const resource of PRUNED) {
    const names = surroundings.filter(({ kind }) => kind === resource.kind).map(({ metadata }) => metadata.name)
    await pass.children.prune(resource, names)
  }
  const { object } = await pass.children.ensure(vectorWorkload(input), { resource: statefulSet })
  pass.state.workload = object as StatefulSet
  return done()
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
  }
}

function resourceOf({ apiVersion, kind }: KubeObject): Resource {
  const resource = builtinResource(apiVersion, kind)
  if (resource === undefined) throw new Error(`${apiVersion} ${kind} is not among the built-in kinds.`)
  return resource
}
