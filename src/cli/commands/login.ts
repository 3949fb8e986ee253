import { decodeJwt } from 'jose/jwt/decode'
import { messageOf } from '../../core/errors.ts'
import type { Command } from '../command.ts'
import { CREDENTIAL_NAMES } from '../credentials.ts'
import { localFailure } from '../failure.ts'
import { buildExecCredential } from '../kubeconfig.ts'
import { OUTPUT, openSession, show } from '../session.ts'
import { fetchOf, readSettings } from '../settings.ts'
import { loginStore } from '../storedLogin.ts'

export const login: Command = {
  name: 'login',
  summary: 'Sign in as a person',
  options: [{ long: 'device', summary: 'Use a browser on another machine; the default if there is none here' }],
  async run(input, { paths, terminal, now, signal }) {
    const settings = await readSettings(paths.settings)
    const provider = { settings, fetch: await fetchOf(settings), now }
    const { openBrowser } = terminal
    const inform = (text: string) => terminal.err(`${text}\n`)
    const { signInWithBrowser, signInWithDevice } = await import('../signIn.ts')
    const usesDevice = input.has('device') || openBrowser === undefined
    const signIn = usesDevice ? signInWithDevice : signInWithBrowser
    const stored = await signIn(provider, { inform, signal, openBrowser: openBrowser ?? (() => undefined) })
    const store = loginStore(paths.login)
    await store.exclusively(() => store.write(stored))
    terminal.err(`Signed in as ${describe(stored.accessToken).name ?? 'a person that the token does not name'}.\n`)
  },
}

export const logout: Command = {
  name: 'logout',
  summary: 'End the stored login, here and at the identity provider',
  async run(_input, { paths, terminal, now }) {
    const store = loginStore(paths.login)
    // Locally first: this machine forgets the login whatever the provider answers.
    const stored = await store.exclusively(async () => {
      try {
        return await store.read()
      } catch (error) {
        terminal.err(`${messageOf(error)}\nIt was deleted here but not revoked.\n`)
        return undefined
      } finally {
        await store.remove()
      }
    })
    if (stored === undefined) {
      terminal.err('Nobody is signed in.\n')
      return
    }
    if (stored.credentialsFile !== undefined) {
      terminal.err(`Signed out. The credentials stay in ${stored.credentialsFile}.\n`)
      return
    }
    try {
      const { issuer, clientId } = stored
      const settings = { ...(await readSettings(paths.settings)), issuer, clientId }
      const { revoke } = await import('../signIn.ts')
      const isRevoked = await revoke({ settings, fetch: await fetchOf(settings), now }, stored)
      terminal.err(isRevoked ? 'Signed out.\n' : 'Signed out here; the identity provider cannot revoke a login.\n')
    } catch (error) {
      terminal.err(`Signed out here. ${messageOf(error)}\n`)
    }
  },
}

export const token: Command = {
  name: 'token',
  summary: 'Print a valid access token',
  options: [
    {
      long: 'exec-credential',
      summary: 'In the form that kubectl needs (client.authentication.k8s.io/v1 ExecCredential)',
    },
    { long: 'platform', value: 'URL', summary: 'Only if that platform is set up; kubeconfigs name theirs' },
  ],
  details: 'Keep it secret: whoever has it can act as you until it expires.',
  async run(input, context) {
    const session = await openSession(context)
    const platform = input.text('platform') ?? session.settings.facadeUrl
    if (platform !== session.settings.facadeUrl) {
      throw localFailure(
        `This is for ${platform}, and \`freehold\` is set up for ${session.settings.facadeUrl}: go back with \`freehold setup --facade-url ${platform}\`, or write another kubeconfig with \`freehold kubeconfig\`.`,
      )
    }
    const text = await session.token()
    const answer = input.has('exec-credential') ? JSON.stringify(buildExecCredential(text, context.now())) : text
    context.terminal.out(`${answer}\n`)
  },
}

export const whoami: Command = {
  name: 'whoami',
  summary: 'Show whose token is used, and that the platform accepts it',
  options: [OUTPUT],
  async run(input, context) {
    const { client, credential, settings, token } = await openSession(context)
    // Needs no role, only a valid token.
    await client.operations.GetBoundaries({ query: { pageSize: 1 } })
    const claims = describe(await token())
    const { facadeUrl: platform, issuer, boundary = null, group = null } = settings
    show(
      { ...claims, credential: CREDENTIAL_NAMES[credential.kind], platform, issuer, boundary, group },
      input,
      context,
    )
  },
}

/** Decodes the claims for display only: this client does not verify the token. */
function describe(accessToken: string) {
  const claims = claimsOf(accessToken)
  const text = (...names: string[]) => {
    const found = names.map((name) => claims[name]).find((value) => typeof value === 'string' && value !== '')
    return (found as string | undefined) ?? null
  }
  const expiresAt = typeof claims.exp === 'number' ? new Date(claims.exp * 1000).toISOString() : null
  return {
    principalId: text('sub'),
    name: text('email', 'name', 'preferred_username', 'azp', 'client_id', 'sub'),
    expiresAt,
  }
}

function claimsOf(accessToken: string): Record<string, unknown> {
  try {
    return decodeJwt(accessToken)
  } catch {
    return {}
  }
}
