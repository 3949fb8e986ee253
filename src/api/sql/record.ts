import { z } from 'zod'
import { ADMIN_USERS } from '../../contracts/sql.ts'
import { badRequest } from '../../core/errors.ts'
import { compareQuantities } from '../../core/quantity.ts'
import { defaultEdition, LICENSE_STATES, MSSQL_MEMORY, newestVersion, SqlInstance } from '../../crds/sql.ts'
import type { RecordOf } from '../records/records.ts'
import { recordOf } from '../resources/record.ts'
import { effectiveSizes, type Plan, unprocessable } from '../resources/sizing.ts'
import type { ResourceView } from '../resources/types.ts'

export type SqlObject = RecordOf<typeof SqlInstance>
export type SqlSpec = SqlObject['spec']
export type SqlView = ResourceView<typeof SqlInstance>
export const COLLECTION = 'sqlclusters'

export const editionOf = ({ object: { spec } }: SqlView) => spec.edition ?? defaultEdition(spec.engine)
export const versionOf = ({ object: { spec } }: SqlView) => spec.engineVersion ?? newestVersion(spec.engine)
export const licenseOf = ({ object: { status } }: SqlView) => status?.licenseStatus ?? 'NotRequired'

const reported = z.string().nullable().describe('As the engine reports it')

/** SqlInstanceDto (records: SQL instances). */
export const sqlRecord = recordOf(SqlInstance, {
  id: 'SqlInstanceDto',
  hidden: ['running', 'restartedAt', 'onDelete', 'licenseVersion'],
  computed: {
    adminUser: [z.string().describe('Never handed out'), ({ object }) => ADMIN_USERS[object.spec.engine]],
    licenseStatus: [z.enum(LICENSE_STATES), licenseOf],
    licenseEdition: [reported, ({ object }) => object.status?.licenseEdition],
    productVersion: [reported, ({ object }) => object.status?.productVersion],
    publicEndpoint: [z.string().nullable(), ({ object }) => object.status?.publicEndpoint],
  },
  shownAs: { acceptEula: ({ object: { spec } }) => spec.acceptEula || spec.engine === 'MariaDb' },
  filled: { engineVersion: versionOf, edition: editionOf },
  kept: ['engineVersion'],
  refine,
})

/** @throws PlatformError BACKUP_TARGET_MISSING, BAD_REQUEST */
function refine(draft: Partial<SqlSpec>, _view: object, plan: Plan | undefined): Partial<SqlSpec> {
  const { engine = 'MsSql', acceptEula = false } = draft
  if (draft.backupEnabled === true) {
    const message = 'This platform has no target for backups of SQL instances.'
    throw unprocessable('BACKUP_TARGET_MISSING', 'backupEnabled', 'true', message)
  }
  refuseLittleMemory({ ...draft, engine }, plan)
  return {
    engine,
    engineVersion: draft.engineVersion ?? (newestVersion(engine) as SqlSpec['engineVersion']),
    edition: draft.edition ?? (defaultEdition(engine) as SqlSpec['edition']),
    acceptEula: engine === 'MariaDb' ? false : acceptEula,
  }
}

/** The kind's rule judges the spec; this also judges what it gets from its plan. */
function refuseLittleMemory(spec: Partial<SqlSpec>, plan: Plan | undefined): void {
  const { memoryLimit } = effectiveSizes(spec, plan)
  if (spec.engine !== 'MsSql' || memoryLimit === null || compareQuantities(memoryLimit, MSSQL_MEMORY) >= 0) return
  throw badRequest(`MsSql does not start with less memory than ${MSSQL_MEMORY}.`, [
    { field: 'memoryLimit', message: `must be at least ${MSSQL_MEMORY}` },
  ])
}
