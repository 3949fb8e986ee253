import { timestamp } from '../../core/clock.ts'
import { PlatformError } from '../../core/errors.ts'
import { FINALIZER, INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { type KubeObject, objectKey, refOf, refOfKey, resourceId } from '../../core/object.ts'
import { done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { brokenRules, type ObjectOf } from '../../crds/define.ts'
import { namespace } from '../../kube/builtin.ts'
import type { PatchOptions } from '../../kube/client.ts'
import { isKubeError } from '../../kube/errors.ts'
import { PassChildren } from './children.ts'
import type { Controller, ObjectScope, Pass, Workspace } from './controller.ts'
import { withDeadline } from './deletion.ts'
import type { Environment } from './environment.ts'
import { Expectations } from './expectations.ts'
import { FILL_FIELD_MANAGER, releaseFilledFields } from './filledFields.ts'
import { PassError, StalledError, WaitingError } from './interruptions.ts'
import { MutatedWrites, REWRITE_DELAY_MS } from './mutatedWrites.ts'
import { resolveObjectScope } from './objectScope.ts'
import { outcomeOfRefusal } from './refusal.ts'
import { type Failed, nextStatus, statusPatch, type Transition, transition } from './status.ts'
import { currentStep, withEarliestRequeue } from './steps.ts'
import { truncateReport } from './truncateReport.ts'
import { locateWorkload, NO_OTHER_CLUSTERS, type WorkloadLocation } from './workloadLocation.ts'

/** What the queue does with the key after a pass. */
export type ReconcileResult =
  /** Forget earlier failures; reconcile again after this many milliseconds, or when something changes. */
  | { kind: 'settled'; after: number | undefined }
  /** The object is gone. */
  | { kind: 'gone' }
  /** The cache has not seen the last pass's writes yet. */
  | { kind: 'behind' }
  /** Somebody else wrote first: retry soon, without a log line. */
  | { kind: 'conflict' }
  | { kind: 'failed'; error: PassError }

/** Up to this many conflicts in a row are normal. More mean that two writers keep overwriting each other. */
const MAX_QUIET_CONFLICTS = 10

/** Number of consecutive failures after which the object reports them; single failures are normal. */
const FAILURES_BEFORE_CONDITION = 3

type StatusDraft = { reported: Record<string, unknown>; serving: boolean | undefined; isHalted: boolean }
type PassOutcome = Outcome | (Failed & { error: unknown })
type StartedPass = { pass: Pass; draft: StatusDraft; children: PassChildren }

/** Reconciles the keys of one kind, one pass at a time. */
export class Reconciler {
  readonly #controller: Controller
  readonly #environment: Environment
  readonly #expectations = new Expectations()
  readonly #mutatedWrites: MutatedWrites
  readonly #failures = new Map<string, number>()
  readonly #conflicts = new Map<string, number>()
  /** Keys that are stalled because an object of somebody else has the name of a child, by that object. */
  readonly #keysByOccupant = new Map<string, Set<string>>()

  constructor(controller: Controller, environment: Environment) {
    this.#controller = controller
    this.#environment = environment
    this.#mutatedWrites = new MutatedWrites(environment.clock)
  }

  /** One pass. Never throws: whatever happens is a verdict about this one key. */
  async reconcile(key: string): Promise<ReconcileResult> {
    try {
      return await this.#pass(key)
    } catch (error) {
      // Before or after the steps: the metadata, the status patch, the cache.
      if (this.#isQuietConflict(error, key)) return { kind: 'conflict' }
      return { kind: 'failed', error: new PassError(this.#describeFailure('reconcile', error), error) }
    }
  }

  async #pass(key: string): Promise<ReconcileResult> {
    const { records } = this.#environment
    const { kind } = this.#controller
    const ref = refOfKey(key)
    const found = records.cache(kind.resource).get(ref.namespace, ref.name)
    if (found === undefined) return this.#forget(key)
    if (!this.#expectations.met(key)) return { kind: 'behind' }
    if (found.metadata.deletionTimestamp !== undefined) return this.#finalizeObject(key, found)
    const filling = this.#missingSpecOf(found)
    if (filling.refusal !== undefined) return this.#reconcileObject(key, found, filling.refusal)
    return this.#reconcileObject(key, await this.#prepareObject(key, found, filling.spec))
  }

  /** The keys that waited for this object's deletion, each returned once. */
  freedBy(occupant: string): Iterable<string> {
    const keys = this.#keysByOccupant.get(occupant) ?? new Set<string>()
    this.#keysByOccupant.delete(occupant)
    return keys
  }

  /** The number of keys with stored state, by its type. Nothing is stored for deleted objects. */
  get remembered(): Readonly<Record<string, number>> {
    return {
      expectations: this.#expectations.size,
      storedOtherwise: this.#mutatedWrites.size,
      failures: this.#failures.size,
      conflicts: this.#conflicts.size,
      occupied: this.#keysByOccupant.size,
    }
  }

  #wakeOnRemoval(occupant: string, key: string): void {
    const keys = this.#keysByOccupant.get(occupant) ?? new Set<string>()
    this.#keysByOccupant.set(occupant, keys.add(key))
  }

  #forget(key: string): ReconcileResult {
    this.#expectations.forget(key)
    this.#mutatedWrites.forget(key)
    this.#failures.delete(key)
    this.#conflicts.delete(key)
    for (const [occupant, keys] of this.#keysByOccupant) {
      if (keys.delete(key) && keys.size === 0) this.#keysByOccupant.delete(occupant)
    }
    return { kind: 'gone' }
  }

  /** Forgets the writes that a key waited to see in a cluster that no longer exists. */
  lost(key: string): void {
    this.#expectations.forget(key)
  }

  #locate(object: KubeObject, scope: ObjectScope, isLeaving: boolean): WorkloadLocation {
    const { records, others = NO_OTHER_CLUSTERS } = this.#environment
    const { kind, clusterOf } = this.#controller
    const clusterId = clusterOf?.(object, records)
    return locateWorkload(kind, { clusterId, scope, namespace: object.metadata.namespace, isLeaving }, records, others)
  }

  async #reconcileObject(key: string, object: KubeObject, refusal?: Outcome): Promise<ReconcileResult> {
    const { scope, obstacle: scopeObstacle } = this.#resolveScope(object)
    const location = this.#locate(object, scope, false)
    const obstacle = scopeObstacle ?? (location.kind === 'unusable' ? location.obstacle : undefined)
    const started = this.#startPass(key, object, scope, location)
    const { pass, draft, children } = started
    if (obstacle !== undefined) return this.#conclude(pass, draft, obstacle)
    const { reconcile, refuse } = this.#controller
    const outcome = await this.#run(pass, refusal === undefined ? reconcile : refuse(refusal))
    return this.#conclude(pass, draft, withMutations(await this.#haltOnObstacle(started, outcome), children.mutations))
  }

  /** An obstacle to running does not prevent stopping: then it is reported, but is not a failure. */
  async #haltOnObstacle({ pass, draft }: StartedPass, outcome: PassOutcome): Promise<PassOutcome> {
    if (outcome.kind === 'done') return outcome
    const stop = this.#controller.halt?.(pass as Pass<Pass['kind'], unknown>)
    if (stop === undefined) return outcome
    const halted = await this.#run(pass, () => stop(outcome.kind === 'failed' ? done() : outcome))
    if (halted.kind === 'failed' || outcome.kind === 'failed') return halted.kind === 'failed' ? halted : outcome
    if (halted.kind !== 'done') return halted
    draft.isHalted = true
    const message = `${halted.message} It cannot be started now: ${outcome.message}`
    const startObstacle = { reason: outcome.reason, message: outcome.message }
    return done({ ...halted, message, after: outcome.after ?? halted.after, startObstacle })
  }

  /** Values missing from the spec that are decided once; a refusal if they would contradict the spec. */
  #missingSpecOf(object: KubeObject): { spec: object | undefined; refusal?: Outcome } {
    const { kind, fillSpec } = this.#controller
    const spec = fillSpec(object as ObjectOf<typeof kind>, this.#environment.records)
    if (spec === undefined) return { spec }
    const [broken] = brokenRules<unknown>(kind as never, { ...(object.spec as object), ...spec }, object.spec)
    return { spec, ...(broken && { refusal: stalled('ConfigurationInvalid', `${broken.message}.`) }) }
  }

  async #finalizeObject(key: string, object: KubeObject): Promise<ReconcileResult> {
    const { finalize } = this.#controller
    if (finalize === undefined || !object.metadata.finalizers?.includes(FINALIZER)) return settledResult()
    const { scope } = this.#resolveScope(object)
    const location = this.#locate(object, scope, true)
    const { pass, draft } = this.#startPass(key, object, scope, location)
    const outcome =
      location.kind === 'unusable' ? await this.#leaveUnreachable(pass, location) : await this.#run(pass, finalize)
    if (outcome.kind === 'done') {
      await this.#removeFinalizer(object)
      return settledResult()
    }
    const now = this.#environment.clock.now()
    const deletedAt = object.metadata.deletionTimestamp ?? ''
    const ends = 'error' in outcome ? outcome : withDeadline(outcome, deletedAt, now)
    return this.#conclude(pass, draft, ends)
  }

  /** Deletes children in an unreachable cluster. Reports what stays there, because the object is gone afterwards. */
  async #leaveUnreachable(
    pass: Pass,
    { obstacle, onDeletion }: WorkloadLocation & { kind: 'unusable' },
  ): Promise<PassOutcome> {
    if (onDeletion === 'nothing to remove') return done()
    if (onDeletion === 'wait') return obstacle
    const outcome = await this.#run(pass, this.#controller.finalizeRevoked)
    if (outcome.kind === 'done') {
      const note =
        'The agent of its cluster was revoked: what it runs there is not removed. The owner of that cluster can remove it.'
      pass.event('Warning', 'ClusterRevoked', note)
    }
    return outcome
  }

  #resolveScope(object: KubeObject): { scope: ObjectScope; obstacle: Outcome | undefined } {
    return resolveObjectScope(this.#controller.kind, object, this.#environment.records.cache(namespace))
  }

  /**
   * Adds what every object needs before anything is created for it: the incarnation that its children carry, the
   * finalizer (without it, a deletion during the first pass would leave children behind) and missing spec values.
   * Removes an unneeded finalizer.
   */
  async #prepareObject(key: string, object: KubeObject, spec: object | undefined): Promise<KubeObject> {
    const { annotations, finalizers = [], resourceVersion, uid } = object.metadata
    const lacksIncarnation = (annotations?.[INCARNATION_ANNOTATION] ?? '') === ''
    const { finalize, needsFinalizer, kind } = this.#controller
    const held = needsFinalizer(object as ObjectOf<typeof kind>, this.#environment.records) ? [FINALIZER] : []
    const wanted = [...finalizers.filter((name) => name !== FINALIZER), ...held]
    const isOther = finalize !== undefined && wanted.length !== finalizers.length
    if (!lacksIncarnation && !isOther && spec === undefined) return object
    const metadata = {
      ...(lacksIncarnation ? { annotations: { [INCARNATION_ANNOTATION]: this.#environment.newId() } } : {}),
      ...(isOther ? { finalizers: wanted } : {}),
    }
    const options = { resourceVersion, uid }
    if (spec === undefined) return this.#write(key, object, { metadata }, options)
    return this.#write(key, object, { metadata, spec }, { ...options, fieldManager: FILL_FIELD_MANAGER })
  }

  async #removeFinalizer(object: KubeObject): Promise<void> {
    const { finalizers = [], resourceVersion, uid } = object.metadata
    const patch = { metadata: { finalizers: finalizers.filter((name) => name !== FINALIZER) } }
    const { client } = this.#environment.records
    await client.mergePatch(this.#controller.kind.resource, refOf(object), patch, { resourceVersion, uid })
  }

  #startPass(key: string, object: KubeObject, scope: ObjectScope, location: WorkloadLocation): StartedPass {
    const { records, clock, log, events } = this.#environment
    const workloads = location.kind === 'other cluster' ? location.workspace : this.#environment.workloads
    const { kind, childrenIn } = this.#controller
    const incarnation = object.metadata.annotations?.[INCARNATION_ANNOTATION] ?? ''
    const draft: StatusDraft = { reported: {}, serving: undefined, isHalted: false }
    const childWorkspace = childrenIn === 'records' ? records : workloads
    const remembered = { expectations: this.#expectations, otherwise: this.#mutatedWrites }
    const childrenOn = (workspace: Workspace) => {
      const owner = { object, resource: kind.resource, incarnation, scope, sameCluster: workspace === records }
      return new PassChildren(owner, key, workspace, remembered)
    }
    const children = childrenOn(childWorkspace)
    const pass: Pass = {
      kind,
      key,
      object: object as ObjectOf<typeof kind>,
      incarnation,
      scope,
      records,
      workloads,
      others: this.#environment.others ?? NO_OTHER_CLUSTERS,
      children,
      recordChildren: childWorkspace === records ? children : childrenOn(records),
      clock,
      log: log.child({ controller: this.#controller.name, key }),
      now: timestamp(clock.now()),
      // The controller's own types tie state and steps together; the engine passes it through unread.
      state: this.#controller.state() as undefined,
      report: (fields) =>
        void Object.assign(draft.reported, location.kind === 'other cluster' ? truncateReport(fields) : fields),
      serving: (value) => {
        draft.serving = value
      },
      event: (type, reason, note) => events.emit(object, { type, reason, note }),
    }
    return { pass, draft, children }
  }

  /** The steps' outcome, with everything thrown turned into one. */
  async #run(pass: Pass, step: Controller['reconcile']): Promise<PassOutcome> {
    try {
      return await step(pass as Pass<Pass['kind'], unknown>)
    } catch (error) {
      if (error instanceof StalledError) {
        if (error.occupant !== undefined) this.#wakeOnRemoval(error.occupant, pass.key)
        return withEarliestRequeue(pass, stalled(error.reason, error.message))
      }
      if (error instanceof WaitingError) return withEarliestRequeue(pass, waiting(error.reason, error.message))
      const refusal = outcomeOfRefusal(error, this.#controller.kind)
      if (refusal !== undefined) {
        pass.log.warn({ err: error, step: currentStep(pass) }, 'Another system refuses the request.')
        return withEarliestRequeue(pass, refusal)
      }
      return { kind: 'failed', message: this.#describeFailure(currentStep(pass), error), error }
    }
  }

  /** The one place where an outcome becomes conditions, an event, a log line and the key's next turn. */
  async #conclude(pass: Pass, draft: StatusDraft, outcome: PassOutcome): Promise<ReconcileResult> {
    switch (outcome.kind) {
      case 'done':
      case 'waiting':
      case 'degraded':
      case 'stalled':
        await this.#writeStatus(pass, draft, outcome)
        this.#failures.delete(pass.key)
        this.#conflicts.delete(pass.key)
        return settledResult('after' in outcome ? outcome.after : undefined)
      case 'failed': {
        if (this.#isQuietConflict(outcome.error, pass.key)) return { kind: 'conflict' }
        const failures = (this.#failures.get(pass.key) ?? 0) + 1
        this.#failures.set(pass.key, failures)
        if (failures >= FAILURES_BEFORE_CONDITION) {
          // People need to read the first failure, not that it could not be recorded either.
          await this.#writeStatus(pass, draft, outcome).catch((error: unknown) =>
            pass.log.debug({ err: error }, 'The failure could not be written into the status.'),
          )
        }
        return { kind: 'failed', error: new PassError(outcome.message, outcome.error) }
      }
    }
  }

  async #writeStatus(pass: Pass, draft: StatusDraft, outcome: Outcome | Failed): Promise<void> {
    const object = pass.object as KubeObject
    const { generation = 0, deletionTimestamp } = object.metadata
    const previous = (object.status ?? {}) as Record<string, unknown>
    const deleting = deletionTimestamp !== undefined
    const next = nextStatus({ previous, ...draft, outcome, generation, deleting, now: pass.now })
    const patch = statusPatch(previous, next)
    if (patch === undefined) return
    const options = { uid: object.metadata.uid, subresource: 'status' }
    const written = await this.#write(pass.key, object, { status: patch }, options)
    const change = transition(previous, next, outcome)
    if (change !== undefined) emitTransition(pass, outcome, change)
    await this.#releaseFilled(pass.key, written)
  }

  /** Runs after the status write, because nothing waits for it. */
  async #releaseFilled(key: string, written: KubeObject): Promise<void> {
    const { records } = this.#environment
    const { resource } = this.#controller.kind
    const given = await releaseFilledFields(records.client, resource, written)
    if (given !== written) this.#expectations.written(key, records.cache(resource), given)
  }

  async #write(key: string, object: KubeObject, patch: object, options: PatchOptions): Promise<KubeObject> {
    const { records } = this.#environment
    const { resource } = this.#controller.kind
    const written = await records.client.mergePatch(resource, refOf(object), patch, options)
    this.#expectations.written(key, records.cache(resource), written)
    return written
  }

  #isQuietConflict(error: unknown, key: string): boolean {
    if (!this.#isConflict(error, key)) return false
    const count = (this.#conflicts.get(key) ?? 0) + 1
    this.#conflicts.set(key, count)
    return count <= MAX_QUIET_CONFLICTS
  }

  /** Somebody else wrote or deleted first. The cache will be updated, and the next pass sees it. */
  #isConflict(error: unknown, key: string): boolean {
    if (isKubeError(error, 'Conflict', 'AlreadyExists')) return true
    if (!isKubeError(error, 'NotFound') || error.resource === undefined) return false
    const isOwnKind = resourceId(error.resource) === resourceId(this.#controller.kind.resource)
    return isOwnKind && objectKey(error.namespace, error.objectName ?? '') === key
  }

  /** A sentence that a status may show: ours, or that of an error class whose messages contain nothing secret. */
  #describeFailure(step: string, error: unknown): string {
    return `Step "${step}" failed and is retried: ${describeError(error)}`
  }
}

function emitTransition(pass: Pass, outcome: Outcome | Failed, { type, reason, note }: Transition): void {
  pass.event(type, reason as Parameters<Pass['event']>[1], note)
  const fields = { outcome: outcome.kind, reason }
  if (type === 'Normal') pass.log.info(fields, `${reason}: ${note}`)
  else pass.log.warn(fields, `${reason}: ${note}`)
}

function describeError(error: unknown): string {
  if (isKubeError(error)) {
    const fields = [...new Set(error.causes.map((cause) => cause.field).filter((field) => field !== ''))].slice(0, 5)
    // Show only the field names of a refused object: the server's message repeats values, which may be secret.
    return fields.length === 0 ? error.message : `${error.message} Fields: ${fields.join(', ')}.`
  }
  if (error instanceof PlatformError) return error.message
  return `internal error (${error instanceof Error ? error.name : typeof error}); see the log of the controllers.`
}

/** Children that are stored differently from how they were written are reported, and written again after a while. */
function withMutations<T extends PassOutcome>(outcome: T, mutations: ReadonlySet<string>): T {
  if (mutations.size === 0 || outcome.kind === 'failed') return outcome
  const after = 'after' in outcome && outcome.after !== undefined ? outcome.after : REWRITE_DELAY_MS
  const message = [...(outcome.message === undefined ? [] : [outcome.message]), ...mutations].join(' ')
  return { ...outcome, message, after: Math.min(after, REWRITE_DELAY_MS) }
}

function settledResult(after?: number): ReconcileResult {
  return { kind: 'settled', after }
}
