import { resolve } from 'node:path'
import { z } from 'zod'
import { NetworkError } from '../../client/index.ts'
import type { Command, Context, Input } from '../command.ts'
import { localTrouble, usage } from '../failure.ts'
import { readIfThere } from '../files.ts'
import {
  DEFAULT_CLIENT_ID,
  fetchOf,
  findSettings,
  readSettings,
  type Settings,
  safeUrl,
  writeSettings,
} from '../settings.ts'

export const setup: Command = {
  name: 'setup',
  summary: 'Say where the platform and its identity provider are',
  options: [
    { long: 'facade-url', value: 'URL', summary: 'Address of the platform' },
    { long: 'issuer', value: 'URL', summary: 'The issuer, whole; instead of the next two' },
    { long: 'identity-url', value: 'URL', summary: 'Address of the identity provider' },
    { long: 'realm', value: 'NAME', summary: 'Its realm' },
    { long: 'client-id', value: 'ID', summary: `The public client for logins; ${DEFAULT_CLIENT_ID} where absent` },
    { long: 'certificate-authority', value: 'FILE', summary: 'PEM of the authority of the servers' },
    { long: 'boundary', short: 'b', value: 'ID', summary: 'Default boundary' },
    { long: 'group', short: 'g', value: 'NAME', summary: 'Default resource group' },
    { long: 'dev', value: 'FILE', summary: 'Take all of it from the dev.json of a running `npm run up`' },
  ],
  details: 'What is not named stays as it was set up before.',
  async run(input, context) {
    const path = context.places.settings
    const before = await findSettings(path)
    const found = input.text('dev') === undefined ? undefined : await fromDevFile(input.text('dev') ?? '')
    const settings = settingsFrom(input, { ...before, ...found })
    await writeSettings(path, settings)
    context.terminal.err(`Set up for ${settings.facadeUrl}, signing in at ${settings.issuer} (${path}).\n`)
    if (found !== undefined) sayDevCredentials(input, context)
  },
}

function settingsFrom(input: Input, known: Partial<Settings>): Settings {
  const facadeUrl = input.text('facade-url') ?? known.facadeUrl
  const issuer = issuerFrom(input) ?? known.issuer
  if (facadeUrl === undefined) throw usage('--facade-url is missing.')
  if (issuer === undefined) throw usage('--issuer is missing, or --identity-url and --realm.')
  const authority = input.text('certificate-authority')
  const optional = {
    certificateAuthority: authority === undefined ? known.certificateAuthority : resolve(authority),
    boundary: input.text('boundary') ?? known.boundary,
    group: input.text('group') ?? known.group,
  }
  return {
    facadeUrl: safeUrl('The address of the platform', facadeUrl),
    issuer: safeUrl('The issuer', issuer),
    clientId: input.text('client-id') ?? known.clientId ?? DEFAULT_CLIENT_ID,
    ...withoutAbsent(optional),
  }
}

function issuerFrom(input: Input): string | undefined {
  const [issuer, identityUrl, realm] = [input.text('issuer'), input.text('identity-url'), input.text('realm')]
  if (issuer !== undefined) return issuer
  if (identityUrl === undefined && realm === undefined) return undefined
  if (identityUrl === undefined || realm === undefined) throw usage('--identity-url and --realm belong together.')
  return `${identityUrl.replace(/\/+$/, '')}/realms/${encodeURIComponent(realm)}`
}

type Present<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> }

function withoutAbsent<Fields extends object>(fields: Fields): Present<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Present<Fields>
}

const DevFile = z.object({ facadeUrl: z.url(), tokenUrl: z.url(), certificateAuthority: z.string().optional() })

/** The token address of `dev.json` is plain http on this machine; the issuer, which is https, stands in its discovery. */
async function fromDevFile(path: string): Promise<Partial<Settings>> {
  const text = await readIfThere(path)
  if (text === undefined) throw localTrouble(`There is no ${path}: is \`npm run up\` running?`)
  const parsed = DevFile.safeParse(json(text))
  if (!parsed.success) throw localTrouble(`${path} is not the dev.json of \`npm run up\`.`)
  const { facadeUrl, tokenUrl, certificateAuthority } = parsed.data
  const realmUrl = safeUrl('tokenUrl', tokenUrl).replace(/\/protocol\/openid-connect\/token$/, '')
  const authority = certificateAuthority === undefined ? {} : { certificateAuthority: resolve(certificateAuthority) }
  const url = `${realmUrl}/.well-known/openid-configuration`
  const fetch = await fetchOf(authority)
  const answer = await fetch(url, { redirect: 'error' }).catch((error) => {
    throw new NetworkError(url, error)
  })
  const { issuer } = (await answer.json().catch(() => ({}))) as { issuer?: unknown }
  return { facadeUrl, issuer: typeof issuer === 'string' ? issuer : realmUrl, ...authority }
}

function json(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function sayDevCredentials(input: Input, { terminal }: Context): void {
  const file = input.text('dev') ?? ''
  terminal.err(
    `For its first Owner, set PLATFORM_CLIENT_ID and PLATFORM_CLIENT_SECRET to clientId and clientSecret of ${file}.\n`,
  )
}

export const use: Command = {
  name: 'use',
  summary: 'Set the default boundary and resource group',
  options: [
    { long: 'boundary', short: 'b', value: 'ID', summary: 'Default boundary; an empty text takes both defaults away' },
    { long: 'group', short: 'g', value: 'NAME', summary: 'Default resource group; an empty text takes it away' },
  ],
  async run(input, { places, terminal }) {
    const { boundary, group, ...settings } = await readSettings(places.settings)
    const [newBoundary, newGroup] = [input.text('boundary'), input.text('group')]
    const nextBoundary = (newBoundary ?? boundary) || undefined
    // A group belongs to its boundary: another boundary has another one, or none.
    const kept = nextBoundary === boundary ? group : undefined
    const nextGroup = (newGroup ?? kept) || undefined
    const next = { ...settings, ...withoutAbsent({ boundary: nextBoundary, group: nextGroup }) }
    if (newBoundary !== undefined || newGroup !== undefined) await writeSettings(places.settings, next)
    terminal.err(`Boundary ${nextBoundary ?? 'none'}, resource group ${nextGroup ?? 'none'}.\n`)
  },
}
