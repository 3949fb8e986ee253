import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { believing } from '../core/authorities.ts'
import { localTrouble, usage } from './failure.ts'
import { readIfThere, writePrivate } from './files.ts'

export const DEFAULT_CLIENT_ID = 'freehold-cli'

const Platform = z.strictObject({
  facadeUrl: z.url(),
  /** `<identity provider>/realms/<realm>`, or any other OpenID Connect issuer. */
  issuer: z.url(),
  clientId: z.string().min(1),
  /** Path of a PEM file with the authority of the servers, beyond those that the system trusts. */
  certificateAuthority: z.string().optional(),
  /** Where `kubectl` finds the same objects, and the authority of that server: PEM in base64. */
  kubernetes: z.strictObject({ server: z.url(), certificateAuthorityData: z.base64().optional() }).optional(),
  /** The dev.json that it was set up from. */
  devFile: z.string().optional(),
  boundary: z.string().optional(),
  group: z.string().optional(),
})
const Settings = Platform.extend({
  /** Platforms that were set up before this one, as they were left. */
  others: z.array(Platform).optional(),
})
export type Settings = z.output<typeof Settings>

/**
 * What is known when somebody sets up a platform: what was said of it when it was left, or, of a new one, what two
 * platforms may have in common. Boundaries, groups, API servers and dev.json belong to one platform: kubectl would change another.
 *
 * @param facadeUrl undefined where no address is given: the platform stays
 */
export function settingsAt(before: Settings | undefined, facadeUrl: string | undefined): Partial<Settings> {
  if (before === undefined || facadeUrl === undefined || before.facadeUrl === facadeUrl) return before ?? {}
  const { others: left = [], ...own } = before
  const others = [...left.filter((each) => each.facadeUrl !== facadeUrl), own]
  const known = left.find((each) => each.facadeUrl === facadeUrl)
  const { boundary: _boundary, group: _group, kubernetes: _kubernetes, devFile: _devFile, ...common } = own
  return { ...(known ?? common), others }
}

/** @throws CommandFailure (local) where `setup` was not run, or the file is not what setup writes */
export async function readSettings(path: string): Promise<Settings> {
  const settings = await findSettings(path)
  if (settings === undefined)
    throw localTrouble(
      'This client is not set up: run `freehold setup` first, or `freehold setup --dev` in the folder of a running `npm run up`.',
    )
  return settings
}

export async function findSettings(path: string): Promise<Settings | undefined> {
  const text = await readIfThere(path)
  if (text === undefined) return undefined
  try {
    return Settings.parse(JSON.parse(text))
  } catch {
    throw localTrouble(`${path} is not what \`freehold setup\` writes: run it again.`)
  }
}

export async function writeSettings(path: string, settings: Settings): Promise<void> {
  await writePrivate(path, `${JSON.stringify(settings, null, 2)}\n`)
}

type Present<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> }

export function withoutAbsent<Fields extends object>(fields: Fields): Present<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Present<Fields>
}

/**
 * An address that tokens may be sent to, without a closing slash.
 *
 * @throws CommandFailure (usage) for an invalid address, and for http anywhere but on this machine: a token on the wire
 *   is everyone's
 */
export function safeUrl(name: string, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw usage(`${name} must be an http(s) address.`)
  if (url.username !== '' || url.password !== '') throw usage(`${name} must not hold a user name or password.`)
  if (url.protocol === 'http:' && !isLoopback(url)) {
    throw usage(`${name} must be https: only addresses of this machine may be http.`)
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}

export function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
}

export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** `fetch` that trusts the authority of the settings beside those that Node trusts by itself. */
export async function fetchOf(settings: Pick<Settings, 'certificateAuthority'>): Promise<Fetch> {
  const { certificateAuthority } = settings
  if (certificateAuthority === undefined) return (url, init) => fetch(url, init)
  let pem: string
  try {
    pem = await readFile(certificateAuthority, 'utf8')
  } catch (error) {
    throw localTrouble(`The certificate authority ${certificateAuthority} cannot be read.`, error)
  }
  // Slow to load, and most platforms do not need it.
  const { Agent, fetch: fetchWith } = await import('undici')
  const dispatcher = new Agent({ connect: { ca: believing(pem) } })
  // undici's own types and those of Node's built-in copy of it are declared twice.
  return (url, init) =>
    fetchWith(url, { ...init, dispatcher } as Parameters<typeof fetchWith>[1]) as unknown as Promise<Response>
}

/** The identity provider of a platform, and how it is asked. */
export type Provider = { settings: Settings; fetch: Fetch; now: () => number }

/** Codes are ASCII without control characters (RFC 6749 section 5.2); what else came could move the cursor. */
export const printableCode = (code: string) => code.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 500)
