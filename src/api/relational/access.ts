import { z } from 'zod'
import { timestamp } from '../../core/clock.ts'
import {
  authoritySecret,
  connectionForms,
  OWNER_SECRET_KEYS,
  RELATIONAL_PORT,
  relationalNames,
  relationalSelector,
  SSL_MODE,
  serviceHost,
} from '../../core/relational.ts'
import { RelationalCluster } from '../../crds/relational.ts'
import { type Answer, ok } from '../answer.ts'
import type { Context, Services } from '../context.ts'
import { type ConnectionString, loadBalancerAddress, NO_STORE, notYet, publicHost } from '../databaseAccess.ts'
import { type ExternalAddressDto, type HealthCheckDto, healthReportFields } from '../dto.ts'
import type { EditorPlace } from '../editor/place.ts'
import { findResource } from '../findResource.ts'
import type { RelationalObject } from './record.ts'

/** The database that the connection Services lead to: another one where that has taken the name over. */
function servedBy(object: RelationalObject, { records }: Services): RelationalObject {
  const { connectTo } = object.spec
  if (connectTo === undefined) return object
  return records.peek(RelationalCluster, { namespace: object.metadata.namespace, name: connectTo }) ?? object
}

const text = (data: Readonly<Record<string, string>> | undefined, entry: string) =>
  data?.[entry] === undefined ? undefined : Buffer.from(data[entry], 'base64').toString('utf8')

/** Where the history of the editor is kept: with the database, and gone with it. */
export function historyOf({ metadata }: RelationalObject, { relational }: Services): EditorPlace['history'] {
  const { namespace = '', name, uid = '' } = metadata
  const { apiVersion, kind } = RelationalCluster
  const owner = { apiVersion, kind, name, uid, labels: relationalSelector(name) }
  return { blobs: relational.blobs, namespace, name: relationalNames(name).history, owner }
}

/** How to connect from inside the cluster, or through the load balancer. */
export async function readConnectionString(
  context: Context,
  from: 'inside' | 'outside',
): Promise<Answer<ConnectionString>> {
  const { object } = await findResource(RelationalCluster, context)
  const { namespace = '', name } = object.metadata
  const host = from === 'inside' ? serviceHost(relationalNames(name).primary, namespace) : publicHost(object)
  const served = servedBy(object, context.services)
  const names = relationalNames(served.metadata.name)
  const { secrets } = context.services.relational
  const [owner, authority] = await Promise.all([
    secrets.read(namespace, names.owner),
    secrets.read(namespace, authoritySecret(names.cluster)),
  ])
  const [username, password] = [text(owner, OWNER_SECRET_KEYS.username), text(owner, OWNER_SECRET_KEYS.password)]
  if (username === undefined || password === undefined) throw notYet(object, 'The password')
  const database = served.status?.origin?.databaseName ?? served.spec.databaseName
  const parts = { host, port: RELATIONAL_PORT, database, username, password }
  const { uri, jdbc, adoNet } = connectionForms(parts)
  const inside = (service: string, isThere: boolean) =>
    from === 'inside' && isThere ? connectionForms({ ...parts, host: serviceHost(service, namespace) }).uri : null
  return ok(
    {
      connectionString: uri,
      jdbcUrl: jdbc,
      adoNetString: adoNet,
      ...parts,
      readOnlyConnectionString: inside(relationalNames(name).replicas, (object.spec.replicas ?? 1) > 1),
      pooledConnectionString: inside(names.pooler, served.spec.enablePooler),
      sslMode: SSL_MODE,
      caCertificate: text(authority, 'ca.crt') ?? null,
    },
    { headers: NO_STORE },
  )
}

export function externalAddress(object: RelationalObject): ExternalAddressDto {
  return loadBalancerAddress(object, { name: 'postgresql', port: RELATIONAL_PORT })
}

export const RelationalHealthDto = z
  .object({
    ...healthReportFields,
    replicationLagBytes: z.int().nullable(),
    databaseSizeBytes: z.int().nullable(),
  })
  .meta({ id: 'RelationalHealthReport' })

type State = HealthCheckDto['status']
type Said = { name: string; status: State; message: string | null }

/** What the engine last said of itself; it is told over a watch, so nothing is asked. */
export function relationalHealth(object: RelationalObject, services: Services): z.output<typeof RelationalHealthDto> {
  const checkedAt = timestamp(services.clock.now())
  const checks = object.spec.running ? runningChecks(object) : stoppedChecks()
  const known = checks.filter(({ status }) => status !== 'Unknown')
  const worst = (['Unhealthy', 'Degraded'] as const).find((state) => known.some(({ status }) => status === state))
  const status: State = worst ?? (known.length === 0 ? 'Unknown' : 'Healthy')
  const speaker = checks.find((check) => check.status === status && check.message !== null)
  return {
    status,
    checkedAt,
    message: status === 'Healthy' ? null : (speaker?.message ?? null),
    checks: checks.map((check) => ({ ...check, durationMs: null, observedAt: checkedAt })),
    replicationLagBytes: null,
    databaseSizeBytes: null,
  }
}

const CHECKS = ['Primary', 'Replicas', 'Archiving', 'Backup', 'Disk'] as const

function stoppedChecks(): Said[] {
  const message = 'It is stopped: there is nothing to ask.'
  return CHECKS.map((name) => ({ name, status: 'Unknown', message }))
}

function runningChecks({ spec, status }: RelationalObject): Said[] {
  const ready = status?.readyReplicas ?? 0
  const wanted = spec.replicas ?? 1
  const primary: Said =
    ready > 0 && status?.currentPrimary !== undefined
      ? { name: 'Primary', status: 'Healthy', message: null }
      : { name: 'Primary', status: 'Unhealthy', message: 'There is no primary that is ready.' }
  const replicas: Said = {
    name: 'Replicas',
    status: ready >= wanted ? 'Healthy' : 'Degraded',
    message: ready >= wanted ? null : `${ready} of ${wanted} instances are ready.`,
  }
  return [
    primary,
    replicas,
    archivingCheck(status),
    backupCheck(status),
    { name: 'Disk', status: 'Unknown', message: 'The engine does not tell how full its volumes are.' },
  ]
}

function archivingCheck(status: RelationalObject['status']): Said {
  const name = 'Archiving'
  switch (status?.archiving) {
    case 'Healthy':
      return { name, status: 'Healthy', message: null }
    case 'Failing':
      return { name, status: 'Degraded', message: status.archivingMessage ?? 'The log cannot be archived.' }
    case 'Suspended':
      return { name, status: 'Degraded', message: 'The archive of the log is suspended.' }
    default:
      return { name, status: 'Unknown', message: 'Nothing is backed up.' }
  }
}

function backupCheck(status: RelationalObject['status']): Said {
  const name = 'Backup'
  if (status?.backupMessage !== undefined) return { name, status: 'Degraded', message: status.backupMessage }
  if (status?.lastBackupAt !== undefined) return { name, status: 'Healthy', message: null }
  return { name, status: 'Unknown', message: 'There is no backup yet.' }
}
