import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { choosePorts } from '../../scripts/controlplane/ports.ts'
import { waitUntil } from '../../scripts/controlplane/request.ts'
import type { SqlDriver } from '../../src/adapters/sql/driver.ts'
import { mariadbDriver } from '../../src/adapters/sql/mariadb.ts'
import type { SqlTarget } from '../../src/adapters/sql/port.ts'
import { postgresqlDriver } from '../../src/adapters/sql/postgresql.ts'
import { createAuthority, issueCertificate } from '../../src/composition/certificates.ts'
import { debianIsMissing, folderOnPath, unpackDebian } from './debian.ts'

export type SqlServer = {
  /** As administrator. */
  target: SqlTarget
  driver: SqlDriver
  stop(): Promise<void>
}

const START_DEADLINE = 120_000
const MARIADB_PACKAGES = ['mariadb-server', 'mariadb-server-core', 'mariadb-common', 'libaio1', 'liburing2', 'libnuma1']
const POSTGRESQL_PACKAGES = ['postgresql-15', 'libpq5', 'libllvm14', 'libxml2', 'libicu72', 'libldap-2.5-0']

/** Why the server cannot run here; undefined if it can. */
export function mariadbIsMissing(): string | undefined {
  return folderOnPath('mariadbd') === undefined ? debianIsMissing('mariadb') : undefined
}

export function postgresqlIsMissing(): string | undefined {
  return folderOnPath('initdb') === undefined ? debianIsMissing('postgresql') : undefined
}

/** Servers refuse to run as root, so a test that does uses the account that owns nothing. */
function account(name: string): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const id = (flag: string) => Number(spawnSync('id', [flag, name], { encoding: 'utf8' }).stdout)
  return { uid: id('-u'), gid: id('-g') }
}

type Started = { port: number; folder: string; stop(): Promise<void> }

/**
 * PostgreSQL 15 on loopback with an empty cluster of its own.
 *
 * @param tls whether it has a certificate, and the target the CA that signed it
 */
export async function startPostgresql({ tls = false } = {}): Promise<SqlServer> {
  const onPath = folderOnPath('initdb')
  const root = onPath === undefined ? await unpackDebian('postgresql', POSTGRESQL_PACKAGES) : ''
  const programs = onPath ?? join(root, 'usr/lib/postgresql/15/bin')
  const folder = await mkdtemp(join(tmpdir(), 'freehold-postgresql-'))
  const owner = account('nobody')
  const environment = libraries(root)
  const { port } = await choosePorts(folder, ['port'])
  const password = randomBytes(12).toString('hex')
  const file = join(folder, 'password')
  await writeFile(file, password)
  if (owner !== undefined) {
    await chown(folder, owner.uid, owner.gid)
    await chown(file, owner.uid, owner.gid)
  }
  const cluster = join(folder, 'cluster')
  const words = ['-D', cluster, '-U', 'postgres', '-A', 'scram-sha-256', `--pwfile=${file}`, '-E', 'UTF8', '--no-sync']
  const options = { ...owner, env: { ...environment, LC_ALL: 'C.UTF-8' }, cwd: folder }
  const made = spawnSync(join(programs, 'initdb'), words, { ...options, encoding: 'utf8' })
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`)
  const authority = tls ? await writeCertificate(cluster, owner) : undefined
  const settings = ['fsync=off', 'max_connections=200', `ssl=${tls ? 'on' : 'off'}`]
  const server = await start(
    folder,
    join(programs, 'postgres'),
    ['-D', cluster, '-h', '127.0.0.1', '-p', String(port), '-k', folder, ...settings.flatMap((each) => ['-c', each])],
    options,
  )
  const target = {
    dialect: 'postgresql',
    certificateAuthority: authority,
    host: '127.0.0.1',
    port,
    database: 'postgres',
    user: 'postgres',
    password,
  } as const
  return ready({ target, driver: postgresqlDriver, stop: server.stop })
}

/** Where PostgreSQL looks for a certificate by default. @returns the CA that signed it */
async function writeCertificate(cluster: string, owner: { uid: number; gid: number } | undefined): Promise<string> {
  const authority = await createAuthority('freehold test', new Date())
  const request = { commonName: 'postgresql', purpose: 'server', names: ['127.0.0.1', 'localhost'] } as const
  const { certPem, keyPem } = await issueCertificate(authority, request, new Date())
  for (const [name, text] of [
    ['server.crt', certPem],
    ['server.key', keyPem],
  ] as const) {
    await writeFile(join(cluster, name), text, { mode: 0o600 })
    if (owner !== undefined) await chown(join(cluster, name), owner.uid, owner.gid)
  }
  return authority.certPem
}

/** MariaDB 10.11 on loopback with an empty data folder of its own. */
export async function startMariadb(): Promise<SqlServer> {
  const onPath = folderOnPath('mariadbd')
  const root = onPath === undefined ? await unpackDebian('mariadb', MARIADB_PACKAGES) : '/'
  const program = join(onPath ?? join(root, 'usr/sbin'), 'mariadbd')
  const share = join(root, 'usr/share/mysql')
  const folder = await mkdtemp(join(tmpdir(), 'freehold-mariadb-'))
  const datafolder = join(folder, 'data')
  await mkdir(datafolder)
  const owner = account('nobody')
  const { port } = await choosePorts(folder, ['port'])
  const password = randomBytes(12).toString('hex')
  const common = [
    '--no-defaults',
    `--basedir=${join(root, 'usr')}`,
    `--datadir=${datafolder}`,
    `--lc-messages-dir=${share}`,
    // At startup a server deletes leftovers in its temporary folder, including tables of another running one.
    `--tmpdir=${folder}`,
  ]
  const options = { env: libraries(onPath === undefined ? root : ''), cwd: folder }
  const scripts = [
    'mysql_system_tables.sql',
    'mysql_performance_tables.sql',
    'mysql_system_tables_data.sql',
    'mysql_sys_schema.sql',
  ]
  const texts = await Promise.all(scripts.map((name) => readFile(join(share, name), 'utf8')))
  const first = `CREATE DATABASE IF NOT EXISTS mysql;\nUSE mysql;\n`
  // The root accounts of a new server have no password, and would match first.
  const grant = join(folder, 'grant.sql')
  await writeFile(
    grant,
    `CREATE USER 'administrator'@'%' IDENTIFIED BY '${password}';\nGRANT ALL ON *.* TO 'administrator'@'%' WITH GRANT OPTION;\n`,
  )
  // As root the server requires this option; its files then belong to root, and are deleted with the test.
  const user = owner === undefined ? [] : ['--user=root']
  const made = spawnSync(program, [...common, ...user, '--bootstrap', '--log-warnings=0'], {
    ...options,
    input: first + texts.join('\n'),
    encoding: 'utf8',
  })
  if (made.status !== 0) throw new Error(`The bootstrap of MariaDB failed: ${made.stderr.slice(-2000)}`)
  const words = [
    ...common,
    ...user,
    '--bind-address=127.0.0.1',
    `--port=${port}`,
    `--socket=${join(folder, 'socket')}`,
    `--pid-file=${join(folder, 'pid')}`,
    '--skip-name-resolve',
    `--init-file=${grant}`,
    '--innodb-flush-log-at-trx-commit=0',
    '--innodb-buffer-pool-size=32M',
    '--performance-schema=OFF',
  ]
  const server = await start(folder, program, words, options)
  const target = { dialect: 'mariadb', host: '127.0.0.1', port, database: '', user: 'administrator', password } as const
  return ready({ target, driver: mariadbDriver, stop: server.stop })
}

/** Unpacked programs find their own libraries first. */
function libraries(root: string): NodeJS.ProcessEnv {
  if (root === '') return process.env
  const folder = join(root, 'usr/lib/x86_64-linux-gnu')
  return { ...process.env, LD_LIBRARY_PATH: existsSync(folder) ? folder : join(root, 'usr/lib/aarch64-linux-gnu') }
}

async function start(
  folder: string,
  program: string,
  words: readonly string[],
  options: object,
): Promise<Pick<Started, 'stop'>> {
  const child = spawn(program, words, { ...options, stdio: 'ignore' })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  return {
    async stop() {
      // PostgreSQL ends its sessions at SIGINT, where SIGTERM waits for them; nothing here must be kept.
      child.kill('SIGKILL')
      await ended
      await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

async function ready(server: SqlServer): Promise<SqlServer> {
  const answers = async () => {
    const session = await server.driver.open(server.target, { isReadOnly: true, timeoutMilliseconds: 5_000 })
    session.close()
    return true
  }
  try {
    await waitUntil(server.target.dialect, START_DEADLINE, answers, new Promise<never>(() => undefined))
    return server
  } catch (error) {
    await server.stop()
    throw error
  }
}
