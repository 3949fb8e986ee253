import { action, planned, type RouteDraft } from '../http/route.ts'

/** Rows of the lifecycle manager that are not built yet. A row leaves when its route is built. */
export const plannedLifecycle: readonly RouteDraft[] = [
  planned('GET', '/lifecycle/backups', { auth: action('lifecycle/view'), answers: [200], errors: 'problem' }),
  planned('POST', '/lifecycle/backups', {
    auth: action('lifecycle/execute'),
    answers: [200, 202, 409],
    errors: 'problem',
  }),
  planned('POST', '/lifecycle/backups/archiving/suspend', {
    auth: action('lifecycle/backupsManage'),
    body: 'ArchivingClusterRequest',
    answers: [200, 400, 404, 409],
    errors: 'problem',
  }),
  planned('POST', '/lifecycle/backups/archiving/resume', {
    auth: action('lifecycle/backupsManage'),
    body: 'ArchivingClusterRequest',
    answers: [200, 400, 404, 409],
    errors: 'problem',
  }),
  planned('GET', '/lifecycle/backups/conditions', {
    auth: action('lifecycle/view'),
    answers: [200],
    errors: 'problem',
  }),
  planned('GET', '/lifecycle/backups/target', { auth: action('lifecycle/view'), answers: [200], errors: 'problem' }),
  planned('GET', '/lifecycle/backups/schedule', { auth: action('lifecycle/view'), answers: [200], errors: 'problem' }),
  planned('PUT', '/lifecycle/backups/schedule', {
    auth: action('lifecycle/backupsManage'),
    body: 'UpdateBackupScheduleRequest',
    answers: [200, 400, 409],
    errors: 'problem',
  }),
  planned('PUT', '/lifecycle/backups/target', {
    auth: action('lifecycle/backupsManage'),
    body: 'BackupTargetRequest',
    answers: [200, 202, 400, 409, 422],
    errors: 'problem',
  }),
  planned('POST', '/lifecycle/backups/target/test', {
    auth: action('lifecycle/backupsManage'),
    body: 'BackupTargetRequest',
    answers: [200],
    errors: 'problem',
  }),
  planned('GET', '/lifecycle/components', { auth: action('lifecycle/view'), answers: [200] }),
  planned('GET', '/lifecycle/components/{name}', { auth: action('lifecycle/view'), answers: [200, 404] }),
  planned('GET', '/lifecycle/components/{name}/installspec', { auth: action('lifecycle/view'), answers: [200, 404] }),
  planned('POST', '/lifecycle/components/refresh', { auth: action('lifecycle/view'), answers: [200] }),
  planned('POST', '/lifecycle/components/{name}/install', {
    auth: action('lifecycle/install'),
    body: 'StartInstallRequest',
    answers: [200, 202],
  }),
  planned('POST', '/lifecycle/components/{name}/repair', { auth: action('lifecycle/install'), answers: [200, 202] }),
  planned('GET', '/lifecycle/dependencies', { auth: action('lifecycle/view'), answers: [200] }),
  planned('GET', '/lifecycle/drift', { auth: action('lifecycle/view'), answers: [200] }),
  planned('GET', '/lifecycle/installs', { auth: action('lifecycle/view'), answers: [200] }),
  planned('GET', '/lifecycle/installs/{installId}', { auth: action('lifecycle/view'), answers: [200, 404] }),
  planned('GET', '/lifecycle/platform-drift', { auth: action('lifecycle/view'), answers: [200] }),
  planned('GET', '/lifecycle/rollouts/plans', { auth: action('lifecycle/view'), answers: [200] }),
  planned('GET', '/lifecycle/rollouts/executions', { auth: action('lifecycle/view'), answers: [200] }),
  planned('GET', '/lifecycle/rollouts/executions/{executionId}', {
    auth: action('lifecycle/view'),
    answers: [200, 404],
  }),
  planned('POST', '/lifecycle/installs/{installId}/resume', { auth: action('lifecycle/install'), answers: [200, 202] }),
  planned('POST', '/lifecycle/platform-drift/scan', { auth: action('lifecycle/plan'), answers: [200, 202, 409] }),
  planned('POST', '/lifecycle/platform-drift/adopt', {
    auth: action('lifecycle/execute'),
    body: 'AdoptPlatformDriftRequest',
    answers: [200, 400, 404, 409],
  }),
  planned('GET', '/lifecycle/preflight', { auth: action('lifecycle/view'), query: ['planId:uuid'], answers: [200] }),
  planned('POST', '/lifecycle/preflight/projector-ceiling/apply', {
    auth: action('rbac/projector/apply'),
    query: ['release!:string', 'dryRun:boolean'],
    answers: [200],
  }),
  planned('GET', '/lifecycle/releases', {
    auth: action('lifecycle/view'),
    query: ['component!:string'],
    answers: [200],
  }),
  planned('POST', '/lifecycle/rollouts/plans', {
    auth: action('lifecycle/plan'),
    body: 'CreatePlanRequest',
    answers: [200, 201],
  }),
  planned('POST', '/lifecycle/rollouts/plans/{planId}/validate', { auth: action('lifecycle/plan'), answers: [200] }),
  planned('POST', '/lifecycle/rollouts/executions', {
    auth: action('lifecycle/execute'),
    body: 'CreateExecutionRequest',
    answers: [200, 201, 202, 409],
  }),
  planned('POST', '/lifecycle/rollouts/executions/{executionId}/cancel', {
    auth: action('lifecycle/execute'),
    answers: [200, 202],
  }),
  planned('POST', '/lifecycle/rollouts/executions/{executionId}/resume', {
    auth: action('lifecycle/execute'),
    body: 'ResumeExecutionRequest',
    answers: [200, 202],
  }),
  planned('POST', '/lifecycle/rollouts/executions/{executionId}/revert-platform-drift', {
    auth: action('lifecycle/execute'),
    body: 'RevertPlatformDriftRequest',
    answers: [200, 400, 409],
  }),
  planned('POST', '/lifecycle/rollouts/executions/{executionId}/rollback', {
    auth: action('lifecycle/rollback'),
    answers: [200, 201, 202],
  }),
]
