import { action, dataAction, planned, type RouteDraft } from '../http/route.ts'

/** Rows of jobs (interface section 4.10) that are not built yet. A row leaves when its route is built. */
export const plannedJobs: readonly RouteDraft[] = [
  planned('GET', '{RG}/jobs', { auth: action('jobs/read'), answers: [200] }),
  planned('GET', '{RG}/jobs/{jobName}', { auth: action('jobs/read'), answers: [200] }),
  planned('POST', '{RG}/jobs/{jobName}', { auth: action('jobs/write'), body: 'JobDto', answers: [200, 201] }),
  planned('DELETE', '{RG}/jobs/{jobName}', { auth: action('jobs/delete'), answers: [200, 204] }),
  planned('GET', '{RG}/jobs/{jobName}/logs', { auth: dataAction('jobs/readLogs'), answers: [200] }),
]
