import { accessKeySecretName, consumerKeyName, decodeAccessKey } from '../../contracts/objectstorage.ts'
import { isLocalOutput, type ResourceOutput } from '../../contracts/references.ts'
import {
  connectionForms,
  OWNER_SECRET_KEYS,
  RELATIONAL_PORT,
  relationalNames,
  serviceHost,
} from '../../contracts/relational.ts'
import { decodePasswords, SQL_PORTS, SQL_USERS, sqlConnectionForms, sqlHost, sqlNames } from '../../contracts/sql.ts'
import { decodeVectorKeys, vectorEndpoints, vectorNames } from '../../contracts/vector.ts'
import type { KubeObject, ObjectMeta } from '../../core/object.ts'
import { type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { secretText } from '../../core/secretData.ts'
import { PlatformApp } from '../../crds/apps.ts'
import { ContainerInstance } from '../../crds/containerinstances.ts'
import type { AnyKind } from '../../crds/define.ts'
import { FunctionNamespace } from '../../crds/functions.ts'
import { ObjectAccessKey, ObjectStorageAccount } from '../../crds/objectstorage.ts'
import { RelationalCluster } from '../../crds/relational.ts'
import { SqlInstance } from '../../crds/sql.ts'
import { StaticWebApp } from '../../crds/staticwebapps.ts'
import { VectorCluster } from '../../crds/vector.ts'
import type { Pass } from '../engine/controller.ts'
import { otherClusterOf } from '../engine/workloadLocation.ts'
import { refOfPass } from './pass.ts'
import { readSecret } from './secrets.ts'

/** Kinds with outputs, by collection. */
export const OUTPUT_KINDS: Readonly<Record<ResourceOutput['collection'], AnyKind>> = {
  vectorclusters: VectorCluster,
  relationalclusters: RelationalCluster,
  sqlclusters: SqlInstance,
  containerinstances: ContainerInstance,
  apps: PlatformApp,
  staticwebapps: StaticWebApp,
  functionnamespaces: FunctionNamespace,
  objectstorageaccounts: ObjectStorageAccount,
}

type OutputPass = Pick<Pass, 'records' | 'workloads'> & { object: { metadata: ObjectMeta } }
type Outputs = Readonly<Record<string, string | undefined>>

/** Returns an output of another resource in the group, or why there is none yet. */
export async function outputValue(
  pass: OutputPass,
  { collection, name, output }: ResourceOutput,
): Promise<string | Outcome> {
  const { namespace } = refOfPass(pass)
  const kind = OUTPUT_KINDS[collection]
  const found = pass.records.cache(kind.resource).get(namespace, name)
  // By its kind, which both kubectl and the command line know, and not by the collection of REST.
  const subject = `${kind.kind} "${name}"`
  if (found === undefined || found.metadata.deletionTimestamp !== undefined)
    return stalled('ReferenceMissing', `There is no ${subject} in this group.`)
  const isElsewhere = otherClusterOf(found, pass.records) !== otherClusterOf(pass.object, pass.records)
  if (isElsewhere && isLocalOutput(collection))
    return stalled('ConfigurationInvalid', `${subject} runs on another cluster, and its address works only there.`)
  const value = (await READERS[collection](pass, found))[output]
  return value ?? waiting('WaitingForDependency', `${subject} has no ${output} yet.`)
}

const READERS: Record<ResourceOutput['collection'], (pass: OutputPass, object: KubeObject) => Promise<Outputs>> = {
  async vectorclusters(pass, { metadata: { name } }) {
    const { namespace } = refOfPass(pass)
    const keys = decodeVectorKeys((await readSecret(pass, namespace, vectorNames(name).keys))?.data)
    const { rest, grpc } = vectorEndpoints(namespace, name)
    return { restEndpoint: rest, grpcEndpoint: grpc, apiKey: keys?.current?.apiKey }
  },
  async relationalclusters(pass, object) {
    const { name, namespace = '' } = object.metadata
    const { spec, status } = object as unknown as RelationalCluster
    const login = await readSecret(pass, namespace, relationalNames(name).owner)
    const database = status?.origin?.databaseName ?? spec.databaseName
    const host = serviceHost(relationalNames(name).primary, namespace)
    const [username, password] = [
      secretText(login?.data, OWNER_SECRET_KEYS.username),
      secretText(login?.data, OWNER_SECRET_KEYS.password),
    ]
    const plain = { host, port: String(RELATIONAL_PORT), database, username }
    if (username === undefined || password === undefined) return plain
    const { uri, jdbc } = connectionForms({ host, port: RELATIONAL_PORT, database, username, password })
    return { ...plain, password, connectionString: uri, jdbcUrl: jdbc }
  },
  async sqlclusters(pass, object) {
    const { name, namespace = '' } = object.metadata
    const { spec } = object as unknown as SqlInstance
    const password = decodePasswords((await readSecret(pass, namespace, sqlNames(name).logins))?.data)?.owner
    const [host, username] = [sqlHost(namespace, name), SQL_USERS.owner]
    const plain = { host, port: String(SQL_PORTS[spec.engine]), database: spec.databaseName, username }
    return password === undefined
      ? plain
      : { ...plain, password, ...sqlConnectionForms(spec, { host, user: username, password }) }
  },
  containerinstances: publicUrl,
  apps: publicUrl,
  staticwebapps: publicUrl,
  functionnamespaces: publicUrl,
  async objectstorageaccounts(pass, { metadata: { name }, status }) {
    const { endpoint, regionName } = (status ?? {}) as NonNullable<ObjectStorageAccount['status']>
    const { namespace } = refOfPass(pass)
    const key = consumerKeyName(pass.object.metadata, name)
    // A key that is inactive or being deleted grants nothing.
    const found = pass.records.cache(ObjectAccessKey).get(namespace, key)
    const isActive = found?.status?.state === 'Active' && found.metadata.deletionTimestamp === undefined
    const pair = isActive
      ? decodeAccessKey((await readSecret({ workloads: pass.records }, namespace, accessKeySecretName(key)))?.data)
      : undefined
    return { endpoint, regionName, ...pair }
  },
}

async function publicUrl(_pass: OutputPass, { status }: KubeObject): Promise<Outputs> {
  return { publicUrl: (status as { publicUrl?: string } | undefined)?.publicUrl }
}
