import { z } from 'zod'
import { FunctionNamespace } from '../../crds/functions.ts'
import { REFERENCE_RIGHTS } from '../http/furtherRights.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { action, dataAction, type RouteDraft } from '../http/route.ts'
import { callSeries } from '../resources/callSeries.ts'
import { deploymentRoutes } from '../resources/deployments/routes.ts'
import { containersOf, logRoute } from '../resources/logs.ts'
import { CALL_MEASURES, metricsRoute } from '../resources/metrics.ts'
import { planFields, planRoutes } from '../resources/plans.ts'
import { resource } from '../resources/resource.ts'
import { deployedFunction, requireDeployedCodeRights } from './deployments.ts'
import { FUNCTION_PATH, findFunction, functionRoutes, NAMESPACE_PATH } from './functions.ts'
import { invokeRoute } from './invoke.ts'
import { secretsForNewCode } from './namespaceSecrets.ts'
import { namespaceFields, namespaceRecord } from './namespaces.ts'
import { sourceRoutes } from './source.ts'

const PlanDto = namedRecord('FunctionComputePlanDto', {
  ...planFields,
  maxTimeoutSeconds: z.int().describe('Maximum duration of a call in seconds'),
})

/** The routes of functions (interface section 4.11). */
export const functionAreaRoutes: readonly RouteDraft[] = [
  ...resource(FunctionNamespace, {
    segment: 'functionnamespaces',
    further: REFERENCE_RIGHTS,
    actionPrefix: 'functions',
    parameter: 'namespaceName',
    ...namespaceRecord,
    example: { runtime: 'nodejs' },
    deletesAtOnce: true,
    fields: namespaceFields,
  }),
  ...planRoutes({
    segment: 'functioncomputeplans',
    family: 'Function',
    dto: PlanDto,
    productionReplicas: 3,
    auth: action('functions/read'),
    more: ({ spec }) => ({ maxTimeoutSeconds: Number(spec.extras.maxTimeoutSeconds ?? 900) }),
  }),
  ...deploymentRoutes(FunctionNamespace, NAMESPACE_PATH, {
    collection: 'functions',
    actionPrefix: 'functions',
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
