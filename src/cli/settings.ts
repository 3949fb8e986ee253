import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { withDefaultAuthorities } from '../core/authorities.ts'
import { isLoopback } from '../core/isLoopback.ts'
import { localFailure, usage } from './failure.ts'
import { readFileIfPresent, writePrivate } from './files.ts'

export const DEFAULT_CLIENT_ID = 'freehold-cli'

const Platform = z.strictObject({
  facadeUrl: z.url(),
  /** `<identity provider>/realms/<realm>`, or any other OpenID Connect issuer. */
  issuer: z.url(),
  clientId: z.string().min(1),
  /** Path of a PEM file with an additional authority for the servers. */
  certificateAuthority: z.string().optional(),
  /** The platform's API server, and its authority as base64 of PEM. */
  kubernetes: z.strictObject({ server: z.url(), certificateAuthorityData: z.base64().optional() }).optional(),
  /** The dev.json that the settings came from. */
  devFile: z.string().optional(),
  boundary: z.string().optional(),
  group: z.string().optional(),
})
const Settings = Platform.extend({
  /** Settings of other platforms, for switching back. */
  others: z.array(Platform).optional(),
})
export type Settings = z.output<typeof Settings>

/**
 * Returns what is known of a platform that is being set up: its previous settings or, for a new one, those that
 * platforms may share. Boundary, group, API server and dev.json are not shared: kubectl would change another platform.
 *
 * @param facadeUrl undefined to keep the current platform
 */
export function inheritedSettings(before: Settings | undefined, facadeUrl: string | undefined): Partial<Settings> {
  if (before === undefined || facadeUrl === undefined || before.facadeUrl === facadeUrl) return before ?? {}
  const { others: previousOthers = [], ...current } = before
  const others = [...previousOthers.filter((each) => each.facadeUrl !== facadeUrl), current]
  const stored = previousOthers.find((each) => each.facadeUrl === facadeUrl)
  const { boundary: _boundary, group: _group, kubernetes: _kubernetes, devFile: _devFile, ...shared } = current
  return { ...(stored ?? shared), others }
}

/** @throws CommandFailure (local) if `setup` was not run, or the file is invalid */
export async function readSettings(path: string): Promise<Settings> {
  const settings = await findSettings(path)
  if (settings === undefined)
    throw localFailure(
      'This client is not set up: run `freehold setup` first, or `freehold setup --dev` in the folder of a running `npm run up`.',
    )
  return settings
}

export async function findSettings(path: string): Promise<Settings | undefined> {
  const text = await readFileIfPresent(path)
  if (text === undefined) return undefined
  try {
    return Settings.parse(JSON.parse(text))
  } catch {
    throw localFailure(`${path} is not what \`freehold setup\` writes: run it again.`)
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
 * Normalises a URL that tokens may be sent to, without a trailing slash.
 *
 * @throws CommandFailure (usage) for an invalid URL, and for http except to this machine: the token could be read in
 *   transit
 */
export function requireSafeUrl(name: string, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw usage(`${name} must be an http(s) address.`)
  if (url.username !== '' || url.password !== '') throw usage(`${name} must not hold a user name or password.`)
  if (url.protocol === 'http:' && !isLoopback(url)) {
    throw usage(`${name} must be https: only addresses of this machine may be http.`)
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}

export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** Returns a `fetch` that trusts the configured authority in addition to those that Node trusts. */
export async function fetchOf(settings: Pick<Settings, 'certificateAuthority'>): Promise<Fetch> {
  const { certificateAuthority } = settings
  if (certificateAuthority === undefined) return (url, init) => fetch(url, init)
  let pem: string
  try {
    pem = await readFile(certificateAuthority, 'utf8')
  } catch (error) {
    throw localFailure(`The certificate authority ${certificateAuthority} cannot be read.`, error)
  }
  // Slow to load, and rarely needed.
  const { Agent, fetch: fetchWith } = await import('undici')
  const dispatcher = new Agent({ connect: { ca: withDefaultAuthorities(pem) } })
  // The types of undici and of Node's built-in copy are distinct.
  return (url, init) =>
    fetchWith(url, { ...init, dispatcher } as Parameters<typeof fetchWith>[1]) as unknown as Promise<Response>
}

/** Access to the identity provider of a platform. */
export type Provider = { settings: Settings; fetch: Fetch; now: () => number }

/** Error codes are printable ASCII (RFC 6749 section 5.2); other characters could control the terminal. */
export const printableCode = (code: string) => code.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 500)
