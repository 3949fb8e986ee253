import { isRefusedParameter } from '../../contracts/relational.ts'
import { PlatformError } from '../../core/errors.ts'
import { NEWEST_RELATIONAL_VERSION, type RelationalCluster } from '../../crds/relational.ts'
import { chooseCluster } from '../resources/chooseCluster.ts'
import {
  chooseImage,
  choosePlan,
  chooseReplicas,
  chooseSizes,
  refuseRequestOverLimit,
  refuseShrinking,
} from '../resources/sizing.ts'
import type { WriteView } from '../resources/types.ts'
import { hiddenFields, type RelationalBody, type RelationalSpec } from './record.ts'

export type RelationalWrite = WriteView<typeof RelationalCluster>

/**
 * The spec for a body (records: relational databases, plans). What no body shows stays; the version and the number of
 * instances stay where the body says nothing, because an upgrade or another instance must be asked for.
 *
 * @throws PlatformError PLAN_NOT_FOUND, PLAN_DEPRECATED, CLUSTER_NOT_PROJECTED, IMAGE_NOT_ALLOWED,
 *   STORAGE_CANNOT_SHRINK, PARAMETER_REFUSED, BACKUP_TARGET_MISSING, BAD_REQUEST
 */
export function relationalSpec(body: RelationalBody, view: RelationalWrite): object {
  const previous = view.previous?.spec
  const plan = choosePlan('Relational', body, view)
  refuseParameters(body)
  const spec = {
    ...hiddenFields(previous),
    clusterId: chooseCluster(body.clusterId, view),
    computePlan: plan.named,
    ...chooseSizes('Relational', body, view, plan.effective),
    walStorageSize: body.walStorageSize ?? undefined,
    replicas: chooseReplicas(body, view, plan.effective),
    engineVersion: body.engineVersion ?? previous?.engineVersion ?? NEWEST_RELATIONAL_VERSION,
    imageName: chooseImage(body, view, view.services.relational.allowOwnImages),
    databaseName: body.databaseName,
    ownerName: body.ownerName,
    extensions: body.extensions,
    parameters: body.parameters,
    synchronousReplicas: body.synchronousReplicas,
    enablePooler: body.enablePooler,
    poolerMode: body.poolerMode,
    enableLoadBalancer: body.enableLoadBalancer,
    allowedCidrs: body.allowedCidrs || undefined,
    backupEnabled: chooseBackup(body, view),
    backupSchedule: body.backupSchedule,
    backupRetentionDays: body.backupRetentionDays,
    deletionProtection: body.deletionProtection,
    finalSnapshotOnDelete: body.finalSnapshotOnDelete,
    tags: body.tags,
  }
  refuseRequestOverLimit(spec as RelationalSpec, plan.effective)
  refuseShrinking('Relational', spec as RelationalSpec, view, plan.effective)
  return spec
}

/** The rule of the kind refuses them too; here the answer names which. */
function refuseParameters(body: RelationalBody): void {
  const parameter = Object.keys(body.parameters ?? {}).find(isRefusedParameter)
  if (parameter === undefined) return
  const message = `The parameter "${parameter}" runs code or belongs to the platform and cannot be set.`
  throw new PlatformError('PARAMETER_REFUSED', message, { parameter })
}

/** What a read showed of the platform's own default is not stored when it is written back. */
function chooseBackup({ backupEnabled: wanted }: RelationalBody, view: RelationalWrite): boolean | undefined {
  const { hasBackupTarget } = view.services.relational
  const held = view.previous?.spec.backupEnabled
  if (wanted === undefined || (wanted === hasBackupTarget && held === undefined)) return undefined
  if (wanted && !hasBackupTarget && held !== true) {
    throw new PlatformError('BACKUP_TARGET_MISSING', 'This platform has no backup target: leave backupEnabled out.', {
      field: 'backupEnabled',
      value: true,
    })
  }
  return wanted
}
