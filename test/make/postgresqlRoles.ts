import type { KubeObject } from '../../src/core/object.ts'
import { quoteIdentifier } from '../../src/editor/names.ts'
import { secret } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { postgresqlCluster } from '../../src/kube/postgresql.ts'
import type { SqlServer } from '../cluster/sqlServers.ts'

type Cluster = KubeObject & {
  spec: {
    bootstrap: { initdb: { database: string; owner: string; secret: { name: string } } }
    managed: {
      roles: { name: string; login?: boolean; connectionLimit?: number; passwordSecret: { name: string } }[]
    }
  }
}

/**
 * Does in a real PostgreSQL what CloudNativePG does for a Cluster: creates the owner and its database, and the managed
 * roles with the passwords of their Secrets, from the objects alone, like the operator.
 */
export async function makeRoles(
  admin: KubeClient,
  server: SqlServer,
  { namespace, name }: { namespace: string; name: string },
): Promise<void> {
  const { spec } = await admin.get<Cluster>(postgresqlCluster, { namespace, name })
  const passwordOf = async (user: string, secretName: string) => {
    const found = await admin.get<KubeObject & { type: string; data: Record<string, string> }>(secret, {
      namespace,
      name: secretName,
    })
    const [username, password] = ['username', 'password'].map((entry) =>
      Buffer.from(found.data[entry] ?? '', 'base64').toString(),
    )
    if (found.type !== 'kubernetes.io/basic-auth' || username !== user || !password)
      throw new Error(`Secret ${secretName} is not the one of ${user}.`)
    return password.replaceAll("'", "''")
  }
  const { database, owner, secret: ofOwner } = spec.bootstrap.initdb
  const quotedName = (text: string) => quoteIdentifier('postgresql', text)
  const session = await server.driver.open(server.target, { isReadOnly: false, timeoutMilliseconds: 10_000 })
  try {
    await session.query(`CREATE ROLE ${quotedName(owner)} LOGIN PASSWORD '${await passwordOf(owner, ofOwner.name)}'`)
    await session.query(`CREATE DATABASE ${quotedName(database)} OWNER ${quotedName(owner)}`)
    for (const { name: role, login, connectionLimit = -1, passwordSecret } of spec.managed.roles) {
      const password = await passwordOf(role, passwordSecret.name)
      const may = login === true ? 'LOGIN' : 'NOLOGIN'
      await session.query(
        `CREATE ROLE ${quotedName(role)} ${may} CONNECTION LIMIT ${connectionLimit} PASSWORD '${password}'`,
      )
    }
  } finally {
    session.close()
  }
}
