import { badRequest } from '../../core/errors.ts'
import { compareQuantities } from '../../core/quantity.ts'
import { defaultEdition, newestVersion, type SqlInstance } from '../../crds/sql.ts'
import { chooseCluster } from '../resources/chooseCluster.ts'
import {
  choosePlan,
  chooseSizes,
  effectiveSizes,
  type Plan,
  refuseRequestOverLimit,
  refuseShrinking,
  unprocessable,
} from '../resources/sizing.ts'
import type { WriteView } from '../resources/types.ts'
import { hiddenFields, type SqlBody, type SqlSpec } from './record.ts'

export type SqlWrite = WriteView<typeof SqlInstance>

const MSSQL_MEMORY = '2Gi'

/**
 * The spec for a body (records: SQL instances, plans). What no body shows stays; the version stays where the body says
 * nothing, because an upgrade must be asked for.
 *
 * @throws PlatformError PLAN_NOT_FOUND, PLAN_DEPRECATED, CLUSTER_NOT_PROJECTED, STORAGE_CANNOT_SHRINK,
 *   BACKUP_TARGET_MISSING, BAD_REQUEST
 */
export function sqlSpec(body: SqlBody, view: SqlWrite): object {
  const previous = view.previous?.spec
  const plan = choosePlan('Sql', body, view)
  const engine = body.engine ?? previous?.engine ?? 'MsSql'
  if (body.backupEnabled === true)
    throw unprocessable(
      'BACKUP_TARGET_MISSING',
      'backupEnabled',
      'true',
      'This platform has no target for backups of SQL instances.',
    )
  const spec = {
    ...hiddenFields(previous),
    clusterId: chooseCluster(body.clusterId, view),
    computePlan: plan.named,
    ...chooseSizes('Sql', body, view, plan.effective),
    engine,
    engineVersion: body.engineVersion ?? previous?.engineVersion ?? newestVersion(engine),
    edition: body.edition ?? defaultEdition(engine),
    acceptEula: engine === 'MariaDb' ? false : (body.acceptEula ?? false),
    collation: body.collation,
    timeZone: body.timeZone,
    databaseName: body.databaseName,
    memoryLimitMb: body.memoryLimitMb ?? undefined,
    enableLoadBalancer: body.enableLoadBalancer,
    allowedCidrs: body.allowedCidrs || undefined,
    backupEnabled: body.backupEnabled,
    backupSchedule: body.backupSchedule,
    backupRetentionDays: body.backupRetentionDays,
    deletionProtection: body.deletionProtection,
    tags: body.tags,
  }
  refuseRequestOverLimit(spec as SqlSpec, plan.effective)
  refuseShrinking('Sql', spec as SqlSpec, view, plan.effective)
  refuseLittleMemory(spec as SqlSpec, plan.effective)
  return spec
}

/** The rule of the kind sees what a spec says; here also what it gets from its plan. */
function refuseLittleMemory(spec: SqlSpec, plan: Plan | undefined): void {
  const { memoryLimit } = effectiveSizes(spec, plan)
  if (spec.engine !== 'MsSql' || memoryLimit === null || compareQuantities(memoryLimit, MSSQL_MEMORY) >= 0) return
  throw badRequest(`MsSql does not start with less memory than ${MSSQL_MEMORY}.`, [
    { field: 'memoryLimit', message: `must be at least ${MSSQL_MEMORY}` },
  ])
}
