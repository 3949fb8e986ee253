import { execFile, spawnSync } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { cachedAt } from '../../scripts/controlplane/cache.ts'
import { choosePorts } from '../../scripts/controlplane/ports.ts'
import { ProcessGroup } from '../../scripts/controlplane/processes.ts'
import { waitUntil } from '../../scripts/controlplane/request.ts'
import type { KeycloakAdmin } from '../../src/adapters/identity/keycloakAdmin.ts'

const POM = join(import.meta.dirname, '../../tools/keycloak/pom.xml')
const OLDEST_JAVA = 17
/** The first start of an installation compiles its configuration: three minutes on a busy machine. */
const START_DEADLINE = 480_000
const HEAP = '-XX:MaxHeapSize=384m -XX:InitialHeapSize=128m'
/** It runs for a minute: the better compiler and the concurrent collector would cost more than they save. */
const SHORT_LIVED = '-XX:TieredStopAtLevel=1 -XX:-UseG1GC -XX:+UseSerialGC'

export type Keycloak = {
  url: string
  realm: string
  /** An administrator of all realms, in the realm `master`. */
  admin: { clientId: string; clientSecret: string }
  stop(): Promise<void>
}

/** Why Keycloak cannot run here, for the reader of a test result; undefined if it can. */
export function keycloakIsMissing(): string | undefined {
  const java = spawnSync('java', ['-version'], { encoding: 'utf8' })
  const version = Number(/version "(\d+)/.exec(`${java.stderr}`)?.[1] ?? 0)
  if (version < OLDEST_JAVA) return `Java ${OLDEST_JAVA} or newer is not installed, which Keycloak runs on`
  const isThere = existsSync(installFolder())
  if (!isThere && spawnSync('mvn', ['-v']).status !== 0) return 'Maven (mvn) is not installed, which gets Keycloak'
  return undefined
}

function keycloakVersion(): string {
  const version = /<keycloak\.version>([^<]+)</.exec(readFileSync(POM, 'utf8'))?.[1]
  if (version === undefined) throw new Error(`${POM} names no keycloak.version.`)
  return version
}

/** For 180 MB on a slow network; less than the time after which a silent part of a run is ended. */
const DOWNLOAD_TIMEOUT_MS = 900_000

/** `$XDG_CACHE_HOME/freehold/keycloak-<version>` */
function installFolder(): string {
  return cachedAt(`keycloak-${keycloakVersion()}`)
}

/** Unpacks into a temporary folder and moves it, so that an interrupted download leaves nothing incomplete. */
async function install(): Promise<string> {
  const folder = installFolder()
  if (existsSync(folder)) return folder
  await mkdir(dirname(folder), { recursive: true })
  const place = await mkdtemp(join(dirname(folder), 'keycloak-'))
  try {
    const words = ['-q', '-B', '-f', POM, 'dependency:unpack', `-Dkeycloak.folder=${place}`]
    await promisify(execFile)('mvn', words, { timeout: DOWNLOAD_TIMEOUT_MS })
    await rename(join(place, `keycloak-${keycloakVersion()}`), folder)
  } catch (error) {
    if (!existsSync(folder)) throw new Error(`Maven could not get Keycloak: ${POM}`, { cause: error })
  } finally {
    await rm(place, { recursive: true, force: true })
  }
  return folder
}

/**
 * Keycloak on loopback with that realm and a database of its own, for one test.
 *
 * @throws Error with the end of its log if it does not start
 */
export async function startKeycloak(realm: object & { realm: string }): Promise<Keycloak> {
  const program = await install()
  const folder = await mkdtemp(join(tmpdir(), 'freehold-keycloak-'))
  const ports = await choosePorts(folder, ['http', 'management'])
  const admin = { clientId: 'test-administrator', clientSecret: randomBytes(24).toString('base64url') }
  const processes = new ProcessGroup(folder)
  const stop = async () => {
    await processes.stop()
    await rm(folder, { recursive: true, force: true })
  }
  try {
    processes.start({
      name: 'keycloak',
      program: join(program, 'bin', 'kc.sh'),
      args: [
        'start-dev',
        '--http-host=127.0.0.1',
        `--http-port=${ports.http}`,
        `--http-management-port=${ports.management}`,
        '--health-enabled=true',
        '--cache=local',
        // In memory: the database ends with the test, and a busy disk is the slowest part of a start.
        '--db-url=jdbc:h2:mem:keycloak;NON_KEYWORDS=VALUE;DB_CLOSE_DELAY=-1',
      ],
      environment: {
        ...process.env,
        KC_BOOTSTRAP_ADMIN_CLIENT_ID: admin.clientId,
        KC_BOOTSTRAP_ADMIN_CLIENT_SECRET: admin.clientSecret,
        JAVA_OPTS_KC_HEAP: HEAP,
        JAVA_OPTS_APPEND: SHORT_LIVED,
      },
    })
    const url = `http://127.0.0.1:${ports.http}`
    const isReady = async () => (await fetch(`http://127.0.0.1:${ports.management}/health/ready`)).ok
    await waitUntil('Keycloak', START_DEADLINE, isReady, processes.failed)
    await makeRealm(url, admin, realm)
    return { url, realm: realm.realm, admin, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function makeRealm(url: string, admin: Keycloak['admin'], realm: object): Promise<void> {
  const token = await fetch(`${url}/realms/master/protocol/openid-connect/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: admin.clientId,
      client_secret: admin.clientSecret,
    }),
  })
  const { access_token: bearer } = (await token.json()) as { access_token?: string }
  const made = await fetch(`${url}/admin/realms`, {
    method: 'POST',
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
    body: JSON.stringify(realm),
  })
  if (made.status !== 201) throw new Error(`Keycloak did not create the realm: ${made.status} ${await made.text()}`)
}

export type ServiceAccount = { clientId: string; secret: string; principalId: string }

/** As an administrator creates one for the platform. */
export async function makeServiceAccount(admin: KeycloakAdmin, protocolMappers: object[]): Promise<ServiceAccount> {
  const [clientId, secret] = [`account-${randomUUID()}`, randomUUID()]
  const ways = { publicClient: false, serviceAccountsEnabled: true, standardFlowEnabled: false }
  const body = { clientId, secret, enabled: true, protocol: 'openid-connect', ...ways, protocolMappers }
  const { location } = await admin.call('POST', '/clients', { body })
  const { body: user } = await admin.call('GET', `/clients/${location?.split('/').at(-1)}/service-account-user`)
  return { clientId, secret, principalId: (user as { id: string }).id }
}

type Journey = {
  /** The other address to which browsers are redirected, if any. */
  comesBack?: (elsewhere: URL) => URL | undefined
  /** Called with each address to which the browser is redirected. */
  arrives?: (address: URL) => void
}

/** A browser that submits these forms, one on each page; returns the address to which it then leaves, or undefined. */
export async function browse(
  keycloak: Pick<Keycloak, 'url'>,
  address: string,
  forms: Record<string, string>[],
  { comesBack = () => undefined, arrives }: Journey = {},
): Promise<URL | undefined> {
  const cookies = new Map<string, string>()
  const open = async (url: string, form?: Record<string, string>) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const body = form === undefined ? {} : { method: 'POST', body: new URLSearchParams(form) }
    const answer = await fetch(url, { redirect: 'manual', headers: { cookie }, ...body })
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      cookies.set(name, value)
    }
    return answer
  }
  let answer = await open(address)
  for (let hops = 0; hops < 10; hops += 1) {
    let location = answer.headers.get('location')
    if (location !== null && !location.startsWith(keycloak.url)) {
      const back = comesBack(new URL(location))
      if (back === undefined) return new URL(location)
      location = back.href
    }
    if (location !== null) arrives?.(new URL(location))
    const action = /action="([^"]*login-actions\/authenticate[^"]*)"/.exec(await answer.text())?.[1] ?? ''
    const form = location === null ? forms.shift() : undefined
    if (location === null && form === undefined) return undefined
    answer = await open(location ?? action.replaceAll('&amp;', '&'), form)
  }
  return undefined
}
