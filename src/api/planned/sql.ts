import { action, authenticated, dataAction, planned, type RouteDraft } from '../route.ts'

/** Rows of SQL instances (interface section 4.5) that are not built yet. A row leaves when its route is built. */
export const plannedSql: readonly RouteDraft[] = [
  planned('GET', '{RG}/sqlclusters', {
    auth: action('sqlcluster/read'),
    operation: 'ListSqlInstances',
    query: ['page:integer', 'pageSize:integer'],
    answers: [200],
  }),
  planned('GET', '{RG}/sqlclusters/config', {
    auth: action('sqlcluster/read'),
    operation: 'GetSqlInstancesConfig',
    answers: [200],
  }),
  planned('GET', '{RG}/sqlclusters/{name}', {
    auth: action('sqlcluster/read'),
    operation: 'GetSqlInstance',
    answers: [200, 404],
  }),
  planned('POST', '{RG}/sqlclusters/{name}', {
    auth: action('sqlcluster/write'),
    operation: 'CreateSqlInstance',
    body: 'SqlInstanceDto',
    answers: [200, 201, 400, 409],
  }),
  planned('PUT', '{RG}/sqlclusters/{name}', {
    auth: action('sqlcluster/write'),
    operation: 'UpdateSqlInstance',
    body: 'SqlInstanceDto',
    answers: [200, 400, 404],
  }),
  planned('PATCH', '{RG}/sqlclusters/{name}', {
    auth: action('sqlcluster/write'),
    operation: 'PatchSqlInstance',
    body: 'any',
    answers: [200, 400, 404],
  }),
  planned('DELETE', '{RG}/sqlclusters/{name}', {
    auth: action('sqlcluster/delete'),
    operation: 'DeleteSqlInstance',
    answers: [200, 202, 204, 404],
  }),
  planned('PUT', '{RG}/sqlclusters/{name}/actions/{action}', {
    auth: action('sqlcluster/write'),
    operation: 'ExecuteSqlInstanceAction',
    answers: [200, 202, 400, 404],
  }),
  planned('GET', '{B}/resources/sqlcomputeplans', {
    auth: authenticated,
    query: ['page:integer', 'pageSize:integer'],
    answers: [200, 500],
  }),
  planned('GET', '{B}/resources/sqlcomputeplans/{resourceId}', { auth: authenticated, answers: [200, 404, 500] }),
  planned('GET', '{RG}/sqlclusters/{name}/connectionstring', {
    auth: dataAction('sqlcluster/readSecrets'),
    answers: [200],
  }),
  planned('GET', '{RG}/sqlclusters/{name}/connectionstring/external', {
    auth: dataAction('sqlcluster/readSecrets'),
    answers: [200],
  }),
  planned('GET', '{RG}/sqlclusters/{name}/external-ip', { auth: action('sqlcluster/read'), answers: [200] }),
  planned('GET', '{RG}/sqlclusters/{name}/health', { auth: action('sqlcluster/read'), answers: [200] }),
  planned('POST', '{RG}/sqlclusters/{name}/license', {
    auth: action('sqlcluster/manageLicense'),
    body: 'SetLicenseRequest',
    answers: [200],
  }),
  planned('GET', '{RG}/sqlclusters/{name}/editor/history', {
    auth: action('sqlcluster/read'),
    query: ['limit:integer'],
    answers: [200],
  }),
  planned('POST', '{RG}/sqlclusters/{name}/editor/query', {
    auth: action('sqlcluster/read'),
    body: 'EditorQueryRequest',
    answers: [200],
  }),
  planned('GET', '{RG}/sqlclusters/{name}/editor/schemas', { auth: action('sqlcluster/schemaRead'), answers: [200] }),
  planned('GET', '{RG}/sqlclusters/{name}/editor/tables/{schema}/{table}/rows', {
    auth: action('sqlcluster/dataRead'),
    query: ['limit:integer', 'offset:integer'],
    answers: [200],
  }),
  planned('POST', '{RG}/sqlclusters/{name}/editor/tables/{schema}/{table}/rows', {
    auth: action('sqlcluster/dataWrite'),
    body: 'RowMutationRequest',
    answers: [200, 201],
  }),
  planned('PATCH', '{RG}/sqlclusters/{name}/editor/tables/{schema}/{table}/rows/{pkValue}', {
    auth: action('sqlcluster/dataWrite'),
    body: 'RowMutationRequest',
    answers: [200],
  }),
  planned('DELETE', '{RG}/sqlclusters/{name}/editor/tables/{schema}/{table}/rows/{pkValue}', {
    auth: action('sqlcluster/dataWrite'),
    answers: [200, 204],
  }),
  planned('POST', '{RG}/sqlclusters/{name}/editor/tables/{schema}/{table}/rows:bulk', {
    auth: action('sqlcluster/dataWrite'),
    body: 'BulkUpdateRowsRequest',
    answers: [200],
  }),
  planned('POST', '{RG}/sqlclusters/{name}/editor/tables/{schema}/{table}/rows:bulk-delete', {
    auth: action('sqlcluster/dataWrite'),
    body: 'BulkDeleteRowsRequest',
    answers: [200],
  }),
  planned('POST', '{RG}/sqlclusters/{name}/editor/tables/{schema}/{table}/rows:bulk-insert', {
    auth: action('sqlcluster/dataWrite'),
    body: 'BulkInsertRowsRequest',
    answers: [200, 201],
  }),
]
