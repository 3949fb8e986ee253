import { z } from 'zod'
import { isRefusedParameter } from '../../contracts/relational.ts'
import { PlatformError } from '../../core/errors.ts'
import { ARCHIVING_STATES, RelationalCluster } from '../../crds/relational.ts'
import { namedRecord } from '../http/namedRecord.ts'
import type { RecordOf } from '../records/records.ts'
import { DateTime, Uuid } from '../resources/dto.ts'
import { recordOf } from '../resources/record.ts'
import type { WriteView } from '../resources/types.ts'

export type RelationalObject = RecordOf<typeof RelationalCluster>
export type RelationalSpec = RelationalObject['spec']
export const COLLECTION = 'relationalclusters'

const RestoreOriginDto = namedRecord('RestoreOrigin', {
  clusterName: z.string(),
  snapshotId: Uuid.nullable(),
  targetTime: DateTime.nullable(),
})

/** RelationalClusterDto (records: relational databases). */
export const relationalRecord = recordOf(RelationalCluster, {
  hidden: ['running', 'restartedAt', 'onDelete', 'archivingSuspended', 'restoreFrom', 'takesOver', 'connectTo'],
  computed: {
    restoredFrom: [
      RestoreOriginDto.nullable().describe('What it was restored from; null for a database that was created empty'),
      ({ object }) => originOf(object.spec),
    ],
    currentPrimary: z.string().nullable(),
    publicEndpoint: z.string().nullable(),
    readyReplicas: z.int().nullable(),
    archiving: [z.enum(ARCHIVING_STATES), ({ object }) => object.status?.archiving ?? 'Disabled'],
    lastBackupAt: DateTime.nullable(),
    firstRecoverableAt: DateTime.nullable(),
  },
  filled: { backupEnabled: ({ object, services }) => isBackedUp(object.spec, services.relational.hasBackupTarget) },
  kept: ['engineVersion'],
  allowsOwnImages: ({ relational }) => relational.allowOwnImages,
  refine: (draft, view) => {
    refuseParameters(draft)
    return { backupEnabled: chooseBackup(draft, view) }
  },
})

/** Returns whether backups are wanted: by the spec or, if it does not say, if the platform has a target. */
export function isBackedUp(spec: Pick<RelationalSpec, 'backupEnabled'>, hasTarget: boolean): boolean {
  return spec.backupEnabled ?? hasTarget
}

function originOf({ restoreFrom }: RelationalSpec): z.input<typeof RestoreOriginDto> | null {
  if (restoreFrom === undefined) return null
  const { clusterName, snapshotId, targetTime = null } = restoreFrom
  return { clusterName, snapshotId, targetTime }
}

/** The rule of the kind refuses them too, but this error names the parameter. */
function refuseParameters({ parameters }: Partial<RelationalSpec>): void {
  const parameter = Object.keys(parameters ?? {}).find(isRefusedParameter)
  if (parameter === undefined) return
  const message = `The parameter "${parameter}" runs code or belongs to the platform and cannot be set.`
  throw new PlatformError('PARAMETER_REFUSED', message, { parameter })
}

/** The platform's default is not stored when a record is sent back as read. */
function chooseBackup(
  { backupEnabled: wanted }: Partial<RelationalSpec>,
  { services, previous }: WriteView<typeof RelationalCluster>,
): boolean | undefined {
  const { hasBackupTarget } = services.relational
  const stored = previous?.spec.backupEnabled
  if (wanted === undefined || (wanted === hasBackupTarget && stored === undefined)) return undefined
  if (wanted && !hasBackupTarget && stored !== true) {
    throw new PlatformError('BACKUP_TARGET_MISSING', 'This platform has no backup target: leave backupEnabled out.', {
      field: 'backupEnabled',
      value: true,
    })
  }
  return wanted
}
