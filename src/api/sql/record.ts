import { z } from 'zod'
import { ASK_FOR_SNAPSHOTS, volumeBackupsObstacle } from '../../contracts/backups.ts'
import { ADMIN_USERS, defaultEngineMemoryMb, memoryObstacle } from '../../contracts/sql.ts'
import { STORAGE_VOLUME } from '../../contracts/workloads.ts'
import { PlatformError, refusedFields } from '../../core/errors.ts'
import { isTimeZone } from '../../crds/schedule.ts'
import { defaultEdition, LICENSE_STATES, newestSqlVersion, SqlInstance } from '../../crds/sql.ts'
import type { RecordOf } from '../records/records.ts'
import { otherClusterOf } from '../resources/find.ts'
import { recordOf } from '../resources/record.ts'
import { effectiveSizes, type Plan, planOf } from '../resources/sizing.ts'
import type { ResourceView, WriteView } from '../resources/types.ts'

export type SqlObject = RecordOf<typeof SqlInstance>
export type SqlSpec = SqlObject['spec']
export type SqlView = ResourceView<typeof SqlInstance>

export const editionOf = ({ object: { spec } }: SqlView) => spec.edition ?? defaultEdition(spec.engine)
export const versionOf = ({ object: { spec } }: SqlView) => spec.engineVersion ?? newestSqlVersion(spec.engine)
export const licenseOf = ({ object: { status } }: SqlView) => status?.licenseStatus ?? 'NotRequired'

const EngineReported = z.string().nullable().describe('As the engine reports it')

/** SqlInstanceDto (records: SQL instances). */
export const sqlRecord = recordOf(SqlInstance, {
  hidden: ['running', 'restartedAt', 'onDelete', 'licenseVersion'],
  computed: {
    adminUser: [z.string().describe('Never handed out'), ({ object }) => ADMIN_USERS[object.spec.engine]],
    licenseStatus: [z.enum(LICENSE_STATES), licenseOf],
    licenseEdition: EngineReported,
    productVersion: EngineReported,
    publicEndpoint: z.string().nullable(),
  },
  shownAs: {
    acceptEula: ({ object: { spec } }) => spec.acceptEula || spec.engine === 'MariaDb',
    memoryLimitMb: ({ object: { spec }, services }) => shownMemoryMb(spec, planOf(services, 'Sql', spec)),
  },
  filled: { engineVersion: versionOf, edition: editionOf, backupEnabled: isBackedUp },
  kept: ['engineVersion'],
  refine,
})

/** @throws PlatformError BAD_REQUEST */
function refine(draft: Partial<SqlSpec>, view: WriteView<typeof SqlInstance>, plan: Plan | undefined) {
  const { engine = 'MsSql', acceptEula = false, timeZone } = draft
  if (timeZone !== undefined && timeZone !== view.previous?.spec.timeZone && !isTimeZone(timeZone))
    throw refusedFields([{ field: 'timeZone', message: `"${timeZone}" is not a time zone that the platform knows` }])
  const memoryLimitMb = chooseMemoryMb(draft, view, plan)
  const { memoryLimit } = effectiveSizes(draft, plan)
  // The rules of the kind check the spec; this also checks what comes from the plan.
  const fault = memoryLimit === null ? undefined : memoryObstacle({ engine, memoryLimitMb }, memoryLimit)
  if (fault !== undefined) throw refusedFields([fault])
  return {
    engine,
    engineVersion: chosen('engineVersion', draft, view, newestSqlVersion(engine)) as SqlSpec['engineVersion'],
    edition: chosen('edition', draft, view, defaultEdition(engine)) as SqlSpec['edition'],
    acceptEula: engine === 'MariaDb' ? false : acceptEula,
    memoryLimitMb,
    backupEnabled: chooseBackup(draft, view, plan),
  }
}

/** Without a wish of its own, an instance is backed up if the controller found a target. */
function isBackedUp({ object: { spec, status } }: Pick<SqlView, 'object'>): boolean {
  return spec.backupEnabled ?? status?.backupEnabled ?? false
}

/**
 * What the platform decided is not stored when a record is sent back as read.
 *
 * @throws PlatformError BACKUP_TARGET_MISSING, SNAPSHOT_CLASS_MISSING; of another cluster its controller says it
 */
function chooseBackup(
  draft: Partial<SqlSpec>,
  { services, previous, form }: WriteView<typeof SqlInstance>,
  plan: Plan | undefined,
): boolean | undefined {
  const { backupEnabled: wanted, clusterId } = draft
  const isEcho = form === 'put' && previous?.spec.backupEnabled === undefined
  if (isEcho && previous !== undefined && wanted === isBackedUp({ object: previous })) return undefined
  if (wanted !== true || previous?.spec.backupEnabled === true) return wanted
  if (otherClusterOf(services, clusterId) !== undefined) return wanted
  const volume = { name: STORAGE_VOLUME, storageClass: effectiveSizes(draft, plan).storageClass ?? undefined }
  const means = services.backups.ownMeans()
  const found = volumeBackupsObstacle(means, [volume], { method: 'Snapshot' }, ASK_FOR_SNAPSHOTS)
  if (found !== undefined) throw new PlatformError(found.code, found.message, { field: 'backupEnabled', value: true })
  return wanted
}

/** New instances store the current default. One from kubectl without the field follows it until a value is set. */
function chosen(
  field: 'engineVersion' | 'edition',
  draft: Partial<SqlSpec>,
  { previous, form }: WriteView<typeof SqlInstance>,
  defaultValue: string,
): string | undefined {
  const given = draft[field]
  const isUnset = given === undefined || (form === 'put' && given === defaultValue)
  const followsDefault = isUnset && previous !== undefined && previous.spec[field] === undefined
  return followsDefault ? undefined : (given ?? defaultValue)
}

function shownMemoryMb(spec: Partial<SqlSpec>, plan: Plan | undefined): number | undefined {
  const { memoryLimit } = effectiveSizes(spec, plan)
  return spec.memoryLimitMb ?? (memoryLimit === null ? undefined : defaultEngineMemoryMb(memoryLimit))
}

/** A share that equals the plan's is not stored, nor is one that is sent back as read. */
function chooseMemoryMb(draft: Partial<SqlSpec>, view: WriteView<typeof SqlInstance>, plan: Plan | undefined) {
  const { memoryLimitMb, ...others } = draft
  const before = view.previous?.spec
  const followsPlan = view.form === 'put' && before !== undefined && before.memoryLimitMb === undefined
  const shown = followsPlan ? shownMemoryMb(before, planOf(view.services, 'Sql', before)) : undefined
  return [shownMemoryMb(others, plan), shown].includes(memoryLimitMb) ? undefined : memoryLimitMb
}
