import { action, anonymous, authenticated, planned, type RouteDraft } from '../http/route.ts'

/** Rows of sources, clusters and activity that are not built yet. A row leaves when its route is built. */
export const plannedKernel: readonly RouteDraft[] = [
  planned('POST', '{B}/activity', {
    auth: action('kernel/activity/write'),
    body: 'ActivityRequest',
    answers: [200, 400],
    errors: 'problem',
  }),
  planned('GET', '{B}/resourcegroups/{resourceGroup}/resources/{resourceType}/{resourceName}/activity', {
    auth: action('kernel/activity/read'),
    operation: 'GetActivityRecords',
    query: ['page:integer', 'pageSize:integer'],
    answers: [200],
    errors: 'problem',
  }),
  planned('GET', '{B}/resourcegroups/{resourceGroup}/resources/{resourceType}/{resourceName}/activity/config', {
    auth: action('kernel/activity/read'),
    operation: 'ListConfig',
    answers: [200],
    errors: 'problem',
  }),
  planned('POST', '/bug-reports', {
    auth: authenticated,
    body: 'SubmitBugReportRequest',
    answers: [200, 201, 202],
    errors: 'problem',
  }),
  planned('GET', '/clusters', {
    auth: action('kernel/clusters/read'),
    query: ['page:integer', 'pageSize:integer'],
    answers: [200],
    errors: 'problem',
  }),
  planned('POST', '/clusters', {
    auth: action('kernel/clusters/write'),
    body: 'CreateClusterRequest',
    answers: [200, 201],
    errors: 'problem',
  }),
  planned('GET', '/clusters/{clusterId}', { auth: action('kernel/clusters/read'), answers: [200], errors: 'problem' }),
  planned('PUT', '/clusters/{clusterId}', {
    auth: action('kernel/clusters/write'),
    body: 'UpdateClusterRequest',
    answers: [200],
    errors: 'problem',
  }),
  planned('DELETE', '/clusters/{clusterId}', {
    auth: action('kernel/clusters/write'),
    answers: [200, 204],
    errors: 'problem',
  }),
  planned('POST', '/clusters/{clusterId}/agent/revoke', {
    auth: action('kernel/clusters/write'),
    answers: [200],
    errors: 'problem',
  }),
  planned('POST', '/clusters/{clusterId}/join-token', {
    auth: action('kernel/clusters/write'),
    body: 'IssueJoinTokenRequest',
    answers: [200, 201],
    errors: 'problem',
  }),
  planned('GET', '{B}/sources', {
    auth: action('kernel/deployments/read'),
    operation: 'ListAllDeploymentSources',
    answers: [200],
    errors: 'problem',
  }),
  planned('GET', '{B}/sources/config', {
    auth: action('kernel/deployments/read'),
    operation: 'ListDeploymentSourcesConfig',
    answers: [200],
    errors: 'problem',
  }),
  planned('POST', '{B}/sources/{sourceName}/create', {
    auth: action('kernel/deployments/write'),
    body: 'CreateDeploymentSourceRequest',
    answers: [201, 400, 404],
    errors: 'problem',
  }),
  planned('GET', '{B}/sources/{sourceName}/finalize', {
    auth: anonymous,
    query: ['installation_id!:string', 'app_id:string', 'setup_action:string', 'state:string'],
    answers: [200, 302, 400],
    errors: 'problem',
  }),
  planned('GET', '{B}/sources/{sourceName}/validate', {
    auth: anonymous,
    query: ['code:string', 'error:string', 'error_description:string', 'state:string'],
    answers: [302, 400],
    errors: 'problem',
  }),
  planned('POST', '{B}/sources/{sourceName}/webhooks', {
    auth: anonymous,
    body: 'any',
    answers: [202, 404, 406],
    errors: 'problem',
  }),
  planned('GET', '{B}/sources/{sourceName}/installations', {
    auth: action('kernel/deployments/read'),
    query: ['page:integer', 'pageSize:integer'],
    answers: [200, 404],
    errors: 'problem',
  }),
  planned('GET', '{B}/sources/{sourceName}/installations/config', {
    auth: action('kernel/deployments/read'),
    answers: [200],
    errors: 'problem',
  }),
  planned(
    'POST',
    '{B}/sources/{sourceName}/installations/{installationId}/repositories/{repositoryId}/webhooks/ensure',
    { auth: action('kernel/deployments/write'), answers: [200, 404, 501], errors: 'problem' },
  ),
  planned('POST', '{B}/sources/{sourceName}/installations/{installationId}/token/{repositoryId}', {
    auth: action('kernel/deployments/token'),
    answers: [200, 404],
    errors: 'problem',
  }),
  planned('DELETE', '{B}/sources/{sourceName}/{deploymentSourceId}', {
    auth: action('kernel/deployments/delete'),
    answers: [204],
    errors: 'problem',
  }),
  planned('PUT', '{B}/sources/{sourceName}/{deploymentSourceId}/circuit', {
    auth: action('kernel/deployments/write'),
    body: 'CircuitSourceSettingsRequest',
    answers: [200, 404, 409],
    errors: 'problem',
  }),
  planned('POST', '{B}/sources/{sourceName}/{deploymentSourceId}/circuit/repositories', {
    auth: action('kernel/deployments/write'),
    body: 'CircuitRepositoryRequest',
    answers: [201, 400, 404, 409, 502],
    errors: 'problem',
  }),
  planned('GET', '{B}/sources/{sourceName}/{deploymentSourceId}/health', {
    auth: action('kernel/deployments/read'),
    answers: [200, 404],
    errors: 'problem',
  }),
  planned('POST', '{B}/sources/{sourceName}/{deploymentSourceId}/materialize', {
    auth: authenticated,
    body: 'MaterializeRegistryRequest',
    answers: [200],
    errors: 'problem',
  }),
  planned('POST', '{B}/sources/{sourceName}/{deploymentSourceId}/verify', {
    auth: action('kernel/deployments/read'),
    body: 'VerifyRegistryRequest',
    answers: [200],
    errors: 'problem',
  }),
  planned('GET', '{B}/sources/{sourceName}/{installationId}/repositories', {
    auth: action('kernel/deployments/read'),
    answers: [200, 404],
    errors: 'problem',
  }),
]
