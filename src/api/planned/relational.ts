import { action, authenticated, dataAction, planned, type RouteDraft } from '../route.ts'

/** Rows of relational databases (interface section 4.4) that are not built yet. A row leaves when its route is built. */
export const plannedRelational: readonly RouteDraft[] = [
  planned('GET', '{RG}/relationalclusters', {
    auth: action('relationalcluster/read'),
    operation: 'ListClusters',
    query: ['page:integer', 'pageSize:integer'],
    answers: [200],
  }),
  planned('GET', '{RG}/relationalclusters/config', {
    auth: action('relationalcluster/read'),
    operation: 'GetClustersConfig',
    answers: [200],
  }),
  planned('GET', '{RG}/relationalclusters/{name}', {
    auth: action('relationalcluster/read'),
    operation: 'GetCluster',
    answers: [200, 404],
  }),
  planned('POST', '{RG}/relationalclusters/{name}', {
    auth: action('relationalcluster/write'),
    operation: 'CreateCluster',
    body: 'RelationalClusterDto',
    answers: [200, 201, 400, 409],
  }),
  planned('PUT', '{RG}/relationalclusters/{name}', {
    auth: action('relationalcluster/write'),
    operation: 'UpdateCluster',
    body: 'RelationalClusterDto',
    answers: [200, 400, 404],
  }),
  planned('PATCH', '{RG}/relationalclusters/{name}', {
    auth: action('relationalcluster/write'),
    operation: 'PatchCluster',
    body: 'any',
    answers: [200, 400, 404],
  }),
  planned('DELETE', '{RG}/relationalclusters/{name}', {
    auth: action('relationalcluster/delete'),
    operation: 'DeleteCluster',
    answers: [200, 202, 204, 404],
  }),
  planned('PUT', '{RG}/relationalclusters/{name}/actions/{action}', {
    auth: action('relationalcluster/write'),
    operation: 'ExecuteClusterAction',
    answers: [200, 202, 400, 404],
  }),
  planned('GET', '{RG}/relationalclusters/{name}/scale', {
    auth: action('relationalcluster/read'),
    operation: 'GetClusterScale',
    answers: [200, 404],
  }),
  planned('POST', '{RG}/relationalclusters/{name}/scale', {
    auth: action('relationalcluster/scale'),
    operation: 'ScaleCluster',
    body: 'ScaleRequest',
    answers: [200, 202, 400, 404],
  }),
  planned('GET', '{B}/resources/relationalclusters', {
    auth: action('relationalcluster/read'),
    operation: 'ListAllClusters',
    query: ['page:integer', 'pageSize:integer'],
    answers: [200],
  }),
  planned('GET', '{B}/resources/relationalclusters/config', {
    auth: action('relationalcluster/read'),
    operation: 'GetAllClustersConfig',
    answers: [200],
  }),
  planned('GET', '{B}/resources/relationalcomputeplans', {
    auth: authenticated,
    operation: 'ListRelationalComputePlans',
    query: ['page:integer', 'pageSize:integer'],
    answers: [200, 500],
  }),
  planned('GET', '{B}/resources/relationalcomputeplans/{resourceId}', {
    auth: authenticated,
    answers: [200, 404, 500],
  }),
  planned('GET', '{RG}/relationalclusters/{name}/connectionstring', {
    auth: dataAction('relationalcluster/readSecrets'),
    answers: [200],
  }),
  planned('GET', '{RG}/relationalclusters/{name}/connectionstring/external', {
    auth: dataAction('relationalcluster/readSecrets'),
    answers: [200],
  }),
  planned('GET', '{RG}/relationalclusters/{name}/external-ip', {
    auth: action('relationalcluster/read'),
    answers: [200],
  }),
  planned('GET', '{RG}/relationalclusters/{name}/health', { auth: action('relationalcluster/read'), answers: [200] }),
  planned('GET', '{RG}/relationalclusters/{name}/editor/history', {
    auth: action('relationalcluster/read'),
    query: ['limit:integer'],
    answers: [200],
  }),
  planned('GET', '{RG}/relationalclusters/{name}/snapshots', {
    auth: action('relationalcluster/read'),
    operation: 'ListClusterSnapshots',
    answers: [200],
  }),
  planned('POST', '{RG}/relationalclusters/{name}/snapshots', {
    auth: action('relationalcluster/createSnapshot'),
    body: 'CreateSnapshotRequest',
    answers: [200, 201, 202],
  }),
  planned('GET', '{RG}/relationalclusters/{name}/snapshots/pitr-window', {
    auth: action('relationalcluster/read'),
    operation: 'GetClusterPitrWindow',
    answers: [200],
  }),
  planned('DELETE', '{RG}/relationalclusters/{name}/snapshots/{snapshotId}', {
    auth: action('relationalcluster/deleteSnapshot'),
    answers: [200, 204],
  }),
  planned('POST', '{RG}/relationalclusters/{name}/snapshots/{snapshotId}/restore', {
    auth: action('relationalcluster/restoreSnapshot'),
    operation: 'RestoreClusterFromSnapshot',
    body: 'RestoreSnapshotRequest',
    answers: [200, 202],
  }),
]
