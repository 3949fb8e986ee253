import { z } from 'zod'
import type { BlobStore } from '../../adapters/blobs/port.ts'
import type { SqlEngine } from '../../adapters/sql/port.ts'
import { ARCHIVING_STATES, RelationalCluster } from '../../crds/relational.ts'
import { connectionRoutes } from '../databases/connectionRoutes.ts'
import { historyRoute } from '../databases/editor/routes.ts'
import { ok } from '../http/answer.ts'
import { etagOf } from '../http/etag.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import type { SecretReader } from '../records/secrets.ts'
import { ExternalAddressDto } from '../resources/dto.ts'
import { findResource } from '../resources/find.ts'
import { dateTime, enumeration, flag, text } from '../resources/paging.ts'
import { planFields, planRoutes } from '../resources/plans.ts'
import { resource } from '../resources/resource.ts'
import { replicasField, storageField } from '../resources/sizing.ts'
import { externalAddress, readConnectionString } from './access.ts'
import { historyOf, relationalEditorRoutes } from './editor.ts'
import { RelationalHealthDto, relationalHealth } from './health.ts'
import { isBackedUp, relationalRecord } from './record.ts'
import { RestoreResultDto, RestoreSnapshotRequest, restoreSnapshot } from './restore.ts'
import { PitrWindowDto, readWindow, snapshots } from './snapshots.ts'

declare module '../http/context.ts' {
  interface Services {
    readonly relational: {
      /** How the editor connects to instances. */
      readonly engine: SqlEngine
      readonly secrets: SecretReader
      /** Stores the history of the editor. */
      readonly blobs: BlobStore
      readonly allowOwnImages: boolean
      readonly hasBackupTarget: boolean
    }
  }
}

const PlanDto = namedRecord('RelationalResourcePlanDto', {
  ...planFields,
  maxConnections: z.int(),
  walStorageSize: z.string(),
})

const BASE = '{RG}/relationalclusters/{name}'
const read = action('relationalcluster/read')

/** The routes of relational databases (interface sections 4.2 and 4.4). */
export const relationalRoutes: readonly RouteDraft[] = [
  ...resource(RelationalCluster, {
    ...relationalRecord,
    example: { computePlan: 'relational-small', replicas: 2, engineVersion: '17', databaseName: 'orders' },
    fields: {
      engineVersion: text('Version'),
      archiving: enumeration('Archiving', ARCHIVING_STATES, {
        of: ({ object }) => object.status?.archiving ?? 'Disabled',
        isSorted: false,
      }),
      replicas: replicasField(RelationalCluster, { isSorted: false }),
      backupEnabled: flag('Backups', {
        of: ({ object, services }) => isBackedUp(object.spec, services.relational.hasBackupTarget),
      }),
      storageSize: storageField(RelationalCluster),
      lastBackupAt: dateTime('Last backup', { of: ({ object }) => object.status?.lastBackupAt, isFiltered: false }),
    },
  }),
  ...planRoutes({
    family: 'Relational',
    dto: PlanDto,
    productionReplicas: 2,
    more: ({ spec }) => ({
      maxConnections: Number(spec.extras.maxConnections ?? 100),
      walStorageSize: spec.extras.walStorageSize ?? '',
    }),
  }),
  ...connectionRoutes({ base: BASE, may: 'relationalcluster/readSecrets', read: readConnectionString }),
  route('GET', `${BASE}/external-ip`, {
    auth: read,
    summary: 'Public address',
    reply: ExternalAddressDto,
    handler: async (context) => {
      const { object } = await findResource(RelationalCluster, context)
      return ok(externalAddress(object), { etag: etagOf(object) })
    },
  }),
  route('GET', `${BASE}/health`, {
    auth: read,
    summary: 'Health, as the engine reports it',
    reply: RelationalHealthDto,
    handler: async (context) =>
      ok(await relationalHealth((await findResource(RelationalCluster, context)).object, context)),
  }),
  ...relationalEditorRoutes,
  historyRoute({
    base: BASE,
    read: 'relationalcluster/read',
    dataRead: 'sqlcluster/dataRead',
    history: async (context) => ({
      history: historyOf((await findResource(RelationalCluster, context)).object, context.services),
    }),
  }),
  ...snapshots.routes(),
  route('GET', `${BASE}/snapshots/pitr-window`, {
    auth: read,
    summary: 'The time range to which it can be restored',
    reply: PitrWindowDto,
    handler: (context) => readWindow(context),
  }),
  route('POST', `${BASE}/snapshots/{snapshotId}/restore`, {
    auth: action('relationalcluster/restoreSnapshot'),
    further: '`relationalcluster/write` at the new database',
    summary: 'Create a new database from a snapshot, as of its end or a later moment',
    body: RestoreSnapshotRequest,
    reply: RestoreResultDto,
    handler: (context) => restoreSnapshot(context),
  }),
]
