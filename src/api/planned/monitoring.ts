import { action, planned, type RouteDraft } from '../http/route.ts'

/** Rows of monitoring that are not built yet. A row leaves when its route is built. */
export const plannedMonitoring: readonly RouteDraft[] = [
  planned('GET', '{RG}/monitoring/{resourceType}/{resourceName}', {
    auth: action('monitoring/read'),
    query: ['aggregation!:string', 'from!:date-time', 'to!:date-time', 'metric!:string', 'container:string'],
    answers: [200],
  }),
  planned('GET', '{RG}/monitoring/{resourceType}/{resourceName}/alerts', {
    auth: action('monitoring/read'),
    query: ['includeResolved:boolean', 'limit:integer'],
    answers: [200],
  }),
  planned('GET', '{RG}/monitoring/{resourceType}/{resourceName}/requests', {
    auth: action('monitoring/read'),
    query: ['from!:date-time', 'to!:date-time'],
    answers: [200],
  }),
  planned('GET', '{RG}/monitoring/{resourceType}/{resourceName}/utilization', {
    auth: action('monitoring/read'),
    query: ['from!:date-time', 'to!:date-time', 'metric!:string'],
    answers: [200],
  }),
  planned('GET', '{B}/resources/monitoring/alerts', { auth: action('monitoring/read'), answers: [200] }),
  planned('GET', '/admin/monitoring/alerts', {
    auth: action('monitoring/platform/read'),
    query: ['includeResolved:boolean'],
    answers: [200],
  }),
  planned('POST', '/admin/monitoring/alerts', {
    auth: action('monitoring/platform/alerts/write'),
    body: 'AlertIngestRequest',
    answers: [200, 202],
  }),
  planned('GET', '/admin/monitoring/metrics', {
    auth: action('monitoring/platform/read'),
    query: ['aggregation!:string', 'from!:date-time', 'to!:date-time', 'metric!:string', 'resourceType:string'],
    answers: [200],
  }),
  planned('GET', '/admin/monitoring/nodes', { auth: action('monitoring/platform/read'), answers: [200] }),
  planned('GET', '/admin/monitoring/storage/volumes', { auth: action('monitoring/platform/read'), answers: [200] }),
  planned('GET', '/admin/monitoring/storage/claims', {
    auth: action('monitoring/platform/read'),
    query: ['claim:string[]', 'lookbackMinutes:integer', 'namespace:string'],
    answers: [200],
  }),
]
