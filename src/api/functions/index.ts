import { z } from 'zod'
import { functionObjectName } from '../../contracts/functions.ts'
import { refusedFields } from '../../core/errors.ts'
import { groupNamespace, isResourceName } from '../../core/names.ts'
import { DeploymentRecord } from '../../crds/deployments.ts'
import { FunctionNamespace, ServerlessFunction } from '../../crds/functions.ts'
import type { Context } from '../http/context.ts'
import { REFERENCE_RIGHTS } from '../http/furtherRights.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { action, dataAction, type RouteDraft } from '../http/route.ts'
import { callSeries } from '../resources/callSeries.ts'
import type { DeploymentBody } from '../resources/deployments/record.ts'
import { deploymentRoutes } from '../resources/deployments/routes.ts'
import { locationOf } from '../resources/find.ts'
import { containersOf, logRoute } from '../resources/logs.ts'
import { CALL_MEASURES, metricsRoute } from '../resources/metrics.ts'
import { planFields, planRoutes } from '../resources/plans.ts'
import { resource } from '../resources/resource.ts'
import { FUNCTION_PATH, findFunction, functionRoutes, NAMESPACE_PATH } from './functions.ts'
import { invokeRoute } from './invoke.ts'
import { secretsForNewCode } from './namespaceSecrets.ts'
import { namespaceFields, namespaceRecord } from './namespaces.ts'
import { requireFunctionCodeRights } from './record.ts'
import { sourceRoutes } from './source.ts'

const SOURCE_PATH = /^functions\/(.+)$/

/** Returns the function in `source` (`functions/<functionName>`) of a deployment. @throws PlatformError BAD_REQUEST */
async function deployedFunction(namespaceName: string, { source }: DeploymentBody, context: Context): Promise<string> {
  const [, name = ''] = SOURCE_PATH.exec(source ?? '') ?? []
  const ownerName = functionObjectName(namespaceName, name)
  const { boundaryId, resourceGroup } = locationOf(context, 'namespaceName')
  const ref = { namespace: groupNamespace(boundaryId, resourceGroup), name: ownerName }
  if (isResourceName(name) && (await context.services.records.get(ServerlessFunction, ref)) !== undefined)
    return ownerName
  const message = 'must be functions/<functionName>, with a function of this namespace'
  throw refusedFields([{ field: 'source', message }])
}

/** Images are checked like uploaded code. @throws PlatformError FORBIDDEN */
async function requireDeployedCodeRights({ source }: DeploymentBody, context: Context): Promise<void> {
  const location = locationOf(context, 'namespaceName')
  const { services, parameters } = context
  const namespace = groupNamespace(location.boundaryId, location.resourceGroup)
  const id = parameters.deploymentId
  const known = id === undefined ? undefined : await services.records.get(DeploymentRecord, { namespace, name: id })
  const [, named = ''] = SOURCE_PATH.exec(source ?? known?.spec.source ?? '') ?? []
  const name = known?.spec.ownerName ?? functionObjectName(location.name, named)
  const object = await services.records.get(ServerlessFunction, { namespace, name })
  requireFunctionCodeRights({ env: object?.spec.env ?? [] }, { ...location, services, context })
}

const PlanDto = namedRecord('FunctionComputePlanDto', {
  ...planFields,
  maxTimeoutSeconds: z.int().describe('Maximum duration of a call in seconds'),
})

/** The routes of functions (interface section 4.11). */
export const functionAreaRoutes: readonly RouteDraft[] = [
  ...resource(FunctionNamespace, {
    further: REFERENCE_RIGHTS,
    parameter: 'namespaceName',
    ...namespaceRecord,
    example: { runtime: 'nodejs' },
    deletesAtOnce: true,
    fields: namespaceFields,
  }),
  ...planRoutes({
    family: 'Function',
    dto: PlanDto,
    productionReplicas: 3,
    auth: action('functions/read'),
    more: ({ spec }) => ({ maxTimeoutSeconds: Number(spec.extras.maxTimeoutSeconds ?? 900) }),
  }),
  ...deploymentRoutes(FunctionNamespace, NAMESPACE_PATH, {
    collection: 'functions',
    parameter: 'namespaceName',
    read: action('functions/read'),
    readLogs: dataAction('functions/readLogs'),
    write: 'functions/write',
    cancel: action('functions/write'),
    example: { source: 'functions/hello' },
    ownerNameOf: deployedFunction,
    refuse: async (_, body, context) => {
      if (body.containerImage) await requireDeployedCodeRights(body, context)
    },
    stampOf: (context, location) => ({
      namespaceSecrets: secretsForNewCode({
        ...location,
        services: context.services,
        context,
        namespaceName: location.name,
      }),
    }),
  }),
  ...functionRoutes,
  ...sourceRoutes,
  invokeRoute,
  metricsRoute(FUNCTION_PATH, action('functions/read'), async (context) => (await findFunction(context)).live, {
    measures: CALL_MEASURES,
    counted: async ({ services }, { namespace, name }, span) =>
      callSeries(await services.functions.calls.of(namespace, name), span),
  }),
  logRoute(FUNCTION_PATH, dataAction('functions/readLogs'), async (context, request) => {
    const { live } = await findFunction(context)
    const pods = await context.services.live.pods(live)
    return { sources: containersOf(pods, request, live) }
  }),
]
