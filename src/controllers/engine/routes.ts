import { type KubeObject, resourceId } from '../../core/object.ts'
import { done, type Outcome } from '../../core/outcome.ts'
import type { AnyKind } from '../../crds/define.ts'
import { ingress, service } from '../../kube/builtin.ts'
import { httpRoute } from '../../kube/gateway.ts'
import { NARROWABLE_RESOURCES, narrowExposures } from './exposureLimits.ts'
import type { Observed, Pass, Step } from './pass.ts'
import { steps } from './steps.ts'

/** The objects that route outside callers to a workload. */
const ROUTES = [ingress, httpRoute]

/** Returns the kinds of routes that a controller keeps. */
export function observedRoutes(observes: readonly Observed[]) {
  const ids = new Set(observes.map((each) => ('resource' in each ? '' : resourceId(each))))
  return ROUTES.filter((route) => ids.has(resourceId(route)))
}

/**
 * Removes the routes to a resource that is closed or being deleted: its pods end slowly and answer with errors
 * meanwhile.
 */
export function removeRoutes(routes: typeof ROUTES) {
  return async function removeRoutes({ children, workloads }: Pick<Pass, 'children' | 'workloads'>): Promise<Outcome> {
    for (const route of routes) if (workloads.isServed(route)) await children.prune(route, [])
    return done()
  }
}

/** Spec fields that expose something to the outside. */
export const EXPOSURE_FIELDS = ['isPublic', 'enableIngress', 'enableLoadBalancer'] as const
type ExposureSwitches = { readonly [field in (typeof EXPOSURE_FIELDS)[number]]?: boolean }

export const canBeExposed = ({ spec }: Pick<AnyKind, 'spec'>): boolean =>
  EXPOSURE_FIELDS.some((field) => field in spec.shape)

type Exposing = KubeObject & { spec?: { type?: string } }

/**
 * Closes outside access that the spec no longer allows before the step, and narrows the rest if the step ends early: an
 * obstacle to other changes must not keep access open.
 */
export function withExposuresClosed<K extends AnyKind, State>(
  observes: readonly Observed[],
  step: Step<K, State>,
): Step<K, State> {
  const ids = new Set(observes.map((each) => ('resource' in each ? '' : resourceId(each))))
  const narrowed = NARROWABLE_RESOURCES.filter((each) => ids.has(resourceId(each)))
  const guardedStep = steps<K, State>(closeExposures(observes), step)
  return async function withExposuresClosed(pass: Pass<K, State>): Promise<Outcome> {
    let isComplete = false
    try {
      const outcome = await guardedStep(pass)
      isComplete = outcome.kind === 'done'
      return outcome
    } finally {
      await narrowExposures(pass, narrowed, isComplete)
    }
  }
}

function closeExposures(observes: readonly Observed[]) {
  const removeOwnRoutes = removeRoutes(observedRoutes(observes))
  const hasServices = observes.some((each) => !('resource' in each) && resourceId(each) === resourceId(service))
  return async function closeExposures({ object, children, workloads }: ClosingPass): Promise<Outcome> {
    const { isPublic, enableIngress, enableLoadBalancer } = object.spec as ExposureSwitches
    if (isPublic === false || enableIngress === false) await removeOwnRoutes({ children, workloads })
    if (enableLoadBalancer !== false || !hasServices) return done()
    for (const { metadata, spec } of children.owned<Exposing>(service))
      if (spec?.type === 'LoadBalancer') await children.remove(service, metadata.namespace, metadata.name)
    return done()
  }
}

type ClosingPass = Pick<Pass, 'children' | 'workloads'> & { readonly object: { readonly spec: object } }
