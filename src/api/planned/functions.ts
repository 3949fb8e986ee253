import { action, authenticated, dataAction, planned, type RouteDraft } from '../http/route.ts'

/** Rows of functions (interface section 4.11) that are not built yet. A row leaves when its route is built. */
export const plannedFunctions: readonly RouteDraft[] = [
  planned('GET', '{B}/resources/functioncomputeplans', { auth: action('functions/read'), answers: [200] }),
  planned('GET', '{RG}/functionnamespaces', {
    auth: action('functions/read'),
    query: ['page:integer', 'pageSize:integer'],
    answers: [200],
  }),
  planned('GET', '{RG}/functionnamespaces/config', {
    auth: action('functions/read'),
    operation: 'GetFunctionNamespacesConfig',
    answers: [200],
  }),
  planned('GET', '{RG}/functionnamespaces/{namespaceName}', { auth: action('functions/read'), answers: [200] }),
  planned('DELETE', '{RG}/functionnamespaces/{namespaceName}', {
    auth: action('functions/delete'),
    answers: [200, 204],
  }),
  planned('POST', '{RG}/functionnamespaces/{namespaceName}', {
    auth: action('functions/write'),
    body: 'FunctionNamespaceDto',
    answers: [200, 201],
  }),
  planned('PUT', '{RG}/functionnamespaces/{namespaceName}', {
    auth: action('functions/write'),
    body: 'FunctionNamespaceDto',
    answers: [200],
  }),
  planned('PATCH', '{RG}/functionnamespaces/{namespaceName}', {
    auth: action('functions/write'),
    body: 'any',
    answers: [200],
  }),
  planned('GET', '{RG}/functionnamespaces/{namespaceName}/deployments', {
    auth: action('functions/read'),
    answers: [200],
  }),
  planned('POST', '{RG}/functionnamespaces/{namespaceName}/deployments', {
    auth: authenticated,
    body: 'DeploymentLogEntryDto',
    answers: [200, 201],
  }),
  planned('PUT', '{RG}/functionnamespaces/{namespaceName}/deployments/{deploymentId}', {
    auth: authenticated,
    body: 'DeploymentLogEntryDto',
    answers: [200],
  }),
  planned('POST', '{RG}/functionnamespaces/{namespaceName}/deployments/{deploymentId}/logs', {
    auth: authenticated,
    body: 'UploadBuildLogsRequest',
    answers: [200],
  }),
  planned('GET', '{RG}/functionnamespaces/{namespaceName}/functions', {
    auth: action('functions/read'),
    query: ['page:integer', 'pageSize:integer'],
    answers: [200],
  }),
  planned('GET', '{RG}/functionnamespaces/{namespaceName}/functions/{functionName}', {
    auth: action('functions/read'),
    answers: [200],
  }),
  planned('DELETE', '{RG}/functionnamespaces/{namespaceName}/functions/{functionName}', {
    auth: action('functions/delete'),
    answers: [200, 204],
  }),
  planned('POST', '{RG}/functionnamespaces/{namespaceName}/functions/{functionName}', {
    auth: action('functions/write'),
    body: 'FunctionDto',
    answers: [200, 201],
  }),
  planned('PUT', '{RG}/functionnamespaces/{namespaceName}/functions/{functionName}', {
    auth: action('functions/write'),
    body: 'FunctionDto',
    answers: [200],
  }),
  planned('GET', '{RG}/functionnamespaces/{namespaceName}/functions/{functionName}/logs', {
    auth: dataAction('functions/readLogs'),
    answers: [200],
  }),
  planned('GET', '{RG}/functionnamespaces/{namespaceName}/functions/{functionName}/metrics', {
    auth: action('functions/read'),
    query: ['from:integer', 'to:integer', 'stepSeconds:integer', 'step:string'],
    answers: [200],
  }),
  planned('GET', '{RG}/functionnamespaces/{namespaceName}/functions/{functionName}/source', {
    auth: authenticated,
    answers: [200],
  }),
  planned('POST', '{RG}/functionnamespaces/{namespaceName}/functions/{functionName}/source', {
    auth: action('functions/write'),
    body: 'UploadSourceRequest',
    answers: [200],
  }),
  planned('DELETE', '{RG}/functionnamespaces/{namespaceName}/functions/{functionName}/source', {
    auth: authenticated,
    answers: [200, 204],
  }),
]
