import type { z } from 'zod'
import {
  decodePasswords,
  SQL_DIALECTS,
  SQL_PORTS,
  SQL_USERS,
  sqlConnectionForms,
  sqlHost,
  sqlNames,
  sqlPod,
} from '../../contracts/sql.ts'
import { timestamp } from '../../core/clock.ts'
import { PlatformError } from '../../core/errors.ts'
import { SqlInstance } from '../../crds/sql.ts'
import type { SqlLevel } from '../../editor/classification.ts'
import { type ConnectionString, loadBalancerAddress, notYetCreated, publicHost } from '../databases/databaseAccess.ts'
import { type EditorDatabase, type EditorEngine, historyAt } from '../databases/editor/editorDatabase.ts'
import { type Answer, NO_STORE, ok } from '../http/answer.ts'
import type { Context, Services } from '../http/context.ts'
import type { ExternalAddressDto, HealthReportDto } from '../resources/dto.ts'
import { findResource, otherClusterOf } from '../resources/find.ts'
import { type Check, check, healthReport } from '../resources/healthReport.ts'
import type { SqlObject } from './record.ts'

async function passwordsOf(object: SqlObject, services: Services) {
  const { namespace = '', name } = object.metadata
  const clusterId = otherClusterOf(services, object.spec.clusterId)
  const passwords = decodePasswords(await services.sql.secrets.read(namespace, sqlNames(name).logins, clusterId))
  if (passwords === undefined) throw notYetCreated(object, 'The password')
  return passwords
}

/** Returns how to connect from inside the cluster, or through the load balancer; never as the administrator. */
export async function readConnectionString(
  context: Context,
  from: 'inside' | 'outside',
): Promise<Answer<ConnectionString>> {
  const { object } = await findResource(SqlInstance, context)
  const { namespace = '', name } = object.metadata
  const host = from === 'inside' ? sqlHost(namespace, name) : publicHost(object)
  const passwords = await passwordsOf(object, context.services)
  const owner = { host, user: SQL_USERS.owner, password: passwords.owner }
  return ok(
    {
      ...sqlConnectionForms(object.spec, owner),
      host,
      port: SQL_PORTS[object.spec.engine],
      database: object.spec.databaseName,
      username: owner.user,
      password: owner.password,
      readOnlyConnectionString: sqlConnectionForms(object.spec, {
        host,
        user: SQL_USERS.reader,
        password: passwords.reader,
      }).connectionString,
      pooledConnectionString: null,
      sslMode: object.spec.engine === 'MsSql' ? 'require' : 'prefer',
      caCertificate: null,
    },
    { headers: NO_STORE },
  )
}

export function externalAddress(object: SqlObject): ExternalAddressDto {
  return loadBalancerAddress(object, { name: 'sql', port: SQL_PORTS[object.spec.engine] })
}

const HEALTH_TIMEOUT_MS = 4_000

/** Returns what pod and engine report. Always succeeds, even if the engine does not answer. */
export async function sqlHealth(object: SqlObject, context: Context): Promise<z.output<typeof HealthReportDto>> {
  const { clock, sql } = context.services
  const checkedAt = timestamp(clock.now())
  if (!object.spec.running)
    return healthReport(checkedAt, [check('Engine', 'Unknown', 'It is stopped, so its health is unknown.')])
  const isReady = (object.status?.readyReplicas ?? 0) > 0
  if (!isReady) return healthReport(checkedAt, [check('Pod', 'Unhealthy', 'The pod is not ready.')])
  const began = clock.monotonic()
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(HEALTH_TIMEOUT_MS)])
  const engine = (...outcome: [Check['status'], string?]) =>
    healthReport(checkedAt, [
      check('Pod', 'Healthy'),
      check('Engine', outcome[0], outcome[1], Math.round(clock.monotonic() - began)),
    ])
  try {
    const editorEngine = await editorDatabase(object, context).open()
    await sql.engines[object.spec.engine].describe(editorEngine.target('reader'), { signal })
    return engine('Healthy')
  } catch {
    return engine('Degraded', 'The engine did not answer.')
  }
}

const ACTIONS = { reader: 'sqlcluster/dataRead', writer: 'sqlcluster/dataWrite', owner: 'sqlcluster/write' } as const

export function historyOf(object: SqlObject, { sql }: Services): EditorDatabase['history'] {
  const { name } = object.metadata
  return historyAt(SqlInstance, object, {
    blobs: sql.blobs,
    name: sqlNames(name).history,
  })
}

export function editorDatabase(object: SqlObject, { services }: Pick<Context, 'services'>): EditorDatabase {
  const { engine, databaseName: database } = object.spec
  return {
    dialect: SQL_DIALECTS[engine],
    database,
    actionOf: (level: SqlLevel) => ACTIONS[level],
    history: historyOf(object, services),
    open: () => openEditor(object, services),
  }
}

async function openEditor(object: SqlObject, services: Services): Promise<EditorEngine> {
  const { namespace = '', name } = object.metadata
  const { engine, databaseName: database, running } = object.spec
  if (!running) throw new PlatformError('INSTANCE_STOPPED', `"${name}" is stopped; start it first.`)
  const passwords = await passwordsOf(object, services)
  const clusterId = otherClusterOf(services, object.spec.clusterId)
  const place = {
    dialect: SQL_DIALECTS[engine],
    host: sqlHost(namespace, name),
    port: SQL_PORTS[engine],
    database,
    ...(clusterId !== undefined && { through: { clusterId, namespace, pod: sqlPod(name) } }),
  }
  return {
    engine: services.sql.engines[engine],
    target: (level: SqlLevel) => ({ ...place, user: SQL_USERS[level], password: passwords[level] }),
  }
}
