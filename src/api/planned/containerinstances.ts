import { action, authenticated, dataAction, planned, type RouteDraft } from '../http/route.ts'

/** Rows of container instances (interface section 4.6) that are not built yet. A row leaves when its route is built. */
export const plannedContainerinstances: readonly RouteDraft[] = [
  planned('GET', '{RG}/containerinstances', {
    auth: action('containerinstance/read'),
    operation: 'ListContainerInstances',
    query: ['page:integer', 'pageSize:integer'],
    answers: [200],
  }),
  planned('GET', '{RG}/containerinstances/config', {
    auth: action('containerinstance/read'),
    operation: 'GetContainerInstancesConfig',
    answers: [200],
  }),
  planned('GET', '{RG}/containerinstances/{name}', {
    auth: action('containerinstance/read'),
    operation: 'GetContainerInstance',
    answers: [200, 404],
  }),
  planned('POST', '{RG}/containerinstances/{name}', {
    auth: action('containerinstance/write'),
    operation: 'CreateContainerInstance',
    body: 'ContainerInstanceDto',
    answers: [200, 201, 400, 409],
  }),
  planned('PUT', '{RG}/containerinstances/{name}', {
    auth: action('containerinstance/write'),
    operation: 'UpdateContainerInstance',
    body: 'ContainerInstanceDto',
    answers: [200, 400, 404],
  }),
  planned('PATCH', '{RG}/containerinstances/{name}', {
    auth: action('containerinstance/write'),
    operation: 'PatchContainerInstance',
    body: 'any',
    answers: [200, 400, 404],
  }),
  planned('DELETE', '{RG}/containerinstances/{name}', {
    auth: action('containerinstance/delete'),
    operation: 'DeleteContainerInstance',
    answers: [200, 202, 204, 404],
  }),
  planned('GET', '{RG}/containerinstances/{name}/backup-policy', {
    auth: action('containerinstance/read'),
    answers: [200],
  }),
  planned('PUT', '{RG}/containerinstances/{name}/backup-policy', {
    auth: action('containerinstance/write'),
    body: 'BackupPolicySpecDto',
    answers: [200],
  }),
  planned('DELETE', '{RG}/containerinstances/{name}/backup-policy', {
    auth: action('containerinstance/write'),
    answers: [200, 204],
  }),
  planned('GET', '{B}/resources/containerinstancecomputeplans', {
    auth: authenticated,
    query: ['page:integer', 'pageSize:integer'],
    answers: [200, 500],
  }),
  planned('GET', '{B}/resources/containerinstancecomputeplans/{resourceId}', {
    auth: authenticated,
    answers: [200, 404, 500],
  }),
  planned('GET', '{RG}/containerinstances/{name}/crates', { auth: action('containerinstance/read'), answers: [200] }),
  planned('GET', '{RG}/containerinstances/{name}/crates/{crateId}', {
    auth: action('containerinstance/read'),
    answers: [200],
  }),
  planned('GET', '{RG}/containerinstances/{name}/crates/{crateId}/logs', {
    auth: dataAction('containerinstance/readLogs'),
    query: ['previous:boolean', 'process:string', 'tail:integer'],
    answers: [200],
  }),
  planned('GET', '{RG}/containerinstances/{name}/files', {
    auth: dataAction('containerinstance/readFiles'),
    query: ['component:string', 'path:string'],
    answers: [200],
  }),
  planned('GET', '{RG}/containerinstances/{name}/files/archive', {
    auth: dataAction('containerinstance/readFiles'),
    query: ['component:string', 'path:string'],
    answers: [200],
  }),
  planned('GET', '{RG}/containerinstances/{name}/files/download', {
    auth: dataAction('containerinstance/readFiles'),
    query: ['component:string', 'path:string'],
    answers: [200],
  }),
  planned('DELETE', '{RG}/containerinstances/{name}/files', {
    auth: dataAction('containerinstance/writeFiles'),
    query: ['component:string', 'path:string', 'recursive:boolean'],
    answers: [200, 204],
  }),
  planned('POST', '{RG}/containerinstances/{name}/files/directory', {
    auth: dataAction('containerinstance/writeFiles'),
    body: 'MakeDirectoryRequest',
    answers: [200, 201],
  }),
  planned('POST', '{RG}/containerinstances/{name}/files/move', {
    auth: dataAction('containerinstance/writeFiles'),
    body: 'MoveRequest',
    answers: [200],
  }),
  planned('POST', '{RG}/containerinstances/{name}/files/upload', {
    auth: dataAction('containerinstance/writeFiles'),
    query: ['component:string', 'name:string', 'path:string'],
    body: 'binary',
    answers: [200, 201],
  }),
  planned('GET', '{RG}/containerinstances/{name}/revisions', {
    auth: action('containerinstance/read'),
    answers: [200],
  }),
  planned('GET', '{RG}/containerinstances/{name}/revisions/{number}', {
    auth: action('containerinstance/read'),
    answers: [200],
  }),
  planned('GET', '{RG}/containerinstances/{name}/revisions/{from}/diff/{to}', {
    auth: action('containerinstance/read'),
    answers: [200],
  }),
  planned('POST', '{RG}/containerinstances/{name}/revisions/{number}/rollback', {
    auth: action('containerinstance/write'),
    query: ['ifMatchRevision:integer'],
    answers: [200],
  }),
  planned('POST', '{RG}/containerinstances/{name}/components/{component}/actions/redeploy', {
    auth: action('containerinstance/write'),
    answers: [200],
  }),
  planned('POST', '{B}/resources/containerinstances/url', {
    auth: action('containerinstance/write'),
    body: 'ContainerInstanceUrlRequest',
    answers: [200],
  }),
]
