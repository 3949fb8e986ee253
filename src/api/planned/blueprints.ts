import { action, planned, type RouteDraft } from '../http/route.ts'

/** Rows of blueprints that are not built yet. A row leaves when its route is built. */
export const plannedBlueprints: readonly RouteDraft[] = [
  planned('GET', '{B}/resources/blueprints', { auth: action('blueprints/read'), answers: [200] }),
  planned('GET', '{B}/resources/blueprints/config', { auth: action('blueprints/read'), answers: [200] }),
  planned('GET', '{B}/resources/blueprints/catalog/status', { auth: action('blueprints/read'), answers: [200] }),
  planned('POST', '{B}/resources/blueprints/catalog/refresh', {
    auth: action('blueprints/templates/write'),
    answers: [200, 202],
  }),
  planned('GET', '{B}/resources/blueprints/{blueprintId}', { auth: action('blueprints/read'), answers: [200] }),
  planned('GET', '{B}/resources/blueprints/{slug}', { auth: action('blueprints/read'), answers: [200] }),
  planned('POST', '{RG}/blueprints/{slug}/deploy', {
    auth: action('blueprints/read'),
    scope: 'resourceGroup',
    query: ['dryRun:boolean'],
    body: 'DeployBlueprintRequest',
    answers: [200, 202],
  }),
  planned('GET', '{B}/resources/blueprints/deploys', {
    auth: action('blueprints/read'),
    query: ['resourceGroup:string', 'take:integer'],
    answers: [200],
  }),
  planned('GET', '{B}/resources/blueprints/deploys/{executionId}', { auth: action('blueprints/read'), answers: [200] }),
  planned('POST', '{B}/resources/blueprints/deploys/{executionId}/retry', {
    auth: action('blueprints/read'),
    answers: [200, 202],
  }),
  planned('GET', '{B}/resources/blueprints/sources', { auth: action('blueprints/read'), answers: [200] }),
  planned('POST', '{B}/resources/blueprints/sources', {
    auth: action('blueprints/templates/write'),
    body: 'CreateCatalogSourceRequest',
    answers: [200, 201],
  }),
  planned('PATCH', '{B}/resources/blueprints/sources/{sourceId}', {
    auth: action('blueprints/templates/write'),
    body: 'UpdateCatalogSourceRequest',
    answers: [200],
  }),
  planned('DELETE', '{B}/resources/blueprints/sources/{sourceId}', {
    auth: action('blueprints/templates/write'),
    answers: [200, 204],
  }),
  planned('POST', '{B}/resources/blueprints/sources/{sourceId}/sync', {
    auth: action('blueprints/templates/write'),
    answers: [200, 202],
  }),
  planned('POST', '{B}/resources/blueprints/templates', {
    auth: action('blueprints/templates/write'),
    body: 'TemplateContent',
    answers: [200, 201],
  }),
  planned('POST', '{B}/resources/blueprints/templates/validate', {
    auth: action('blueprints/templates/write'),
    body: 'TemplateContent',
    answers: [200],
  }),
  planned('DELETE', '{B}/resources/blueprints/templates/{slug}', {
    auth: action('blueprints/templates/write'),
    answers: [200, 204],
  }),
]
