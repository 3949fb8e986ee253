import { randomBytes, randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { z } from 'zod'
import type { Scalar } from '../../contracts/blueprints/expressions.ts'
import { maskedParameters, type ParameterValues, parseParameters } from '../../contracts/blueprints/parameters.ts'
import { type RenderedComponent, renderTemplate } from '../../contracts/blueprints/render.ts'
import type { Template } from '../../contracts/blueprints/template.ts'
import { badRequest, type FieldError, firstReason, PlatformError, refusedFields } from '../../core/errors.ts'
import { suggestion } from '../../core/suggestion.ts'
import { PlatformApp } from '../../crds/apps.ts'
import { BlueprintExecution } from '../../crds/blueprints.ts'
import { listMapOf, ResourceName, Uuid } from '../../crds/fields.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { accepted, ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf, refuseStale } from '../http/etag.ts'
import { strictRecord } from '../http/namedRecord.ts'
import { checkProjected } from '../resources/chooseCluster.ts'
import { inGroup } from '../resources/collection/parents.ts'
import { clusterInfo, findBoundary } from '../resources/find.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import { planFieldOf } from './bodies.ts'
import { type Blueprint, findBlueprint, requireValid, templateOfId } from './catalogue.ts'
import { executionDto } from './executions.ts'
import { type DeploymentTarget, requireActions } from './mapping.ts'
import { planDeployment, planDto } from './plan.ts'
import { permissionsOf } from './shown.ts'
import { startExecution } from './start.ts'

const Override = strictRecord('DeployComponentOverride', {
  name: z.string().min(1).max(52),
  computePlan: z.string().min(1).max(52).nullish(),
  replicas: z.int().min(0).max(99).nullish(),
})

export const DeployBlueprintRequest = strictRecord('DeployBlueprintRequest', {
  blueprintId: Uuid,
  clusterId: Uuid,
  name: ResourceName.describe('Name of the deployment: what it makes is its own'),
  parameters: BlueprintExecution.spec.shape.parameters.default({}),
  componentOverrides: listMapOf('name', Override, 30).nullish(),
})
type Request = z.output<typeof DeployBlueprintRequest>
export const DeployQuery = z.object({
  dryRun: z.enum(['true', 'false']).optional().describe('Whether only to say what would be made'),
})

type Deploy = Context<string, z.output<typeof DeployQuery>, Request>

/**
 * POST {RG}/blueprints/{slug}/deploy.
 * @throws PlatformError NOT_FOUND, CONFLICT, INVALID_STATE, TEMPLATE_INVALID, CLUSTER_NOT_PROJECTED, PARAMETER_INVALID,
 * BAD_REQUEST, FORBIDDEN with `missing`, RESOURCE_CONFLICT with `resources`, and what REST refuses of each component;
 * the first wins
 */
export async function deployBlueprint(context: Deploy) {
  const { services, body, query } = context
  const parent = await inGroup(context as Context)
  if (parent.owner !== undefined) refuseWhileDeleting(parent.owner as never)
  const { boundaryId, resourceGroup } = parent
  const blueprint = await findBlueprint(services, boundaryId, context.parameters.slug ?? '')
  refuseConflictingId(context as Context, boundaryId, blueprint, body.blueprintId)
  // The template may have been replaced since the caller read it.
  refuseStale([blueprint.object], context.ifMatch)
  refuseDisabled(blueprint)
  const template = requireValid(blueprint.read)
  checkProjected(services, boundaryId, body.clusterId, PlatformApp)
  const lateMark = randomBytes(6).toString('hex')
  const deploying = { context: context as Context, boundaryId, resourceGroup, clusterId: body.clusterId, lateMark }
  const values = valuesOf(context as Context, template, body.parameters)
  const id = randomUUID()
  const rendered = await renderBlueprint(deploying, blueprint, template, values.plain, { id, name: body.name })
  // Rendering the longest templates takes several milliseconds, so yield.
  await setImmediate()
  const components = applyOverrides(rendered.components, body.componentOverrides ?? [])
  await requireActions(deploying, permissionsOf(template))
  const planned = await planDeployment(deploying, body.name, components)
  const parameters = maskedParameters(values)
  if (query?.dryRun === 'true') return ok(planDto(deploying, planned, parameters))
  const wanted = { id, name: body.name, template, parameters, outputs: rendered.outputs }
  const execution = await startExecution(deploying, wanted, planned, values.secret)
  return accepted(executionDto(execution, services), { etag: etagOf(execution) })
}

const OWNER_NAMES = { BuiltIn: 'the platform', Source: 'a source', Boundary: 'this boundary' } as const

/** Says which blueprint the id belongs to, if any. @throws PlatformError CONFLICT */
function refuseConflictingId(
  { services }: Context,
  boundaryId: string,
  { id, object, origin }: Blueprint,
  given: string,
): void {
  if (id === given.toLowerCase()) return
  const { slug } = object.spec
  const matching = templateOfId(services, boundaryId, given)
  const explanation =
    matching === undefined
      ? 'there is no blueprint with that id'
      : matching.slug === slug
        ? `that is the id of the one from ${OWNER_NAMES[matching.origin]}, and the one from ${OWNER_NAMES[origin]} is used now`
        : `that is the id of blueprint "${matching.slug}"`
  const message = `The blueprintId "${given}" does not belong to blueprint "${slug}": ${explanation}. "${slug}" has the id "${id}".`
  throw new PlatformError('CONFLICT', message, { field: 'blueprintId', blueprintId: id })
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
  const values = parseParameters(template, given, generate)
  const unknownPlans = template.parameters.flatMap(({ name, type, family }): FieldError[] => {
    const id = values.plain[name]
    if (type !== 'plan' || typeof id !== 'string') return []
    const plan = services.records.peek(ComputePlan, { name: id })
    if (plan?.spec.family === family) return []
    return [{ field: `parameters.${name}`, message: `must be the id of a plan of family ${family}` }]
  })
  const errors = [...values.errors, ...unknownPlans]
  if (errors.length === 0) return values
  throw new PlatformError('PARAMETER_INVALID', firstReason(errors), { errors })
}

async function renderBlueprint(
  { context, boundaryId, resourceGroup, clusterId, lateMark: mark }: DeploymentTarget,
  { read }: Blueprint,
  template: Template,
  parameters: Readonly<Record<string, Scalar>>,
  deploy: { id: string; name: string },
) {
  const { services } = context
  const boundary = await findBoundary(context, boundaryId)
  const builtIns = {
    'deploy.name': deploy.name,
    'deploy.id': deploy.id,
    'boundary.id': boundaryId,
    'boundary.name': boundary.spec.displayName,
    resourceGroup,
    'cluster.id': clusterId,
    'cluster.region': clusterInfo(services, clusterId).region,
  }
  const rendered = renderTemplate(template, read, { parameters, builtIns, mark })
  const [first] = rendered.refusals
  if (first === undefined) return rendered
  const errors = rendered.refusals.map(({ of, name, message }) => ({ field: `${of}s.${name}`, message }))
  const subject = first.of === 'component' ? 'Component' : 'Output'
  throw badRequest(`${subject} "${first.name}" cannot be created: ${first.message}.`, errors)
}

/** @throws PlatformError BAD_REQUEST */
function applyOverrides(
  components: readonly RenderedComponent[],
  overrides: NonNullable<Request['componentOverrides']>,
): readonly RenderedComponent[] {
  const names = components.map(({ component }) => component.name)
  const errors = overrides.flatMap(({ name }, index): FieldError[] =>
    names.includes(name)
      ? []
      : [
          {
            field: `componentOverrides.${index}.name`,
            message: `is not a component of this blueprint${suggestion(name, names)}`,
          },
        ],
  )
  if (errors.length > 0) throw refusedFields(errors)
  return components.map((rendered) => {
    const found = overrides.find(({ name }) => name === rendered.component.name)
    if (found === undefined || rendered.isSkipped) return rendered
    const { computePlan, replicas } = found
    const plan = planFieldOf(rendered.component.collection, rendered.body)
    const changed = { ...(computePlan != null && { [plan]: computePlan }), ...(replicas != null && { replicas }) }
    return { ...rendered, body: { ...rendered.body, ...changed } }
  })
}
