import type { SqlTarget } from '../../adapters/sql/port.ts'
import { authoritySecret, engineHost, RELATIONAL_PORT, relationalNames } from '../../contracts/relational.ts'
import { readSecret } from '../workload/secrets.ts'
import type { RelationalPass } from './types.ts'

/** Where a database answers its owner. Without an authority nothing is said to it: the engine has not made one yet. */
export async function ownerTarget(
  pass: Pick<RelationalPass, 'workloads'>,
  { namespace, name, database }: { namespace: string; name: string; database: string },
  { username: user, password }: { username: string; password: string },
): Promise<SqlTarget> {
  const authority = await readSecret(pass, namespace, authoritySecret(relationalNames(name).cluster))
  return {
    dialect: 'postgresql',
    host: engineHost(namespace, name),
    port: RELATIONAL_PORT,
    database,
    user,
    password,
    certificateAuthority: Buffer.from(authority?.data?.['ca.crt'] ?? '', 'base64').toString('utf8'),
  }
}
