import { INCARNATION_ANNOTATION } from '../core/labels.ts'
import { boundaryNamespace } from '../core/names.ts'
import { boundaryNamespaceObject } from '../core/namespaces.ts'
import { type KubeObject, refOf } from '../core/object.ts'
import { done, type Outcome } from '../core/outcome.ts'
import { Boundary } from '../crds/boundaries.ts'
import { closedNetworkPolicy } from '../desired/isolation.ts'
import { namespace, networkPolicy } from '../kube/builtin.ts'
import { controller, type Pass, steps } from './engine/controller.ts'
import { assignInitialOwner, INITIAL_OWNER_RIGHTS } from './rbac.ts'

export type BoundaryPass = Pass<typeof Boundary>

/**
 * Keeps the namespace of each boundary. There is no finalizer: the namespace refers to the boundary as its owner, so
 * the garbage collector deletes it, and what stands in it, resource groups first of all, is torn down by its own.
 */
export const boundaryController = controller(Boundary, {
  observes: [namespace, networkPolicy],
  childrenIn: 'records',
  writes: [
    { resource: namespace, verbs: ['get', 'create', 'patch'] },
    { resource: networkPolicy, verbs: ['get', 'create', 'patch'] },
    ...INITIAL_OWNER_RIGHTS,
  ],
  reconcile: steps(ensureNamespace, closeTraffic, assignInitialOwner),
})

export async function ensureNamespace(pass: BoundaryPass): Promise<Outcome> {
  // As of this pass: the incarnation may be newer than the caller's copy of the object.
  const { metadata } = pass.object
  const annotations = { ...metadata.annotations, [INCARNATION_ANNOTATION]: pass.incarnation }
  const boundary: KubeObject = { ...pass.object, metadata: { ...metadata, annotations } }
  const { object } = await pass.children.ensure(boundaryNamespaceObject(boundary), { resource: namespace })
  pass.report({ namespace: refOf(object).name })
  return done()
}

export async function closeTraffic(pass: BoundaryPass): Promise<Outcome> {
  const policy = closedNetworkPolicy(boundaryNamespace(pass.object.metadata.name))
  await pass.children.ensure(policy, { resource: networkPolicy })
  return done()
}
