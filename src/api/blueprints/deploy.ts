import { randomBytes, randomUUID } from 'node:crypto'
import { z } from 'zod'
import { executionSecretName, isExecutionOver } from '../../contracts/blueprints/executions.ts'
import type { Scalar } from '../../contracts/blueprints/expressions.ts'
import { maskedParameters, type ParameterValues, readParameters } from '../../contracts/blueprints/parameters.ts'
import { type RenderedComponent, type RenderedOutput, renderTemplate } from '../../contracts/blueprints/render.ts'
import type { Template } from '../../contracts/blueprints/template.ts'
import { badRequest, type FieldError, notFound, PlatformError } from '../../core/errors.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { secretData } from '../../core/secretData.ts'
import { PlatformApp } from '../../crds/apps.ts'
import { BlueprintExecution, type ExecutionStep } from '../../crds/blueprints.ts'
import { ResourceName, Uuid } from '../../crds/fields.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { isKubeError } from '../../kube/errors.ts'
import { accepted, ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import type { RecordOf } from '../records/records.ts'
import type { SecretReader, SecretWriter } from '../records/secrets.ts'
import { checkProjected } from '../resources/chooseCluster.ts'
import { inGroup } from '../resources/collection/homes.ts'
import { clusterWords, findBoundary } from '../resources/places.ts'
import { untilChanged } from '../resources/untilChanged.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import { oneAtATime } from '../rules/turns.ts'
import { type Blueprint, findBlueprint, permissionsOf, requireValid } from './catalogue.ts'
import { executionDto } from './executions.ts'
import { type Deploying, requireActions } from './mapping.ts'
import { type PlannedComponent, planDto, planOf } from './plan.ts'

declare module '../http/context.ts' {
  interface Services {
    readonly blueprints: { readonly secrets: SecretReader & SecretWriter }
  }
}

const Override = z
  .strictObject({
    name: z.string().min(1).max(52),
    computePlan: z.string().min(1).max(52).nullish(),
    replicas: z.int().min(0).max(99).nullish(),
  })
  .meta({ id: 'DeployComponentOverride' })

export const DeployBlueprintRequest = z
  .strictObject({
    blueprintId: Uuid,
    clusterId: Uuid,
    name: ResourceName.describe('Name of the deployment: what it makes is its own'),
    parameters: z.record(z.string(), z.string().max(4096)).default({}),
    componentOverrides: z.array(Override).max(30).nullish(),
  })
  .meta({ id: 'DeployBlueprintRequest' })
type Request = z.output<typeof DeployBlueprintRequest>
export const DeployQuery = z.object({ dryRun: z.enum(['true', 'false']).optional() })

/** All steps of an execution in characters: an object of etcd has room for little more. */
const STEPS_MAX = 600_000
const RIGHTS_MILLISECONDS = 10_000

export type ExecutionRecord = RecordOf<typeof BlueprintExecution>
type Deploy = Context<string, z.output<typeof DeployQuery>, Request>

/**
 * POST {RG}/blueprints/{slug}/deploy.
 *
 * @throws PlatformError NOT_FOUND, CONFLICT, INVALID_STATE, TEMPLATE_INVALID, CLUSTER_NOT_PROJECTED, PARAMETER_INVALID, BAD_REQUEST,
 *   FORBIDDEN with `missing`, RESOURCE_CONFLICT with `resources`, and what REST refuses of each component; the first wins
 */
export async function deployBlueprint(context: Deploy) {
  const { services, body, query } = context
  const home = await inGroup(context as Context)
  if (home.owner !== undefined) refuseWhileDeleting(home.owner as never)
  const { boundaryId, resourceGroup } = home
  const blueprint = findBlueprint(services, boundaryId, context.parameters.slug ?? '')
  if (blueprint.id !== body.blueprintId) {
    const message = `Blueprint "${blueprint.object.spec.slug}" has the id ${blueprint.id}: it was replaced since it was read.`
    throw new PlatformError('CONFLICT', message, { blueprintId: blueprint.id })
  }
  refuseDisabled(blueprint)
  const template = requireValid(blueprint.read)
  checkProjected(services, boundaryId, body.clusterId, PlatformApp)
  const deploying = { context: context as Context, boundaryId, resourceGroup, clusterId: body.clusterId }
  const values = valuesOf(context as Context, template, body.parameters)
  const id = randomUUID()
  const rendered = await rendering(deploying, blueprint, template, values.plain, { id, name: body.name })
  const components = overridden(rendered.components, body.componentOverrides ?? [])
  await requireActions(deploying, permissionsOf(template))
  const planned = await planOf(deploying, body.name, components)
  const parameters = maskedParameters(values)
  if (query?.dryRun === 'true') return ok(planDto(deploying, planned, parameters))
  const wanted = { id, name: body.name, template, parameters, outputs: rendered.outputs }
  const execution = await startExecution(deploying, wanted, planned, values.secret)
  return accepted(executionDto(execution, services))
}

/** @throws PlatformError INVALID_STATE */
function refuseDisabled({ object, source }: Blueprint): void {
  if (source?.spec.enabled !== false) return
  const message = `Blueprint "${object.spec.slug}" is not offered: its source is disabled.`
  throw new PlatformError('INVALID_STATE', message, { status: 'Disabled', phase: null })
}

/** @throws PlatformError PARAMETER_INVALID */
function valuesOf({ services }: Context, template: Template, given: Request['parameters']): ParameterValues {
  const generate = (length: number) => randomBytes(length).toString('base64url').slice(0, length)
  const values = readParameters(template, given, generate)
  const unknownPlans = template.parameters.flatMap(({ name, type, family }): FieldError[] => {
    const id = values.plain[name]
    if (type !== 'plan' || typeof id !== 'string') return []
    const plan = services.records.peek(ComputePlan, { name: id })
    if (plan?.spec.family === family) return []
    return [{ field: `parameters.${name}`, message: `must be the id of a plan of family ${family}` }]
  })
  const errors = [...values.errors, ...unknownPlans]
  if (errors.length === 0) return values
  const [first] = errors
  throw new PlatformError('PARAMETER_INVALID', `The field "${first?.field}" was refused: ${first?.message}.`, {
    errors,
  })
}

async function rendering(
  { context, boundaryId, resourceGroup, clusterId }: Deploying,
  { read }: Blueprint,
  template: Template,
  parameters: Readonly<Record<string, Scalar>>,
  deploy: { id: string; name: string },
) {
  const { services } = context
  const boundary = await findBoundary(context, boundaryId)
  const place = {
    'deploy.name': deploy.name,
    'deploy.id': deploy.id,
    'boundary.id': boundaryId,
    'boundary.name': boundary.spec.displayName,
    resourceGroup,
    'cluster.id': clusterId,
    'cluster.region': clusterWords(services, boundaryId, clusterId).region,
  }
  const rendered = renderTemplate(template, read, { parameters, place })
  const [first] = rendered.refusals
  if (first === undefined) return rendered
  const errors = rendered.refusals.map(({ component, message }) => ({ field: `components.${component}`, message }))
  throw badRequest(`Component "${first.component}" cannot be made so: ${first.message}.`, errors)
}

/** @throws PlatformError BAD_REQUEST */
function overridden(
  components: readonly RenderedComponent[],
  overrides: NonNullable<Request['componentOverrides']>,
): readonly RenderedComponent[] {
  const unknown = overrides.findIndex(({ name }) => !components.some(({ component }) => component.name === name))
  if (unknown !== -1) {
    const message = 'is no component of this blueprint'
    throw badRequest(`componentOverrides ${unknown} ${message}.`, [
      { field: `componentOverrides.${unknown}.name`, message },
    ])
  }
  return components.map((rendered) => {
    const found = overrides.find(({ name }) => name === rendered.component.name)
    if (found === undefined || rendered.isSkipped) return rendered
    const { computePlan, replicas } = found
    const changed = { ...(computePlan != null && { computePlan }), ...(replicas != null && { replicas }) }
    return { ...rendered, body: { ...rendered.body, ...changed } }
  })
}

export type WantedExecution = {
  readonly id: string
  readonly name: string
  readonly template: Pick<Template, 'slug' | 'version' | 'name'>
  readonly parameters: Record<string, string>
  readonly outputs: readonly RenderedOutput[]
  readonly retry?: { readonly of: string; readonly takenOver: readonly string[] }
}

/** @throws PlatformError what a component is refused with, RESOURCE_CONFLICT, INVALID_STATE */
export async function startExecution(
  deploying: Deploying,
  wanted: WantedExecution,
  planned: readonly PlannedComponent[],
  secrets: Readonly<Record<string, string>>,
): Promise<ExecutionRecord> {
  const { context, boundaryId, resourceGroup, clusterId } = deploying
  refusePlanned(planned)
  const { slug, version, name: blueprintName } = wanted.template
  const secretParameters = Object.keys(secrets)
  const spec = {
    ...{ slug, version, blueprintName, resourceGroup, clusterId },
    name: wanted.name,
    startedBy: context.caller.principalId,
    ...(wanted.retry !== undefined && { retryOf: wanted.retry.of, takenOver: [...wanted.retry.takenOver] }),
    parameters: wanted.parameters,
    ...(secretParameters.length > 0 && { secretParameters }),
    steps: planned.map(stepOf),
    ...(wanted.outputs.length > 0 && { outputs: wanted.outputs.map(outputOf) }),
  }
  if (JSON.stringify(spec).length > STEPS_MAX)
    throw badRequest('The components are too large together.', [
      { field: '', message: `must have at most ${STEPS_MAX} characters together` },
    ])
  const { services, caller } = context
  const namespace = boundaryNamespace(boundaryId)
  const turn = {
    key: `blueprint ${namespace}/${resourceGroup}/${wanted.name}`,
    sees: [{ kind: BlueprintExecution, namespace }],
  }
  const made = await oneAtATime(services, turn, async () => {
    refuseWhileRunning(context, namespace, wanted.name, resourceGroup)
    return services.records.create(BlueprintExecution, { namespace, name: wanted.id, spec, caller })
  })
  if (secretParameters.length > 0) await writeSecrets(context, made.object, secrets)
  return made.object
}

/** @throws PlatformError */
function refusePlanned(planned: readonly PlannedComponent[]): void {
  const taken = planned.filter(({ action }) => action === 'Conflict')
  if (taken.length > 0) {
    const resources = taken.map(({ rendered: { component, resourceName: name } }) => ({
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
  const words = `Component "${refused.rendered.component.name}": ${message}`
  throw new PlatformError(code, words, { ...extras, component: refused.rendered.component.name }, { status })
}

function refuseWhileRunning({ services }: Context, namespace: string, name: string, group: string): void {
  const open = services.records
    .peekAll(BlueprintExecution, { namespace })
    .find(({ spec, status }) => spec.name === name && spec.resourceGroup === group && !isExecutionOver(status?.state))
  if (open === undefined) return
  const { status: state = 'Pending', phase = null } = open.status ?? {}
  const message = `The deployment "${name}" is under way: wait until it has ended.`
  throw new PlatformError('INVALID_STATE', message, { status: state, phase, executionId: open.metadata.name })
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

async function writeSecrets(context: Context, execution: ExecutionRecord, secrets: Readonly<Record<string, string>>) {
  const { name, namespace = '', uid = '' } = execution.metadata
  const { apiVersion, kind } = BlueprintExecution
  const write = () =>
    context.services.blueprints.secrets.put({ namespace, name: executionSecretName(name) }, secretData(secrets), {
      ...{ apiVersion, kind, name, uid, labels: {} },
    })
  let refusal: unknown
  // The rights to Secrets come with a RoleBinding, a moment after a boundary is made.
  const attempt = () =>
    write().then(
      () => true,
      (error: unknown) => {
        if (!isKubeError(error, 'Forbidden')) throw error
        refusal = error
        return false
      },
    )
  if (!(await untilChanged(context, attempt, RIGHTS_MILLISECONDS))) throw refusal
}

type Retry = Context<string, unknown, undefined>

/**
 * POST .../deploys/{executionId}/retry. What was ready is taken over; the rest is judged again, for this caller.
 *
 * @throws PlatformError NOT_FOUND, INVALID_STATE, FORBIDDEN, RESOURCE_CONFLICT
 */
export async function retryExecution(context: Retry, boundaryId: string, failed: ExecutionRecord) {
  const { services } = context
  const { spec, status } = failed
  if (status?.state !== 'Failed')
    throw new PlatformError(
      'INVALID_STATE',
      `Only what has failed is tried again; this is ${status?.state ?? 'Queued'}.`,
      {
        status: status?.state ?? 'Queued',
        phase: status?.stage ?? null,
      },
    )
  const deploying = {
    context: context as Context,
    boundaryId,
    resourceGroup: spec.resourceGroup,
    clusterId: spec.clusterId,
  }
  const secrets = await secretsOf(context as Context, failed)
  const components = spec.steps.map(renderedAgain)
  const actions = permissionsOf({ components: components.map(({ component }) => component) } as Template)
  await requireActions(deploying, actions)
  const ready = new Set(
    (status.steps ?? []).filter((step) => step.status === 'Ready').map(({ component }) => component),
  )
  const planned = await planOf(deploying, spec.name, components)
  const outputs = (spec.outputs ?? []).map(({ secret = false, ...output }) => ({ secret, ...output }) as RenderedOutput)
  const { slug, version, blueprintName: name } = spec
  const wanted = {
    id: randomUUID(),
    name: spec.name,
    template: { slug, version, name },
    parameters: spec.parameters,
    outputs,
  }
  const retry = { of: failed.metadata.name, takenOver: [...ready] }
  const execution = await startExecution(deploying, { ...wanted, retry }, planned, secrets)
  return accepted(executionDto(execution, services))
}

function renderedAgain(step: ExecutionStep, index: number): RenderedComponent {
  const { component: name, collection, resourceName, dependsOn = [], isSkipped = false, retain = false } = step
  const body = JSON.parse(step.body) as Record<string, unknown>
  const component = { name, collection, resourceName, dependsOn: [], retain, spec: {} }
  return { component, index, resourceName, isSkipped, dependsOn, body }
}

/** @throws PlatformError NOT_FOUND if the values are gone */
async function secretsOf({ services }: Context, { metadata, spec }: ExecutionRecord): Promise<Record<string, string>> {
  const names = spec.secretParameters ?? []
  if (names.length === 0) return {}
  const stored = await services.blueprints.secrets.read(metadata.namespace ?? '', executionSecretName(metadata.name))
  if (stored === undefined) throw notFound('The Secret with the values of the secret parameters')
  return Object.fromEntries(names.map((name) => [name, Buffer.from(stored[name] ?? '', 'base64').toString('utf8')]))
}
