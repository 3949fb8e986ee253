import { executionSecretName, shownState } from '../../contracts/blueprints/executions.ts'
import type { RenderedComponent, RenderedOutput } from '../../contracts/blueprints/render.ts'
import type { Template } from '../../contracts/blueprints/template.ts'
import { notFound, PlatformError } from '../../core/errors.ts'
import { uuidV5 } from '../../core/ids.ts'
import { BlueprintExecution, type ExecutionStep } from '../../crds/blueprints.ts'
import { accepted } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { executionDto, retryOf } from './executions.ts'
import { requireActions } from './mapping.ts'
import { planDeployment } from './plan.ts'
import { permissionsOf } from './shown.ts'
import { alreadyRetried, type ExecutionRecord, startExecution } from './start.ts'

type Retry = Context<string, unknown, undefined>

/** Derived from the failed execution, so that of two concurrent retries the second finds the name taken. */
const retryIdOf = ({ metadata }: ExecutionRecord) => uuidV5(`retry of ${metadata.name}`)

/**
 * POST .../deploys/{executionId}/retry. Components that were ready and still exist are taken over; the others are
 * checked again for this caller.
 * @throws PlatformError NOT_FOUND, INVALID_STATE, FORBIDDEN, RESOURCE_CONFLICT
 */
export async function retryExecution(context: Retry, boundaryId: string, failed: ExecutionRecord) {
  const { services } = context
  const { spec, status } = failed
  requireFailed(failed)
  refuseRetried(context as Context, failed)
  const deploying = {
    context: context as Context,
    boundaryId,
    resourceGroup: spec.resourceGroup,
    clusterId: spec.clusterId,
    lateMark: spec.lateMark ?? '',
  }
  const secrets = await secretsOf(context as Context, failed)
  const components = spec.steps.map(rerenderStep)
  const actions = permissionsOf({ components: components.map(({ component }) => component) } as Template)
  await requireActions(deploying, actions)
  const ready = new Set(
    (status?.steps ?? []).filter((step) => step.status === 'Ready').map(({ component }) => component),
  )
  const planned = await planDeployment(deploying, spec.name, components)
  const outputs = (spec.outputs ?? []).map(({ secret = false, ...output }) => ({ secret, ...output }) as RenderedOutput)
  const { slug, version, blueprintName: name } = spec
  const wanted = {
    id: retryIdOf(failed),
    name: spec.name,
    template: { slug, version, name },
    parameters: spec.parameters,
    outputs,
  }
  // A component deleted in the meantime is created again: taking it over would report it as ready although it is gone.
  const createdNames = planned.flatMap(({ action, rendered }) => (action === 'Create' ? [rendered.component.name] : []))
  const retry = { of: failed.metadata.name, takenOver: [...ready].filter((name) => !createdNames.includes(name)) }
  const execution = await startExecution(deploying, { ...wanted, retry }, planned, secrets)
  return accepted(executionDto(execution, services), { etag: etagOf(execution) })
}

/** @throws PlatformError INVALID_STATE */
function requireFailed({ status }: ExecutionRecord): void {
  if (status?.state === 'Failed') return
  const shown = shownState(status)
  const message = `Only a failed deployment can be retried; this one is ${shown.status}.`
  throw new PlatformError('INVALID_STATE', message, shown)
}

/** @throws PlatformError INVALID_STATE */
function refuseRetried({ services }: Context, failed: ExecutionRecord): void {
  const retry = retryOf(services, failed)
  if (retry !== undefined) throw alreadyRetried(failed.metadata.name, retry.metadata.name)
}

function rerenderStep(step: ExecutionStep, index: number): RenderedComponent {
  const { component: name, collection, resourceName, dependsOn = [], isSkipped = false, retain = false } = step
  const body = JSON.parse(step.body) as Record<string, unknown>
  const component = { name, collection, resourceName, dependsOn: [], retain, spec: {} }
  return { component, index, resourceName, isSkipped, dependsOn, body }
}

/**
 * If a process died before storing the values of a retry, uses those of the previous execution.
 * @throws PlatformError NOT_FOUND if the values are gone
 */
async function secretsOf({ services }: Context, execution: ExecutionRecord): Promise<Record<string, string>> {
  const { metadata, spec } = execution
  const names = spec.secretParameters ?? []
  if (names.length === 0) return {}
  const { namespace = '' } = metadata
  for (const id of [metadata.name, ...retriedExecutions(services, execution)]) {
    const stored = await services.blueprints.secrets.read(namespace, executionSecretName(id))
    if (stored !== undefined)
      return Object.fromEntries(names.map((name) => [name, Buffer.from(stored[name] ?? '', 'base64').toString('utf8')]))
  }
  throw notFound('The Secret with the values of the secret parameters')
}

/** Yields the executions that this one retries, newest first. */
function* retriedExecutions({ records }: Context['services'], { metadata, spec }: ExecutionRecord): Iterable<string> {
  const seen = new Set<string>()
  for (let id = spec.retryOf; id !== undefined && !seen.has(id); ) {
    seen.add(id)
    yield id
    id = records.peek(BlueprintExecution, { namespace: metadata.namespace ?? '', name: id })?.spec.retryOf
  }
}
