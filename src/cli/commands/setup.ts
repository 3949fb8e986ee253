import { resolve } from 'node:path'
import { createClient, issuerOf as issuerNamedBy, NetworkError, PlatformApiError } from '../../client/index.ts'
import { messageOf } from '../../core/errors.ts'
import type { Command, Context, Input } from '../command.ts'
import { DEV_FILE, discoverIssuer, readDevFile, serverOfKubeconfig } from '../devFile.ts'
import { localFailure, usage } from '../failure.ts'
import { readFileIfPresent } from '../files.ts'
import {
  DEFAULT_CLIENT_ID,
  fetchOf,
  findSettings,
  inheritedSettings,
  requireSafeUrl,
  type Settings,
  withoutAbsent,
  writeSettings,
} from '../settings.ts'
import { loginStore } from '../storedLogin.ts'
import { loginFromFile } from '../tokens.ts'

export const setup: Command = {
  name: 'setup',
  summary: 'Set the addresses of the platform and its identity provider',
  options: [
    { long: 'facade-url', value: 'URL', summary: 'Address of the platform' },
    { long: 'issuer', value: 'URL', summary: 'Issuer of tokens; default: what the platform names' },
    { long: 'identity-url', value: 'URL', summary: 'Address of a Keycloak, instead of its issuer' },
    { long: 'realm', value: 'NAME', summary: 'Its realm' },
    { long: 'client-id', value: 'ID', summary: `The public client for logins; default ${DEFAULT_CLIENT_ID}` },
    { long: 'certificate-authority', value: 'FILE', summary: "PEM file of the servers' CA" },
    { long: 'boundary', short: 'b', value: 'ID', summary: 'Default boundary' },
    { long: 'group', short: 'g', value: 'NAME', summary: 'Default resource group' },
    { long: 'kubernetes-url', value: 'URL', summary: 'Address of the API server, for `freehold kubeconfig`' },
    { long: 'kubernetes-authority', value: 'FILE', summary: 'PEM file of its CA' },
    {
      long: 'dev',
      value: 'FILE',
      valueIfAbsent: DEV_FILE,
      summary: `Take all settings from the dev.json of a running \`npm run up\` (${DEV_FILE}), and sign in as its first Owner`,
    },
  ],
  details: 'What you do not name stays as it was. Defaults and the API server are kept for each platform.',
  async run(input, context) {
    const path = context.paths.settings
    const before = await findSettings(path)
    const dev = input.text('dev')
    const devFile = dev === undefined ? undefined : resolve(dev)
    const found = devFile === undefined ? undefined : await fromDevFile(devFile)
    const named = input.text('facade-url') ?? found?.facadeUrl
    const facadeUrl = named === undefined ? undefined : requireSafeUrl('The address of the platform', named)
    const known = { ...inheritedSettings(before, facadeUrl), ...found }
    const settings = await settingsFrom(input, known, context)
    await writeSettings(path, settings)
    context.terminal.err(`Set up for ${settings.facadeUrl}, signing in at ${settings.issuer} (${path}).\n`)
    if (before !== undefined && before.facadeUrl !== settings.facadeUrl) {
      context.terminal.err(
        `Kubeconfigs written for ${before.facadeUrl} get no token until you go back to it; \`freehold kubeconfig\` writes one for this platform.\n`,
      )
    }
    if (devFile !== undefined) await signInFromDevFile(devFile, settings, context)
  },
}

async function settingsFrom(input: Input, known: Partial<Settings>, context: Context): Promise<Settings> {
  const facadeUrl = input.text('facade-url') ?? known.facadeUrl
  if (facadeUrl === undefined) throw usage('--facade-url is missing, or --dev in the folder of a running `npm run up`.')
  const address = requireSafeUrl('The address of the platform', facadeUrl)
  const authority = input.text('certificate-authority')
  if (authority !== undefined) await readAuthority('--certificate-authority', authority)
  const certificateAuthority = authority === undefined ? known.certificateAuthority : resolve(authority)
  const issuer = issuerFrom(input) ?? (await issuerAt(address, { ...known, certificateAuthority }, context))
  const optional = {
    certificateAuthority,
    boundary: input.text('boundary') ?? known.boundary,
    group: input.text('group') ?? known.group,
    kubernetes: (await kubernetesFrom(input, known.kubernetes)) ?? known.kubernetes,
    devFile: known.devFile,
    others: known.others,
  }
  return {
    facadeUrl: address,
    issuer: requireSafeUrl('The issuer', issuer),
    clientId: input.text('client-id') ?? known.clientId ?? DEFAULT_CLIENT_ID,
    ...withoutAbsent(optional),
  }
}

async function kubernetesFrom(input: Input, known: Settings['kubernetes']): Promise<Settings['kubernetes']> {
  const file = input.text('kubernetes-authority')
  const server = input.text('kubernetes-url') ?? (file === undefined ? undefined : known?.server)
  if (server === undefined && file === undefined) return undefined
  if (server === undefined) throw usage('--kubernetes-authority needs --kubernetes-url.')
  const pem = file === undefined ? undefined : await readAuthority('--kubernetes-authority', file)
  const authority = pem === undefined ? {} : { certificateAuthorityData: Buffer.from(pem).toString('base64') }
  return { server: requireSafeUrl('--kubernetes-url', server), ...authority }
}

/** Checked here: later, every command would fail, or trust nothing, without naming the option. */
async function readAuthority(option: string, file: string): Promise<string> {
  const pem = await readFileIfPresent(file)
  if (pem === undefined) throw localFailure(`There is no ${file}.`)
  if (!pem.includes('-----BEGIN CERTIFICATE-----'))
    throw localFailure(`${option} must name a file of certificates in PEM, and ${file} holds none.`)
  return pem
}

function issuerFrom(input: Input): string | undefined {
  const [issuer, identityUrl, realm] = [input.text('issuer'), input.text('identity-url'), input.text('realm')]
  if (issuer !== undefined) return issuer
  if (identityUrl === undefined && realm === undefined) return undefined
  if (identityUrl === undefined || realm === undefined) throw usage('--identity-url and --realm belong together.')
  return `${identityUrl.replace(/\/+$/, '')}/realms/${encodeURIComponent(realm)}`
}

/**
 * Returns the known issuer of the platform, or else asks the platform. If it does not answer, falls back to the issuer
 * of the previous platform.
 */
async function issuerAt(facadeUrl: string, known: Partial<Settings>, { terminal }: Context): Promise<string> {
  if (known.issuer !== undefined && known.facadeUrl === facadeUrl) return known.issuer
  const fetch = await fetchOf(withoutAbsent({ certificateAuthority: known.certificateAuthority }))
  const client = createClient({ baseUrl: facadeUrl, fetch, retries: 0, connectionRetries: 0 })
  try {
    return issuerNamedBy(
      await client.oauthProtectedResource.get({ signal: AbortSignal.timeout(TIMEOUT_MS) }),
      facadeUrl,
    )
  } catch (error) {
    const isSilent = error instanceof PlatformApiError || error instanceof NetworkError
    if (isSilent && known.issuer !== undefined) {
      terminal.err(`${messageOf(error)}\nUntil --issuer names another, the issuer is that of ${known.facadeUrl}.\n`)
      return known.issuer
    }
    if (error instanceof NetworkError) throw error
    throw usage(`--issuer is missing, or --identity-url and --realm: ${messageOf(error)}`)
  }
}

const TIMEOUT_MS = 10_000

type FromDevFile = Partial<Settings> & Pick<Settings, 'facadeUrl' | 'issuer'>

async function fromDevFile(path: string): Promise<FromDevFile> {
  const { facadeUrl, tokenUrl, certificateAuthority, kubeconfig } = await readDevFile(path)
  const authority = certificateAuthority === undefined ? {} : { certificateAuthority: resolve(certificateAuthority) }
  const issuer = await discoverIssuer(tokenUrl, certificateAuthority)
  const kubernetes = kubeconfig === undefined ? undefined : await serverOfKubeconfig(kubeconfig)
  return {
    facadeUrl,
    issuer,
    devFile: path,
    ...authority,
    ...(kubernetes !== undefined && { kubernetes }),
  }
}

/**
 * A local platform has one Owner, whose credentials the user of this machine can read anyway, so this signs in with
 * them. An existing login of a person is kept.
 */
async function signInFromDevFile(path: string, settings: Settings, { paths, now, terminal }: Context): Promise<void> {
  const store = loginStore(paths.login)
  const signedIn = await store.exclusively(async () => {
    const before = await store.read()
    const isOfPerson = before?.issuer === settings.issuer && before.credentialsFile === undefined
    if (isOfPerson) return false
    await store.write(await loginFromFile({ settings, fetch: await fetchOf(settings), now }, path))
    return true
  })
  terminal.err(
    signedIn
      ? 'Signed in as its first Owner; `freehold login` signs in as a person.\n'
      : 'Your login there stays; to sign in as its first Owner, run `freehold logout` and then this again.\n',
  )
}
