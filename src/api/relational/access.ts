import {
  caSecretName,
  connectionForms,
  OWNER_SECRET_KEYS,
  RELATIONAL_PORT,
  relationalNames,
  SSL_MODE,
  serviceHost,
} from '../../contracts/relational.ts'
import { type SecretData, secretText } from '../../core/secretData.ts'
import { RelationalCluster } from '../../crds/relational.ts'
import { type ConnectionString, loadBalancerAddress, notYetCreated, publicHost } from '../databases/databaseAccess.ts'
import { type Answer, NO_STORE, ok } from '../http/answer.ts'
import type { Context, Services } from '../http/context.ts'
import type { ExternalAddressDto } from '../resources/dto.ts'
import { findResource, otherClusterOf } from '../resources/find.ts'
import type { RelationalObject } from './record.ts'

/** Returns the database that the connection Services lead to: a restored one if it has taken over the name. */
function servingDatabase(object: RelationalObject, { records }: Services): RelationalObject {
  const { connectTo } = object.spec
  if (connectTo === undefined) return object
  return records.peek(RelationalCluster, { namespace: object.metadata.namespace, name: connectTo }) ?? object
}

/** Returns user name and password in the Secret of a login; undefined if either is missing. */
export function loginOf(data: SecretData | undefined): { username: string; password: string } | undefined {
  const [username, password] = [
    secretText(data, OWNER_SECRET_KEYS.username),
    secretText(data, OWNER_SECRET_KEYS.password),
  ]
  return username === undefined || password === undefined ? undefined : { username, password }
}

/** Returns how to connect from inside the cluster, or through the load balancer. */
export async function readConnectionString(
  context: Context,
  from: 'inside' | 'outside',
): Promise<Answer<ConnectionString>> {
  const { object } = await findResource(RelationalCluster, context)
  const { namespace = '', name } = object.metadata
  const host = from === 'inside' ? serviceHost(relationalNames(name).primary, namespace) : publicHost(object)
  const serving = servingDatabase(object, context.services)
  const names = relationalNames(serving.metadata.name)
  const { secrets } = context.services.relational
  const clusterId = otherClusterOf(context.services, serving.spec.clusterId)
  const [owner, authority] = await Promise.all([
    secrets.read(namespace, names.owner, clusterId),
    secrets.read(namespace, caSecretName(names.cluster), clusterId),
  ])
  const login = loginOf(owner)
  if (login === undefined) throw notYetCreated(object, 'The password')
  const database = serving.status?.origin?.databaseName ?? serving.spec.databaseName
  const parts = { host, port: RELATIONAL_PORT, database, ...login }
  const { uri, jdbc, adoNet } = connectionForms(parts)
  const internalUri = (service: string, exists: boolean) =>
    from === 'inside' && exists ? connectionForms({ ...parts, host: serviceHost(service, namespace) }).uri : null
  return ok(
    {
      connectionString: uri,
      jdbcUrl: jdbc,
      adoNetString: adoNet,
      ...parts,
      readOnlyConnectionString: internalUri(relationalNames(name).replicas, (object.spec.replicas ?? 1) > 1),
      pooledConnectionString: internalUri(names.pooler, serving.spec.enablePooler),
      sslMode: SSL_MODE,
      caCertificate: secretText(authority, 'ca.crt') ?? null,
    },
    { headers: NO_STORE },
  )
}

export function externalAddress(object: RelationalObject): ExternalAddressDto {
  return loadBalancerAddress(object, { name: 'postgresql', port: RELATIONAL_PORT })
}
