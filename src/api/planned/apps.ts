import { action, authenticated, dataAction, planned, type RouteDraft } from '../http/route.ts'

/** Rows of apps (interface section 4.8) that are not built yet. A row leaves when its route is built. */
export const plannedApps: readonly RouteDraft[] = [
  planned('GET', '{RG}/apps', {
    auth: action('apps/read'),
    operation: 'ListApps',
    query: ['page:integer', 'pageSize:integer'],
    answers: [200],
  }),
  planned('GET', '{RG}/apps/config', { auth: action('apps/read'), operation: 'GetAppsConfig', answers: [200] }),
  planned('GET', '{RG}/apps/{name}', { auth: action('apps/read'), operation: 'GetApp', answers: [200, 404] }),
  planned('POST', '{RG}/apps/{name}', {
    auth: action('apps/write'),
    operation: 'CreateApp',
    body: 'AppDto',
    answers: [200, 201, 400, 409],
  }),
  planned('PUT', '{RG}/apps/{name}', {
    auth: action('apps/write'),
    operation: 'UpdateApp',
    body: 'AppDto',
    answers: [200, 400, 404],
  }),
  planned('PATCH', '{RG}/apps/{name}', {
    auth: action('apps/write'),
    operation: 'PatchApp',
    body: 'any',
    answers: [200, 400, 404],
  }),
  planned('DELETE', '{RG}/apps/{name}', {
    auth: action('apps/delete'),
    operation: 'DeleteApp',
    answers: [200, 202, 204, 404],
  }),
  planned('PUT', '{RG}/apps/{name}/actions/{action}', {
    auth: action('apps/write'),
    operation: 'ExecuteAppAction',
    answers: [200, 202, 400, 404],
  }),
  planned('GET', '{B}/resources/appcomputeplans', {
    auth: action('apps/read'),
    query: ['page:integer', 'pageSize:integer'],
    answers: [200],
  }),
  planned('GET', '{B}/resources/appruntimes', {
    auth: action('apps/read'),
    query: ['page:integer', 'pageSize:integer'],
    answers: [200],
  }),
  planned('GET', '{RG}/apps/{appName}/files', {
    auth: dataAction('apps/readFiles'),
    query: ['component:string', 'path:string'],
    answers: [200],
  }),
  planned('DELETE', '{RG}/apps/{appName}/files', {
    auth: dataAction('apps/writeFiles'),
    query: ['component:string', 'path:string', 'recursive:boolean'],
    answers: [200, 204],
  }),
  planned('GET', '{RG}/apps/{appName}/files/archive', {
    auth: dataAction('apps/readFiles'),
    query: ['component:string', 'path:string'],
    answers: [200],
  }),
  planned('GET', '{RG}/apps/{appName}/files/download', {
    auth: dataAction('apps/readFiles'),
    query: ['component:string', 'path:string'],
    answers: [200],
  }),
  planned('POST', '{RG}/apps/{appName}/files/directory', {
    auth: dataAction('apps/writeFiles'),
    body: 'MakeDirectoryRequest',
    answers: [200, 201],
  }),
  planned('POST', '{RG}/apps/{appName}/files/move', {
    auth: dataAction('apps/writeFiles'),
    body: 'MoveRequest',
    answers: [200],
  }),
  planned('POST', '{RG}/apps/{appName}/files/upload', {
    auth: dataAction('apps/writeFiles'),
    query: ['component:string', 'name:string', 'path:string'],
    body: 'binary',
    answers: [200, 201],
  }),
  planned('GET', '{RG}/apps/{appName}/certificate-status', { auth: action('apps/read'), answers: [200] }),
  planned('GET', '{RG}/apps/{appName}/deployments', { auth: action('apps/read'), answers: [200] }),
  planned('GET', '{RG}/apps/{appName}/deployments/config', { auth: action('apps/read'), answers: [200] }),
  planned('POST', '{RG}/apps/{appName}/deployments', {
    auth: authenticated,
    body: 'DeploymentLogEntryDto',
    answers: [200, 201],
  }),
  planned('PUT', '{RG}/apps/{appName}/deployments/{deploymentId}', {
    auth: authenticated,
    body: 'DeploymentLogEntryDto',
    answers: [200],
  }),
  planned('GET', '{RG}/apps/{appName}/deployments/{deploymentId}/build-logs', {
    auth: dataAction('apps/readLogs'),
    answers: [200],
  }),
  planned('POST', '{RG}/apps/{appName}/deployments/{deploymentId}/logs', {
    auth: authenticated,
    body: 'UploadBuildLogsRequest',
    answers: [200],
  }),
  planned('GET', '{RG}/apps/{appName}/logs', { auth: dataAction('apps/readLogs'), answers: [200] }),
  planned('GET', '{RG}/apps/{appName}/pods', { auth: dataAction('apps/readLogs'), answers: [200] }),
  planned('GET', '{RG}/apps/{appName}/metrics', {
    auth: action('apps/read'),
    query: ['from:integer', 'to:integer', 'stepSeconds:integer', 'step:string'],
    answers: [200],
  }),
  planned('GET', '{RG}/apps/{appName}/metrics/web', { auth: action('apps/read'), answers: [200] }),
  planned('POST', '{RG}/apps/{appName}/revisions/{number}/rollback', { auth: action('apps/write'), answers: [200] }),
]
