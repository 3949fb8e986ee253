import type { SqlTarget } from '../../adapters/sql/port.ts'
import { caSecretName, engineHost, RELATIONAL_PORT, relationalNames } from '../../contracts/relational.ts'
import { secretText } from '../../core/secretData.ts'
import type { Workspace } from '../engine/controller.ts'
import { readSecret } from '../workload/secrets.ts'

/** A database and where it runs. */
type DatabaseTarget = {
  namespace: string
  name: string
  database: string
  workloads: Workspace
  /** Its cluster, if not the platform's own, and the primary there. */
  clusterId: string | undefined
  primary: string | undefined
}

/** Returns the connection of a database's owner. It fails to open until the engine has created a CA. */
export async function ownerTarget(
  { namespace, name, database, workloads, clusterId, primary = '' }: DatabaseTarget,
  { username: user, password }: { username: string; password: string },
): Promise<SqlTarget> {
  const authority = await readSecret({ workloads }, namespace, caSecretName(relationalNames(name).cluster))
  return {
    dialect: 'postgresql',
    host: engineHost(namespace, name),
    port: RELATIONAL_PORT,
    database,
    user,
    password,
    certificateAuthority: secretText(authority?.data, 'ca.crt') ?? '',
    ...(clusterId !== undefined && { through: { clusterId, namespace, pod: primary } }),
  }
}
