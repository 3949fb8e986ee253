import type { Resource } from '../../core/object.ts'
import { done, type Outcome } from '../../core/outcome.ts'
import type { AnyKind, ObjectOf, SpecOf } from '../../crds/define.ts'
import type { Halt, Observed, Rights, Step, Workspace, WorkspaceName } from './pass.ts'
import { canBeExposed, observedRoutes, removeRoutes, withExposuresClosed } from './routes.ts'
import { steps } from './steps.ts'
import { LOCATION_READS, otherClusterOf } from './workloadLocation.ts'

export type {
  CacheView,
  Children,
  Halt,
  ObjectScope,
  Observed,
  Pass,
  Rights,
  Step,
  Workspace,
  WorkspaceName,
} from './pass.ts'
export { steps } from './steps.ts'

export type ControllerOptions<K extends AnyKind, State> = {
  /** Resources whose changes trigger this controller, besides its kind. Each can be read from its cache. */
  observes: readonly Observed[]
  /** Further resources read from a cache, whose changes trigger nothing. */
  reads?: readonly (Resource | { resource: Resource; in?: WorkspaceName })[]
  /** What the controller writes. Generated into the operator's role: a missing verb is a 403 at run time. */
  writes: readonly Rights[]
  /** Where this controller's children go; `workloads`. */
  childrenIn?: WorkspaceName
  /** Returns the cluster of an object's workload; undefined for the platform's own. Defaults to `runsAnywhere`. */
  clusterOf?: (object: ObjectOf<K>, records: Workspace) => string | undefined
  /**
   * Observed children to remove, together with the object's Secrets, from other clusters where the object no longer
   * exists or runs: no garbage collector does so there. Must not hold data. Defaults to none.
   */
  collectsOrphans?: readonly Resource[]
  /** Whether to observe `workloads` resources in all other clusters too. Implied by `clusterOf`. */
  watchesOtherClusters?: boolean
  /** Fields of the spec that are written once, before the first step, if they are absent. */
  fillSpec?: (object: ObjectOf<K>, records: Workspace) => Partial<SpecOf<K>> | undefined
  /** The steps of a pass. Outside access that the spec no longer allows is closed before them. */
  reconcile: Step<K, State>
  /** For kinds that can be stopped: runs if the steps end early. An obstacle to running must not prevent stopping. */
  halt?: Halt<K, State>
  /** Runs after all steps are done, and after a stop, when the children are as the spec asks. Defaults to nothing. */
  afterSteps?: Step<K, State>
  /**
   * Runs during deletion, after the routes to the object were removed; `done` removes the finalizer. Only for kinds
   * that own a namespace or data: it implies the finalizer, which is added before the first step.
   */
  finalize?: Step<K, State>
  /**
   * Runs instead of `finalize` if the workload's cluster was revoked, so that nothing can be removed there. Cleans up
   * what the platform's own cluster holds of the object. Defaults to nothing.
   */
  finalizeRevoked?: Step<K, State>
  /** Whether deletion waits for `finalize`; defaults to true. If not, the object is deleted without the controllers. */
  needsFinalizer?: (object: ObjectOf<K>, records: Workspace) => boolean
  /**
   * Wakes every object without a watch: called once at start with the trigger, returns a function that ends it. For
   * configuration that changes while the process runs.
   */
  onConfigurationChange?: (wake: () => void) => () => void
  /** Creates the state that the steps of one pass share. */
  state?: () => State
}

/**
 * A kind with the code that reconciles it. Made by `controller`, run by `startControllers`. The generic types tie the
 * options together and are erased here, because a list of controllers covers all kinds.
 */
export type Controller = Readonly<
  Required<Omit<ControllerOptions<AnyKind, unknown>, 'finalize' | 'clusterOf' | 'halt' | 'afterSteps'>> & {
    kind: AnyKind
    /** The kind in lower case; label of metrics, name of the queue. */
    name: string
    finalize: Step<AnyKind, unknown> | undefined
    /** Runs instead of `reconcile` for an object whose spec is refused. */
    refuse: (refusal: Outcome) => Step<AnyKind, unknown>
    /** Undefined if its objects cannot be stopped. */
    halt: Halt<AnyKind, unknown> | undefined
    /** Undefined if every object's workload is on the platform's own cluster. */
    clusterOf: ((object: object, records: Workspace) => string | undefined) | undefined
  }
>

type DeclaredField = 'observes' | 'reads' | 'writes'

/**
 * What a controller reads and writes. The operator's role is generated from it, so it is known before any port exists.
 */
export type ControllerDeclaration = Pick<Controller, 'kind' | DeclaredField>

/**
 * Declares a controller.
 *
 *   controller(VectorCluster, { observes: [statefulSet], writes: [...], reconcile: steps(resolvePlan, applyWorkload) })
 */
export function controller<K extends AnyKind, State = undefined>(
  kind: K,
  options: ControllerOptions<K, State>,
): Controller {
  const routes = observedRoutes(options.observes)
  const { halt, afterSteps = () => done() } = options
  const guarded = (step: Step<K, State>) => (canBeExposed(kind) ? withExposuresClosed(options.observes, step) : step)
  const whole = {
    kind,
    name: kind.kind.toLowerCase(),
    observes: options.observes,
    reads: [...(options.reads ?? []), ...(kind.runsAnywhere === true ? LOCATION_READS : [])],
    writes: options.writes,
    clusterOf: options.clusterOf ?? (kind.runsAnywhere === true ? otherClusterOf : undefined),
    collectsOrphans: options.collectsOrphans ?? [],
    childrenIn: options.childrenIn ?? 'workloads',
    watchesOtherClusters: options.watchesOtherClusters ?? false,
    fillSpec: options.fillSpec ?? (() => undefined),
    reconcile: guarded(steps(options.reconcile, afterSteps)),
    refuse: (refusal: Outcome) => guarded(() => refusal),
    halt: halt && haltWithAfterSteps(halt, afterSteps),
    finalize:
      routes.length === 0 ? options.finalize : options.finalize && steps(removeRoutes(routes), options.finalize),
    finalizeRevoked: options.finalizeRevoked ?? (() => done()),
    needsFinalizer: options.needsFinalizer ?? (() => true),
    onConfigurationChange: options.onConfigurationChange ?? (() => () => {}),
    state: options.state ?? (() => undefined as State),
  }
  return Object.freeze(whole) as unknown as Controller
}

function haltWithAfterSteps<K extends AnyKind, State>(
  halt: Halt<K, State>,
  afterSteps: Step<K, State>,
): Halt<K, State> {
  return (pass) => {
    const stop = halt(pass)
    return stop && ((obstacle) => Promise.resolve(steps<K, State>(() => stop(obstacle), afterSteps)(pass)))
  }
}

/**
 * Declares a controller that needs ports beyond the clusters: its rights are data, its steps depend on `options`. It
 * may observe less than declared.
 */
export function controllerWith<K extends AnyKind, Options, State = undefined>(
  kind: K,
  declared: Pick<ControllerOptions<K, State>, DeclaredField>,
  behaviour: (
    options: Options,
  ) => Omit<ControllerOptions<K, State>, DeclaredField> & { observes?: readonly Observed[] },
): ControllerDeclaration & ((options: Options) => Controller) {
  const make = (options: Options) => controller<K, State>(kind, { ...declared, ...behaviour(options) })
  const { reads = [] } = declared
  return Object.assign(make, {
    kind,
    ...declared,
    reads: [...reads, ...(kind.runsAnywhere === true ? LOCATION_READS : [])],
  })
}
