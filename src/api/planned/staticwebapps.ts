import { action, authenticated, dataAction, planned, type RouteDraft } from '../http/route.ts'

/** Rows of static web apps (interface section 4.7) that are not built yet. A row leaves when its route is built. */
export const plannedStaticwebapps: readonly RouteDraft[] = [
  planned('GET', '{RG}/staticwebapps', {
    auth: action('staticwebapp/read'),
    operation: 'ListStaticWebApps',
    query: ['page:integer', 'pageSize:integer'],
    answers: [200],
  }),
  planned('GET', '{RG}/staticwebapps/config', {
    auth: action('staticwebapp/read'),
    operation: 'GetStaticWebAppsConfig',
    answers: [200],
  }),
  planned('GET', '{RG}/staticwebapps/{name}', {
    auth: action('staticwebapp/read'),
    operation: 'GetStaticWebApp',
    answers: [200, 404],
  }),
  planned('POST', '{RG}/staticwebapps/{name}', {
    auth: action('staticwebapp/write'),
    operation: 'CreateStaticWebApp',
    body: 'StaticWebAppDto',
    answers: [200, 201, 400, 409],
  }),
  planned('PUT', '{RG}/staticwebapps/{name}', {
    auth: action('staticwebapp/write'),
    operation: 'UpdateStaticWebApp',
    body: 'StaticWebAppDto',
    answers: [200, 400, 404],
  }),
  planned('PATCH', '{RG}/staticwebapps/{name}', {
    auth: action('staticwebapp/write'),
    operation: 'PatchStaticWebApp',
    body: 'any',
    answers: [200, 400, 404],
  }),
  planned('DELETE', '{RG}/staticwebapps/{name}', {
    auth: action('staticwebapp/delete'),
    operation: 'DeleteStaticWebApp',
    answers: [200, 202, 204, 404],
  }),
  planned('PUT', '{RG}/staticwebapps/{name}/actions/{action}', {
    auth: action('staticwebapp/write'),
    operation: 'ExecuteStaticWebAppAction',
    answers: [200, 202, 400, 404],
  }),
  planned('GET', '{RG}/staticwebapps/{name}/scale', {
    auth: action('staticwebapp/read'),
    operation: 'GetStaticWebAppScale',
    answers: [200, 404],
  }),
  planned('POST', '{RG}/staticwebapps/{name}/scale', {
    auth: action('staticwebapp/scale'),
    operation: 'ScaleStaticWebApp',
    body: 'ScaleRequest',
    answers: [200, 202, 400, 404],
  }),
  planned('GET', '{B}/resources/staticwebapps', {
    auth: action('staticwebapp/read'),
    operation: 'ListAllStaticWebApps',
    query: ['page:integer', 'pageSize:integer'],
    answers: [200],
  }),
  planned('GET', '{B}/resources/staticwebapps/config', {
    auth: action('staticwebapp/read'),
    operation: 'GetAllStaticWebAppsConfig',
    answers: [200],
  }),
  planned('POST', '{RG}/staticwebapps/{name}/deploy', { auth: dataAction('staticwebapp/deploy'), answers: [200, 202] }),
  planned('GET', '{RG}/staticwebapps/{name}/deployments', { auth: action('staticwebapp/read'), answers: [200] }),
  planned('POST', '{RG}/staticwebapps/{name}/deployments', {
    auth: authenticated,
    body: 'DeploymentLogEntryDto',
    answers: [200, 201],
  }),
  planned('GET', '{RG}/staticwebapps/{name}/deployments/config', { auth: action('staticwebapp/read'), answers: [200] }),
  planned('PUT', '{RG}/staticwebapps/{name}/deployments/{deploymentId}', {
    auth: authenticated,
    body: 'DeploymentLogEntryDto',
    answers: [200],
  }),
  planned('GET', '{RG}/staticwebapps/{name}/deployments/{deploymentId}/build-logs', {
    auth: dataAction('staticwebapp/readLogs'),
    answers: [200],
  }),
  planned('POST', '{RG}/staticwebapps/{name}/deployments/{deploymentId}/logs', {
    auth: authenticated,
    body: 'UploadBuildLogsRequest',
    answers: [200],
  }),
  planned('GET', '{RG}/staticwebapps/{name}/logs', { auth: dataAction('staticwebapp/readLogs'), answers: [200] }),
  planned('GET', '{RG}/staticwebapps/{name}/pods', { auth: dataAction('staticwebapp/readLogs'), answers: [200] }),
  planned('POST', '{RG}/staticwebapps/{name}/rollback', {
    auth: dataAction('staticwebapp/deploy'),
    body: 'StaticWebAppRollbackRequest',
    answers: [200],
  }),
  planned('POST', '{B}/resources/staticwebapps/url', {
    auth: action('staticwebapp/write'),
    body: 'StaticWebAppUrlRequest',
    answers: [200],
  }),
]
