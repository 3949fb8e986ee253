import { z } from 'zod'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { listWithConfig } from '../resources/collection/columns.ts'
import { inBoundary } from '../resources/collection/parents.ts'
import { findBlueprint, listBlueprints } from './catalogue.ts'
import { DeployBlueprintRequest, DeployQuery, deployBlueprint } from './deploy.ts'
import { BlueprintExecutionDto, DEPLOYS_PATH, executions } from './executions.ts'
import { BlueprintPlanDto } from './plan.ts'
import { BLUEPRINT_LIST, BlueprintDto, blueprintDto, WholeBlueprintDto } from './record.ts'
import { retryExecution } from './retry.ts'
import { catalogueSources } from './sources.ts'
import { syncRoutes } from './syncs.ts'
import { putTemplate, removeTemplate, TemplateContent, TemplateValidationDto, validateTemplate } from './templates.ts'

const BLUEPRINTS = '{B}/resources/blueprints'
const read = action('blueprints/read')
const write = action('blueprints/templates/write')

const example = {
  content: `format: 1
slug: store
name: Object storage
version: 1.0.0
components:
  - name: store
    collection: objectstorageaccounts
    resourceName: \${deploy.name}
`,
}

async function showBlueprint(context: Context) {
  const { boundaryId } = await inBoundary(context)
  const { blueprintId, slug } = context.parameters
  const blueprint = await findBlueprint(context.services, boundaryId, blueprintId ?? slug ?? '')
  const dto = { ...blueprintDto(blueprint, context, boundaryId), content: blueprint.object.spec.content }
  return ok(dto, { etag: etagOf(blueprint.object) })
}

/** The routes of blueprints (interface section 4.18). */
export const blueprintRoutes: readonly RouteDraft[] = [
  ...executions.routes(),
  ...catalogueSources.routes(),
  ...syncRoutes,
  // Not a `collection`: the list merges the templates of boundary, sources and platform, one per slug.
  ...listWithConfig(BLUEPRINTS, {
    ...BLUEPRINT_LIST,
    auth: read,
    summary: 'What can be deployed in the boundary',
    dto: BlueprintDto,
    rows: async (context) => {
      const { boundaryId } = await inBoundary(context as Context)
      const blueprints = await listBlueprints(context.services, boundaryId)
      return blueprints.map((each) => blueprintDto(each, context as Context, boundaryId))
    },
    collection: 'blueprints',
    actionPrefix: 'blueprints',
    before: inBoundary,
  }),
  route('GET', `${BLUEPRINTS}/{blueprintId}`, {
    auth: read,
    summary: 'Read one by its id',
    reply: WholeBlueprintDto,
    handler: showBlueprint,
  }),
  route('GET', `${BLUEPRINTS}/{slug}`, {
    auth: read,
    summary: 'Read one by its slug',
    reply: WholeBlueprintDto,
    handler: showBlueprint,
  }),
  route('POST', `${BLUEPRINTS}/templates`, {
    auth: write,
    isNamedByBody: true,
    summary: 'Create or replace a template of the boundary',
    body: TemplateContent,
    example,
    reply: BlueprintDto,
    handler: putTemplate,
  }),
  route('POST', `${BLUEPRINTS}/templates/validate`, {
    auth: write,
    summary: 'Check a template, and name what is wrong with it',
    body: TemplateContent,
    example,
    reply: TemplateValidationDto,
    handler: validateTemplate,
  }),
  route('DELETE', `${BLUEPRINTS}/templates/{slug}`, {
    auth: write,
    summary: 'Delete a template of the boundary',
    handler: removeTemplate,
  }),
  route('POST', '{RG}/blueprints/{slug}/deploy', {
    auth: read,
    scope: 'resourceGroup',
    further: 'the actions that write what the blueprint makes, and what its resources refer to and grant',
    isHeld: true,
    summary: 'Deploy a blueprint; dryRun=true only shows what would be done',
    query: DeployQuery,
    body: DeployBlueprintRequest,
    reply: z.union([BlueprintExecutionDto, BlueprintPlanDto]).meta({ id: 'BlueprintDeployResult' }),
    handler: (context) => deployBlueprint(context),
  }),
  route('POST', `${DEPLOYS_PATH}/{executionId}/retry`, {
    auth: read,
    summary: 'Retry a failed deployment',
    reply: BlueprintExecutionDto,
    handler: async (context) => {
      const { object, parent } = await executions.find(context as Context)
      return retryExecution(context as never, parent.boundaryId, object)
    },
  }),
]
