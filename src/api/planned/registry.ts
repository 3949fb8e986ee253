import { action, anonymous, authenticated, planned, type RouteDraft } from '../http/route.ts'

/** Rows of the registry that are not built yet. A row leaves when its route is built. */
export const plannedRegistry: readonly RouteDraft[] = [
  planned('POST', '/v1/internal/registries/mint-boundary-credential', {
    auth: authenticated,
    body: 'MintBoundaryRequest',
    answers: [200],
  }),
  planned('POST', '/v1/internal/registries/mint-build-token', {
    auth: authenticated,
    body: 'MintBuildRequest',
    answers: [200],
  }),
  planned('GET', '/resources/registries/audit', {
    auth: action('registry/audit/read'),
    query: [
      'action:string',
      'boundary:string',
      'repository:string',
      'correlation_id:uuid',
      'from:date-time',
      'to:date-time',
      'limit:integer',
    ],
    answers: [200],
  }),
  planned('GET', '/v1/internal/registries/manifests', {
    auth: authenticated,
    query: ['repository:string', 'tag:string'],
    answers: [200],
  }),
  planned('PUT', '/v1/internal/registries/pins', { auth: authenticated, body: 'PinUpsertRequest', answers: [200] }),
  planned('DELETE', '/v1/internal/registries/pins', {
    auth: authenticated,
    query: ['boundary:string', 'repository:string'],
    answers: [200, 204],
  }),
  planned('GET', '/v1/registries/retention/preview', {
    auth: action('registry/audit/read'),
    query: ['boundary:string', 'repository:string'],
    answers: [200],
  }),
  planned('GET', '/v1/registries/retention/runs', {
    auth: action('registry/audit/read'),
    query: ['limit:integer'],
    answers: [200],
  }),
  planned('POST', '/v1/registries/retention/runs', {
    auth: action('registry/retention/manage'),
    body: 'PostRunRequest',
    answers: [200, 202],
  }),
  planned('GET', '/registry/auth/token', {
    auth: anonymous,
    operation: 'RegistryAuthTokenGet',
    query: ['service:string', 'scope:string', 'account:string'],
    answers: [200, 401],
  }),
  planned('POST', '/registry/auth/token', {
    auth: anonymous,
    operation: 'RegistryAuthToken',
    body: 'form',
    answers: [200, 401],
  }),
  planned('POST', '/v1/internal/registries/notify', {
    auth: anonymous,
    operation: 'RegistryNotify',
    body: 'distribution notification envelope',
    answers: [200, 202],
  }),
]
