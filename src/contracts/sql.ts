import { adoNetString } from '../core/adoNet.ts'
import type { FieldError } from '../core/errors.ts'
import { hostInUrl } from '../core/hostInUrl.ts'
import { childName } from '../core/names.ts'
import { compareQuantities, parseQuantity } from '../core/quantity.ts'
import { type SecretData, secretData, secretText } from '../core/secretData.ts'

/**
 * What the facade and the controller of SQL instances share: names of children, ports, logins and the layout of their
 * Secrets. No other code may guess these.
 */
export const SQL_ENGINES = ['MsSql', 'MariaDb'] as const
export type SqlEngineName = (typeof SQL_ENGINES)[number]

export const SQL_PORTS: Readonly<Record<SqlEngineName, number>> = { MsSql: 1433, MariaDb: 3306 }
export const SQL_DIALECTS = { MsSql: 'mssql', MariaDb: 'mariadb' } as const
/** Never handed out, and never used for requests of callers. */
export const ADMIN_USERS: Readonly<Record<SqlEngineName, string>> = { MsSql: 'sa', MariaDb: 'root' }
/** The user of connection strings owns the database; the two others serve the editor. */
export const SQL_USERS = { owner: 'app', writer: 'app_writer', reader: 'app_reader' } as const

/** SQL Server does not start with less. */
export const MSSQL_MEMORY = '2Gi'

const MILLI_PER_MIB = 1024n * 1024n * 1000n

/** Returns the default memory of an engine, in MiB; the rest is for connections and the container. */
export function defaultEngineMemoryMb(memoryLimit: string): number {
  return Number(((parseQuantity(memoryLimit) / MILLI_PER_MIB) * 80n) / 100n)
}

/** Returns why an engine cannot run with this memory limit, which the spec or its plan sets; undefined if it can. */
export function memoryObstacle(
  { engine, memoryLimitMb }: { engine: SqlEngineName; memoryLimitMb?: number | undefined },
  memoryLimit: string,
): FieldError | undefined {
  if (engine === 'MsSql' && compareQuantities(memoryLimit, MSSQL_MEMORY) < 0) {
    const message = `must be at least ${MSSQL_MEMORY} for MsSql, which does not start with ${memoryLimit}`
    return { field: 'memoryLimit', message }
  }
  if (memoryLimitMb === undefined || compareQuantities(`${memoryLimitMb}Mi`, memoryLimit) <= 0) return undefined
  const message = `must not be more than memoryLimit, which is ${memoryLimit}: the container would be killed`
  return { field: 'memoryLimitMb', message }
}

export function sqlNames(name: string) {
  return {
    workload: childName('sqli', name),
    /** Headless Service of the only pod. */
    peers: childName('sqlipeers', name),
    publicService: childName('sqlipublic', name),
    config: childName('sqli', name, 'config'),
    logins: childName('sqli', name, 'logins'),
    license: childName('sqli', name, 'license'),
    history: childName('sqli', name, 'history'),
  }
}

/** Name of the only pod. */
export const sqlPod = (name: string) => `${sqlNames(name).workload}-0`

export function sqlHost(namespace: string, name: string): string {
  return `${sqlNames(name).workload}.${namespace}.svc`
}

export type SqlPasswords = { admin: string; owner: string; writer: string; reader: string }
const PASSWORDS = ['admin', 'owner', 'writer', 'reader'] as const

export const passwordEntry = (login: keyof SqlPasswords) => `${login}-password`

/** The `data` of the Secret of the logins. */
export function encodePasswords(passwords: SqlPasswords): SecretData {
  return secretData(Object.fromEntries(PASSWORDS.map((login) => [passwordEntry(login), passwords[login]])))
}

/** Decodes the passwords that are present. */
export function decodeSomePasswords(data: SecretData | undefined): Partial<SqlPasswords> {
  const found = PASSWORDS.map((login) => [login, secretText(data, passwordEntry(login))] as const)
  return Object.fromEntries(found.filter(([, text]) => text !== undefined))
}

/** Returns undefined if one is missing, since without it nobody gets in. */
export function decodePasswords(data: SecretData | undefined): SqlPasswords | undefined {
  const found = decodeSomePasswords(data)
  return hasAllPasswords(found) ? found : undefined
}

export function hasAllPasswords(found: Partial<SqlPasswords>): found is SqlPasswords {
  return PASSWORDS.every((login) => found[login] !== undefined)
}

/** A product key, and who set it when. Keys are numbered, so that the previous one can replace a rejected one. */
export type ProductKey = { key: string; setAt: string; setBy: string }

export const productKeyEntry = (version: number) => `product-key.v${version}`

export function encodeProductKey(version: number, { key, setAt, setBy }: ProductKey): SecretData {
  return secretData({
    [productKeyEntry(version)]: key,
    [`set-at.v${version}`]: setAt,
    [`set-by.v${version}`]: setBy,
  })
}

export function decodeProductKey(data: SecretData | undefined, version: number): ProductKey | undefined {
  const key = secretText(data, productKeyEntry(version))
  if (key === undefined) return undefined
  return {
    key,
    setAt: secretText(data, `set-at.v${version}`) ?? '',
    setBy: secretText(data, `set-by.v${version}`) ?? '',
  }
}

/** Returns one connection in the formats of drivers. */
export function sqlConnectionForms(
  { engine, databaseName: database }: { engine: SqlEngineName; databaseName: string },
  { host, user, password }: { host: string; user: string; password: string },
) {
  const port = SQL_PORTS[engine]
  const shown = hostInUrl(host)
  const scheme = engine === 'MsSql' ? 'sqlserver' : 'mariadb'
  const credentials = `${encodeURIComponent(user)}:${encodeURIComponent(password)}`
  return {
    connectionString: `${scheme}://${credentials}@${shown}:${port}/${database}`,
    jdbcUrl:
      engine === 'MsSql'
        ? `jdbc:${scheme}://${shown}:${port};databaseName=${database};user=${user};password={${password.replaceAll('}', '}}')}};encrypt=true;trustServerCertificate=true`
        : `jdbc:${scheme}://${shown}:${port}/${database}?user=${encodeURIComponent(user)}&password=${encodeURIComponent(password)}`,
    adoNetString: adoNetString(
      engine === 'MsSql'
        ? {
            ...{ Server: `${host},${port}`, Database: database, 'User Id': user, Password: password },
            ...{ Encrypt: 'True', TrustServerCertificate: 'True' },
          }
        : { Server: host, Port: port, Database: database, 'User ID': user, Password: password },
    ),
  }
}
