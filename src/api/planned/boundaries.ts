import { action, planned, type RouteDraft } from '../http/route.ts'

/** Rows of boundaries that are not built yet. A row leaves when its route is built. */
export const plannedBoundaries: readonly RouteDraft[] = [
  planned('POST', '{B}/network/check', {
    auth: action('boundaries/network/read'),
    body: 'NetworkCheckRequest',
    answers: [200],
  }),
  planned('GET', '{B}/network/denies', {
    auth: action('boundaries/network/read'),
    query: ['direction:string', 'resource:string', 'resourceGroup:string', 'window:string', 'pageSize:integer'],
    answers: [200],
  }),
  planned('GET', '{B}/network/denies/{denyId}', { auth: action('boundaries/network/read'), answers: [200] }),
  planned('GET', '{B}/network/graph', {
    auth: action('boundaries/network/read'),
    query: ['resourceGroup:string', 'window:string'],
    answers: [200],
  }),
  planned('GET', '{B}/network/series', {
    auth: action('boundaries/network/read'),
    query: ['resource:string', 'resourceGroup:string', 'window:string'],
    answers: [200],
  }),
  planned('GET', '{B}/network/status', { auth: action('boundaries/network/read'), answers: [200] }),
  planned('GET', '{B}/projections', { auth: action('boundaries/projections/read'), answers: [200] }),
  planned('POST', '{B}/projections', {
    auth: action('boundaries/projections/manage'),
    body: 'CreateBoundaryProjectionRequest',
    answers: [200, 201],
  }),
  planned('GET', '{B}/projections/{projectionId}', { auth: action('boundaries/projections/read'), answers: [200] }),
  planned('PATCH', '{B}/projections/{projectionId}', {
    auth: action('boundaries/projections/manage'),
    body: 'UpdateBoundaryProjectionRequest',
    answers: [200],
  }),
  planned('DELETE', '{B}/projections/{projectionId}', {
    auth: action('boundaries/projections/manage'),
    answers: [200, 204],
  }),
  planned('POST', '{B}/crosslink/access-grant', {
    auth: action('crosslink/admin'),
    body: 'record with caPem, code, expiresUtc, hubEndpoint, url',
    answers: [200, 201],
  }),
  planned('POST', '{B}/crosslink/pki/rotate', { auth: action('crosslink/admin'), answers: [200, 202] }),
  planned('POST', '{B}/crosslink/status', {
    auth: action('crosslink/admin'),
    body: 'CrosslinkStatusReport',
    answers: [200],
  }),
]
