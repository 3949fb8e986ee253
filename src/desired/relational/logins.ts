import { relationalUsers } from '../../contracts/relational.ts'
import { secretData } from '../../core/secretData.ts'
import type { RelationalCluster } from '../../crds/relational.ts'
import { secret } from '../workload/child.ts'
import { type RelationalInput, relationalShared } from './types.ts'

/** Makes CloudNativePG set a changed password at once instead of at its next check (CloudNativePG, roles). */
const RELOAD_LABEL = 'cnpg.io/reload'

/** Connection limit of an editor login, so that a busy editor leaves connections for applications. */
const EDITOR_CONNECTIONS = 20

export const LOGINS = ['owner', 'writer', 'reader'] as const
export type Login = (typeof LOGINS)[number]

/** The Secret of a login, in the form that CloudNativePG expects (kubernetes.io/basic-auth). */
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
 * The logins of the editor. They are members of no role: `pg_read_all_data` would expose `pg_authid` and with it
 * password hashes. The owner grants their rights table by table.
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
