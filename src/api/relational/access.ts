import { z } from 'zod'
import { summarize } from '../../core/conditions.ts'
import { PlatformError } from '../../core/errors.ts'
import {
  authoritySecret,
  connectionForms,
  OWNER_SECRET_KEYS,
  RELATIONAL_PORT,
  relationalNames,
  SSL_MODE,
  serviceHost,
} from '../../core/relational.ts'
import { RelationalCluster } from '../../crds/relational.ts'
import { type Answer, ok } from '../answer.ts'
import type { Context, Services } from '../context.ts'
import type { ExternalAddressDto } from '../dto.ts'
import { findResource } from '../findResource.ts'
import type { RelationalObject } from './record.ts'

export const ConnectionStringDto = z
  .object({
    connectionString: z.string().describe('As a URI'),
    jdbcUrl: z.string(),
    adoNetString: z.string(),
    host: z.string(),
    database: z.string(),
    username: z.string(),
    password: z.string(),
    port: z.int(),
    readOnlyConnectionString: z.string().nullable().describe('To the replicas, where there are any'),
    pooledConnectionString: z.string().nullable().describe('Through the pooler, where it is on'),
    sslMode: z.string(),
    caCertificate: z.string().nullable().describe('PEM, of the authority that signed the certificate of the server'),
  })
  .meta({ id: 'ConnectionStringDto' })
type ConnectionString = z.output<typeof ConnectionStringDto>

/** Secrets must not stay in caches on the way. */
const NO_STORE = { 'cache-control': 'no-store' }

export function notYet(object: RelationalObject, what: string): PlatformError {
  const { status, phase } = summarize(object.status, object.metadata.deletionTimestamp !== undefined)
  return new PlatformError('INVALID_STATE', `${what} of "${object.metadata.name}" is not there yet.`, { status, phase })
}

/** The database that the connection Services lead to: another one where that has taken the name over. */
function servedBy(object: RelationalObject, { records }: Services): RelationalObject {
  const { connectTo } = object.spec
  if (connectTo === undefined) return object
  return records.peek(RelationalCluster, { namespace: object.metadata.namespace, name: connectTo }) ?? object
}

export const textOf = (data: Readonly<Record<string, string>> | undefined, entry: string) =>
  data?.[entry] === undefined ? undefined : Buffer.from(data[entry], 'base64').toString('utf8')

/** Name and password out of a Secret of a login; undefined where one is missing. */
export function loginOf(
  data: Readonly<Record<string, string>> | undefined,
): { username: string; password: string } | undefined {
  const [username, password] = [textOf(data, OWNER_SECRET_KEYS.username), textOf(data, OWNER_SECRET_KEYS.password)]
  return username === undefined || password === undefined ? undefined : { username, password }
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
  const login = loginOf(owner)
  if (login === undefined) throw notYet(object, 'The password')
  const database = served.status?.origin?.databaseName ?? served.spec.databaseName
  const parts = { host, port: RELATIONAL_PORT, database, ...login }
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
      caCertificate: textOf(authority, 'ca.crt') ?? null,
    },
    { headers: NO_STORE },
  )
}

function publicHost(object: RelationalObject): string {
  if (!object.spec.enableLoadBalancer) {
    throw new PlatformError('LOAD_BALANCER_DISABLED', `"${object.metadata.name}" has no load balancer.`)
  }
  const [address] = object.status?.externalAddresses ?? []
  if (address === undefined) throw notYet(object, 'The address')
  return address
}

export function externalAddress({ spec, status, metadata }: RelationalObject): ExternalAddressDto {
  const isEnabled = spec.enableLoadBalancer
  const summary = summarize(status, metadata.deletionTimestamp !== undefined)
  const addresses = [...(status?.externalAddresses ?? [])]
  const isName = (address: string) => /[a-z]/i.test(address) && !address.includes(':')
  const pending = summary.status === 'Failed' ? 'Failed' : 'Pending'
  const state = !isEnabled ? 'Disabled' : addresses.length > 0 ? 'Ready' : pending
  return {
    enabled: isEnabled,
    status: state,
    hostname: isEnabled ? (addresses.find(isName) ?? null) : null,
    ipAddresses: isEnabled ? addresses.filter((address) => !isName(address)) : [],
    ports: isEnabled ? [{ name: 'postgresql', port: RELATIONAL_PORT, protocol: 'TCP' }] : [],
    message: state === 'Pending' || state === 'Failed' ? summary.statusMessage : null,
  }
}
