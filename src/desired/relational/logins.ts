import { relationalUsers } from '../../contracts/relational.ts'
import { secretData } from '../../core/secretData.ts'
import type { RelationalCluster } from '../../crds/relational.ts'
import { secret } from '../workload/child.ts'
import { type RelationalInput, relationalShared } from './types.ts'

/** A Secret that says so has its password set at once, and not when the engine next looks (CloudNativePG, roles). */
const RELOAD_LABEL = 'cnpg.io/reload'

/** An editor that is used by many must not take the connections that the applications need. */
const EDITOR_CONNECTIONS = 20

export const LOGINS = ['owner', 'writer', 'reader'] as const
export type Login = (typeof LOGINS)[number]

/** Name and password of a login, in the form that CloudNativePG takes (kubernetes.io/basic-auth). */
export function loginSecret(
  cluster: RelationalCluster,
  login: Login,
  { username, password }: { username: string; password: string },
) {
  const shared = relationalShared(cluster)
  const data = secretData({ username, password })
  return secret(shared, shared.names[login], data, {
    type: 'kubernetes.io/basic-auth',
    labels: { [RELOAD_LABEL]: 'true' },
  })
}

/**
 * The logins of the editor. They are members of nothing: `pg_read_all_data` would show them `pg_authid` and what other
 * roles' passwords can be guessed from. What they may do is granted by the owner, table by table.
 */
export function editorRoles(input: RelationalInput): object[] {
  const { cluster, origin, names } = input
  const users = relationalUsers(origin?.ownerName ?? cluster.spec.ownerName)
  return (['reader', 'writer'] as const).map((login) => ({
    name: users[login],
    ensure: 'present',
    login: true,
    connectionLimit: EDITOR_CONNECTIONS,
    passwordSecret: { name: names[login] },
  }))
}
