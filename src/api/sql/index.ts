import { z } from 'zod'
import type { BlobStore } from '../../adapters/blobs/port.ts'
import type { SqlEngine } from '../../adapters/sql/port.ts'
import { SQL_ENGINES } from '../../contracts/sql.ts'
import { EDITIONS, LICENSE_STATES, SqlInstance } from '../../crds/sql.ts'
import { connectionRoutes } from '../databases/connectionRoutes.ts'
import { editorRoutes, historyRoute } from '../databases/editor/routes.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import type { SecretReader, SecretWriter } from '../records/secrets.ts'
import { ExternalAddressDto, HealthReportDto } from '../resources/dto.ts'
import { findResource } from '../resources/find.ts'
import { enumeration, text } from '../resources/paging.ts'
import { planFields, planRoutes } from '../resources/plans.ts'
import { resource } from '../resources/resource.ts'
import { storageField } from '../resources/sizing.ts'
import { editorDatabase, externalAddress, historyOf, readConnectionString, sqlHealth } from './access.ts'
import { LicenseDto, SetLicenseRequest, setLicense } from './license.ts'
import { editionOf, licenseOf, sqlRecord, versionOf } from './record.ts'

declare module '../http/context.ts' {
  interface Services {
    readonly sql: {
      readonly engines: Readonly<Record<(typeof SQL_ENGINES)[number], SqlEngine>>
      readonly secrets: SecretReader
      readonly secretWriter: SecretWriter
      readonly blobs: BlobStore
    }
  }
}

const PlanDto = namedRecord('SqlResourcePlanDto', {
  ...planFields,
  maxEdition: z.string().nullable().describe('The largest edition that it is meant for'),
})

const BASE = '{RG}/sqlclusters/{name}'

const objectOf = async (context: Context) => (await findResource(SqlInstance, context)).object

const generic = resource(SqlInstance, {
  ...sqlRecord,
  example: { engine: 'MariaDb', engineVersion: '11.4', databaseName: 'ledger', computePlan: 'sql-small' },
  fields: {
    engine: enumeration('Engine', SQL_ENGINES, { isSorted: false }),
    edition: enumeration('Edition', EDITIONS, { of: editionOf }),
    engineVersion: text('Version', { of: versionOf, isSorted: false }),
    licenseStatus: enumeration('License', LICENSE_STATES, { of: licenseOf, isSorted: false }),
    storageSize: storageField(SqlInstance),
  },
})

/** The 25 routes of SQL instances (interface sections 4.2 and 4.5). */
export const sqlRoutes: readonly RouteDraft[] = [
  ...generic,
  ...planRoutes({
    family: 'Sql',
    dto: PlanDto,
    // A single pod on a single volume, so no plan survives the loss of its node.
    productionReplicas: Number.POSITIVE_INFINITY,
    more: (plan) => ({ maxEdition: plan.spec.extras.maxEdition ?? null }),
  }),
  ...connectionRoutes({ base: BASE, may: 'sqlcluster/readSecrets', read: readConnectionString }),
  route('GET', `${BASE}/external-ip`, {
    auth: action('sqlcluster/read'),
    summary: 'Public address',
    reply: ExternalAddressDto,
    handler: async (context) => {
      const object = await objectOf(context)
      return ok(externalAddress(object), { etag: etagOf(object) })
    },
  }),
  route('GET', `${BASE}/health`, {
    auth: action('sqlcluster/read'),
    summary: 'What pod and engine say',
    reply: HealthReportDto,
    handler: async (context) => ok(await sqlHealth(await objectOf(context), context)),
  }),
  route('POST', `${BASE}/license`, {
    auth: action('sqlcluster/manageLicense'),
    isHeld: true,
    summary: 'Set or replace the product key of a paid edition',
    body: SetLicenseRequest,
    reply: LicenseDto,
    handler: (context) => setLicense(context),
  }),
  ...editorRoutes({
    base: BASE,
    actions: {
      read: 'sqlcluster/read',
      schemaRead: 'sqlcluster/schemaRead',
      dataRead: 'sqlcluster/dataRead',
      dataWrite: 'sqlcluster/dataWrite',
    },
    find: async (context) => editorDatabase(await objectOf(context), context),
  }),
  historyRoute({
    base: BASE,
    read: 'sqlcluster/read',
    dataRead: 'sqlcluster/dataRead',
    history: async (context) => ({ history: historyOf(await objectOf(context), context.services) }),
  }),
]
