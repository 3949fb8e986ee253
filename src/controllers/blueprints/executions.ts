import { EXECUTIONS_KEPT, executionSecretName, isExecutionOver } from '../../contracts/blueprints/executions.ts'
import { type DeferredReference, fillDeferredValues } from '../../contracts/blueprints/render.ts'
import { BLUEPRINT_EXECUTION_ANNOTATION } from '../../core/labels.ts'
import { groupNamespace } from '../../core/names.ts'
import { allButNewest, type KubeObject, refOf, refOfKey } from '../../core/object.ts'
import { done, ended, type Outcome, waiting } from '../../core/outcome.ts'
import { BLUEPRINT_COLLECTIONS } from '../../crds/blueprintCollections.ts'
import { BlueprintExecution, type ExecutionStep } from '../../crds/blueprints.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import {
  endRemainingSteps,
  initialProgress,
  isStepDone,
  plainOutput,
  type Readiness,
  readinessOf,
  type StepProgress,
  timeLeft,
  unmetDependencies,
} from '../../desired/blueprints.ts'
import { controller, steps, type Workspace } from '../engine/controller.ts'
import { ignoreMissingRights, RIGHTS_RETRY_MS, readSecret, withSecretRights } from '../workload/secrets.ts'
import { ACCESS_REVIEW_READS, ACCESS_REVIEW_RIGHTS } from './rights.ts'
import {
  componentFieldValue,
  deleteValueSecret,
  type ExecutionPass,
  observedObjectOf,
  type Parameters,
  type StepWriteResult,
  writeStepObject,
} from './steps.ts'

const KINDS = [...new Set([...BLUEPRINT_COLLECTIONS.values()].map(({ kind }) => kind))]

/** Milliseconds without the secret parameters after which the execution fails: their writer has died. */
const SECRETS_TIMEOUT_MS = 120_000
/** Milliseconds for which a missing right may just not have propagated yet, and between two checks of it. */
const RIGHTS_TIMEOUT_MS = 15_000
const RIGHTS_RECHECK_MS = 3_000

/**
 * Creates what a blueprint describes, each component after its dependencies. Each created object carries a mark from
 * the same write, so that another process can continue after a crash.
 */
export const executionController = controller(BlueprintExecution, {
  observes: KINDS.map(({ resource }) => ({ resource, keysOf: executionOf })),
  reads: [ResourceGroup.resource, ...ACCESS_REVIEW_READS],
  writes: [
    ...KINDS.map(({ resource }) => ({ resource, verbs: ['get', 'create', 'patch'] })),
    { resource: BlueprintExecution.resource, verbs: ['delete'] },
    ...ACCESS_REVIEW_RIGHTS,
  ],
  reconcile: steps(function deploy(pass: ExecutionPass): Outcome | Promise<Outcome> {
    return isExecutionOver(pass.object.status?.state) ? pruneExecutions(pass) : withSecretRights(() => advance(pass))
  }),
  // Holds the execution until its Secrets in the group's namespace are deleted, which no owner reference covers.
  needsFinalizer: ({ spec, status }) =>
    !isExecutionOver(status?.state) && spec.steps.some(({ value }) => value !== undefined),
  finalize: steps(removeOwnValues),
})

async function removeOwnValues(pass: ExecutionPass): Promise<Outcome> {
  const { object } = pass
  const namespace = groupNamespaceOf(pass)
  // A step that another deployment has taken over belongs to that deployment.
  const isOurs = (step: ExecutionStep) => {
    const ownerKey = observedObjectOf(pass, step, namespace)?.metadata.annotations?.[BLUEPRINT_EXECUTION_ANNOTATION]
    return ownerKey === undefined || ownerKey === pass.key
  }
  await removeValueSecrets(pass, object.spec.steps.filter(isOurs))
  return done()
}

/** Missing rights on Secrets mean that the namespace is being deleted, and the Secrets with it. */
async function removeValueSecrets(pass: ExecutionPass, steps: readonly ExecutionStep[]): Promise<void> {
  const namespace = groupNamespaceOf(pass)
  await ignoreMissingRights(async () => {
    for (const step of steps) await deleteValueSecret(pass, step, namespace)
  })
}

/** The namespace of the group that is deployed to. */
const groupNamespaceOf = ({ object, scope }: ExecutionPass) =>
  groupNamespace(scope.boundaryId ?? '', object.spec.resourceGroup)

/** Returns the running execution that last wrote an object. */
function executionOf({ metadata }: KubeObject, records: Workspace): string[] {
  const key = metadata.annotations?.[BLUEPRINT_EXECUTION_ANNOTATION]
  if (key === undefined) return []
  const { namespace, name } = refOfKey(key)
  const execution = records.cache(BlueprintExecution).get(namespace, name)
  return execution === undefined || isExecutionOver(execution.status?.state) ? [] : [key]
}

async function advance(pass: ExecutionPass): Promise<Outcome> {
  const { object, now } = pass
  const { spec, status } = object
  const progress = initialProgress(object, now)
  pass.report({ state: 'Running', startedAt: status?.startedAt ?? now })
  const namespace = groupNamespaceOf(pass)
  const group = pass.records.cache(ResourceGroup).get(object.metadata.namespace, spec.resourceGroup)
  if (group === undefined || group.metadata.deletionTimestamp !== undefined)
    return fail(pass, progress, `Resource group "${spec.resourceGroup}" no longer exists.`)
  const parameters = await secretParameters(pass)
  if (parameters === undefined) return awaitParameters(pass, progress)
  let requeueAfter = Number.POSITIVE_INFINITY
  for (const step of spec.steps) {
    const one = progress.find(({ component }) => component === step.component)
    if (one === undefined || isStepDone(one)) continue
    requeueAfter = Math.min(requeueAfter, await advanceStep(pass, { step, one, progress, namespace, parameters }))
    if (one.status === 'Failed') return fail(pass, progress, `Component "${one.component}": ${one.message}`)
  }
  return judge(pass, progress, { namespace, requeueAfter })
}

type Advancing = {
  step: ExecutionStep
  one: StepProgress
  progress: readonly StepProgress[]
  namespace: string
  parameters: Parameters
}

/**
 * Advances one step as far as possible and records its state in `one`.
 *
 * @returns milliseconds until the next look, even if nothing changes
 */
async function advanceStep(
  pass: ExecutionPass,
  { step, one, progress, namespace, parameters }: Advancing,
): Promise<number> {
  const { clock, now } = pass
  const awaited = unmetDependencies(step, progress)
  if (awaited.length > 0) {
    Object.assign(one, { status: 'Waiting', message: `Waits for ${awaited.join(', ')}.` })
    return Number.POSITIVE_INFINITY
  }
  Object.assign(one, { status: 'Creating', startedAt: one.startedAt ?? now, message: undefined })
  const made: StepWriteResult = await writeStepObject(pass, step, { namespace, parameters, uid: one.uid })
  if ('object' in made) Object.assign(one, { uid: made.object.metadata.uid })
  const age = clock.now() - Date.parse(one.startedAt ?? now)
  const readiness = readinessOfWrite(made, age)
  if (readiness.kind === 'ready') {
    await deleteValueSecret(pass, step, namespace)
    Object.assign(one, { status: 'Ready', finishedAt: now })
    return Number.POSITIVE_INFINITY
  }
  const remainingMs = timeLeft(one, clock.now())
  if (readiness.kind === 'waiting' && remainingMs > 0) {
    Object.assign(one, readiness.message !== '' && { message: readiness.message })
    return 'missingRight' in made ? RIGHTS_RECHECK_MS : remainingMs
  }
  const isLate = readiness.kind === 'waiting'
  const message = isLate ? `It was not ready within 30 minutes. ${readiness.message}`.trim() : readiness.message
  Object.assign(one, { status: 'Failed', message: message.slice(0, 1024), finishedAt: now })
  await deleteValueSecret(pass, step, namespace)
  return Number.POSITIVE_INFINITY
}

/** @param age milliseconds since the step began */
function readinessOfWrite(made: StepWriteResult, age: number): Readiness {
  if ('refusal' in made) return { kind: 'failed', message: made.refusal }
  if ('missingRight' in made)
    return { kind: age < RIGHTS_TIMEOUT_MS ? 'waiting' : 'failed', message: made.missingRight }
  const readiness = readinessOf(made.object)
  if (made.awaits === undefined || readiness.kind === 'failed') return readiness
  return { kind: 'waiting', message: made.awaits }
}

async function judge(
  pass: ExecutionPass,
  progress: StepProgress[],
  { namespace, requeueAfter }: { namespace: string; requeueAfter: number },
): Promise<Outcome> {
  const unfinished = progress.filter((one) => !isStepDone(one))
  if (unfinished.length === 0) {
    const outputs = await collectOutputs(pass, namespace, (step) => observedObjectOf(pass, step, namespace))
    pass.report({
      steps: progress,
      outputs,
      state: 'Succeeded',
      stage: 'Finished',
      message: undefined,
      finishedAt: pass.now,
    })
    return done({ reason: 'Completed' })
  }
  const creating = unfinished.filter(({ status }) => status === 'Creating')
  if (creating.length === 0)
    return fail(pass, progress, 'No remaining component can start: each waits for one that is never made.')
  const message = creating
    .map(({ component, message: why = '' }) => `"${component}" is not ready yet. ${why}`.trim())
    .join(' ')
  const stage = creating.some(({ startedAt }) => startedAt === pass.now) ? 'Creating' : 'WaitingForReady'
  pass.report({ steps: progress, stage, message: message.slice(0, 1024) })
  return waiting('WaitingForDependency', message.slice(0, 1024), Math.max(1, requeueAfter))
}

/** Fails the execution. Created objects stay, except values on their way into a vault: nobody would delete those. */
async function fail(pass: ExecutionPass, progress: StepProgress[], message: string): Promise<Outcome> {
  const isBegun = ({ component }: ExecutionStep) =>
    progress.some((one) => one.component === component && one.status === 'Creating')
  await removeValueSecrets(pass, pass.object.spec.steps.filter(isBegun))
  pass.report({
    steps: endRemainingSteps(progress, pass.now),
    state: 'Failed',
    stage: 'Finished',
    message: message.slice(0, 1024),
    finishedAt: pass.now,
  })
  return ended(message)
}

/** Returns undefined while their Secret does not exist. */
async function secretParameters({ object, records }: ExecutionPass): Promise<Parameters | undefined> {
  const { spec, metadata } = object
  const names = spec.secretParameters ?? []
  if (names.length === 0) return {}
  const stored = await readSecret({ workloads: records }, metadata.namespace ?? '', executionSecretName(metadata.name))
  if (stored === undefined) return undefined
  return Object.fromEntries(
    names.map((name) => [name, Buffer.from(stored.data?.[name] ?? '', 'base64').toString('utf8')]),
  )
}

function awaitParameters(pass: ExecutionPass, progress: StepProgress[]): Outcome | Promise<Outcome> {
  const { object, clock } = pass
  const age = clock.now() - Date.parse(object.metadata.creationTimestamp ?? pass.now)
  if (age > SECRETS_TIMEOUT_MS)
    return fail(pass, progress, 'The values of its secret parameters were not stored: deploy the blueprint again.')
  pass.report({ steps: progress, stage: 'Validating' })
  return waiting('WaitingForDependency', 'The values of secret parameters are not stored yet.', RIGHTS_RETRY_MS)
}

/** Deletes all finished executions but the newest. */
async function pruneExecutions({ object, records }: ExecutionPass): Promise<Outcome> {
  const { state, message } = object.status ?? {}
  const { resource } = BlueprintExecution
  const finished = records
    .cache<BlueprintExecution & KubeObject>(resource)
    .list({ namespace: object.metadata.namespace })
    .filter(({ status }) => isExecutionOver(status?.state))
  const surplus = allButNewest(finished, EXECUTIONS_KEPT)
  await Promise.all(surplus.map((one) => records.client.remove(resource, refOf(one), { uid: one.metadata.uid })))
  return ended(state === 'Failed' ? (message ?? 'It has failed.') : undefined)
}

type Outputs = NonNullable<NonNullable<BlueprintExecution['status']>['outputs']>

/** Collects the outputs of a finished execution. Secret outputs are shown by reference, so their value is not read. */
function collectOutputs(
  pass: ExecutionPass,
  namespace: string,
  observed: (step: ExecutionStep) => KubeObject | undefined,
): Outputs {
  const { steps, outputs = [] } = pass.object.spec
  return outputs.flatMap(({ name, secret = false, value, component, output }) => {
    if (secret) return []
    if (value !== undefined) return [{ name, value: fillLateText(pass, value, namespace) }]
    const step = steps.find((one) => one.component === component)
    const found = step && observed(step)
    const plainValue = step && found && output && plainOutput(step.collection, found, output)
    return [{ name, ...(plainValue && { value: plainValue }) }]
  })
}

function fillLateText(pass: ExecutionPass, text: string, namespace: string): string {
  const lookUp = (reference: DeferredReference) =>
    reference.root === 'components' ? (componentFieldValue(pass, reference, namespace) ?? '') : undefined
  return fillDeferredValues(text, pass.object.spec.lateMark ?? '', lookUp).slice(0, 8192)
}
