import { executionSecretName, isExecutionOver, shownState } from '../../contracts/blueprints/executions.ts'
import { MAX_RENDERED_CHARACTERS, type RenderedOutput, restoreExpressions } from '../../contracts/blueprints/render.ts'
import type { Template } from '../../contracts/blueprints/template.ts'
import { badRequest, PlatformError } from '../../core/errors.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { BlueprintExecution, type ExecutionStep } from '../../crds/blueprints.ts'
import type { Context } from '../http/context.ts'
import type { CreateRequest, RecordOf } from '../records/records.ts'
import type { SecretReader, SecretWriter } from '../records/secrets.ts'
import { putSecretWithRetry } from '../resources/putSecretWithRetry.ts'
import { withChangeLock } from '../rules/changeLocks.ts'
import type { DeploymentTarget } from './mapping.ts'
import type { PlannedComponent } from './plan.ts'

declare module '../http/context.ts' {
  interface Services {
    readonly blueprints: { readonly secrets: SecretReader & SecretWriter }
  }
}

export type ExecutionRecord = RecordOf<typeof BlueprintExecution>

export type WantedExecution = {
  readonly id: string
  readonly name: string
  readonly template: Pick<Template, 'slug' | 'version' | 'name'>
  readonly parameters: Record<string, string>
  readonly outputs: readonly RenderedOutput[]
  readonly retry?: { readonly of: string; readonly takenOver: readonly string[] }
}

type Creation = CreateRequest<typeof BlueprintExecution> & { spec: { retryOf?: string } }

/** @throws PlatformError the refusal of a component, RESOURCE_CONFLICT, INVALID_STATE */
export async function startExecution(
  deploying: DeploymentTarget,
  wanted: WantedExecution,
  planned: readonly PlannedComponent[],
  secrets: Readonly<Record<string, string>>,
): Promise<ExecutionRecord> {
  const { context, boundaryId, resourceGroup, clusterId, lateMark } = deploying
  refuseConflicts(planned, lateMark)
  const { slug, version, name: blueprintName } = wanted.template
  const secretParameters = Object.keys(secrets)
  const spec = {
    ...{ slug, version, blueprintName, resourceGroup, clusterId },
    name: wanted.name,
    startedBy: context.caller.principalId,
    ...(wanted.retry !== undefined && { retryOf: wanted.retry.of, takenOver: [...wanted.retry.takenOver] }),
    ...(lateMark !== '' && { lateMark }),
    parameters: wanted.parameters,
    ...(secretParameters.length > 0 && { secretParameters }),
    steps: planned.map(stepOf),
    ...(wanted.outputs.length > 0 && { outputs: wanted.outputs.map(outputOf) }),
  }
  if (JSON.stringify(spec).length > MAX_RENDERED_CHARACTERS)
    throw badRequest('The components are too large together.', [
      { field: '', message: `must have at most ${MAX_RENDERED_CHARACTERS} characters together` },
    ])
  const { services, caller } = context
  const namespace = boundaryNamespace(boundaryId)
  const lock = {
    key: `blueprint ${namespace}/${resourceGroup}/${wanted.name}`,
    sees: [{ kind: BlueprintExecution, namespace }],
  }
  const creation = await withChangeLock(services, lock, async () => {
    refuseWhileRunning(context, namespace, wanted.name, resourceGroup)
    return createOnce(context, { namespace, name: wanted.id, spec, caller })
  })
  if (secretParameters.length > 0) await writeSecrets(context, creation.object, secrets)
  return creation.object
}

/**
 * The id of a new execution is random; that of a retry is the same for all retries of one execution.
 * @throws PlatformError INVALID_STATE
 */
async function createOnce({ services }: Context, request: Creation) {
  const retriedMeanwhile = () => alreadyRetried(request.spec.retryOf ?? '', request.name)
  const made = await services.records.create(BlueprintExecution, request).catch((error: unknown) => {
    throw error instanceof PlatformError && error.code === 'ALREADY_EXISTS' ? retriedMeanwhile() : error
  })
  if (!made.isNew) throw retriedMeanwhile()
  return made
}

export function alreadyRetried(id: string, executionId: string): PlatformError {
  const message = `Execution "${id}" was already retried as "${executionId}": if that one fails, retry that one.`
  return new PlatformError('INVALID_STATE', message, { status: 'Failed', phase: 'Finished', executionId })
}

/** @throws PlatformError */
function refuseConflicts(planned: readonly PlannedComponent[], lateMark: string): void {
  const conflicts = planned.filter(({ action }) => action === 'Conflict')
  if (conflicts.length > 0) {
    const resources = conflicts.map(({ rendered: { component, resourceName: name } }) => ({
      collection: component.collection,
      name,
    }))
    const [first] = resources
    const message = `"${first?.name}" of ${first?.collection} exists and was not made by this deployment: choose another name.`
    throw new PlatformError('RESOURCE_CONFLICT', message, { resources })
  }
  const refused = planned.find(({ refusal }) => refusal !== undefined)
  if (refused?.refusal === undefined) return
  const { code, message, extras, status } = refused.refusal
  const fullMessage = `Component "${refused.rendered.component.name}": ${restoreExpressions(message, lateMark)}`
  throw new PlatformError(code, fullMessage, { ...extras, component: refused.rendered.component.name }, { status })
}

function refuseWhileRunning({ services }: Context, namespace: string, name: string, group: string): void {
  const unfinished = services.records
    .peekAll(BlueprintExecution, { namespace })
    .find(({ spec, status }) => spec.name === name && spec.resourceGroup === group && !isExecutionOver(status?.state))
  if (unfinished === undefined) return
  const message = `The deployment "${name}" is under way: wait until it has ended.`
  throw new PlatformError('INVALID_STATE', message, {
    ...shownState(unfinished.status),
    executionId: unfinished.metadata.name,
  })
}

function stepOf({ rendered, located, spec, patch }: PlannedComponent): ExecutionStep {
  const { component, resourceName, isSkipped, body } = rendered
  const { name, collection, retain } = component
  const value = collection === 'secrets' ? body.value : undefined
  return {
    ...{ component: name, collection, resourceName },
    objectName: located?.ref.name ?? '',
    ...(rendered.dependsOn.length > 0 && { dependsOn: [...rendered.dependsOn] }),
    ...(isSkipped && { isSkipped }),
    ...(retain && { retain }),
    body: JSON.stringify(body),
    ...(patch === undefined ? { manifest: JSON.stringify(spec ?? {}) } : { patch: JSON.stringify(patch) }),
    ...(typeof value === 'string' && { value }),
  }
}

function outputOf({ name, secret, value, component, output }: RenderedOutput) {
  return {
    name,
    ...(secret && { secret }),
    ...(value !== undefined && { value }),
    ...(component !== undefined && { component, output }),
  }
}

async function writeSecrets(
  context: Context,
  { metadata }: ExecutionRecord,
  entries: Readonly<Record<string, string>>,
) {
  const { secrets } = context.services.blueprints
  const name = executionSecretName(metadata.name)
  await putSecretWithRetry(context, secrets, { kind: BlueprintExecution, metadata }, { name, entries })
}
