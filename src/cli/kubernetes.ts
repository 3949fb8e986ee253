import type { ClusterAccess } from '../kubeconfig/access.ts'
import { loadKubeconfig } from '../kubeconfig/kubeconfig.ts'
import { CommandFailure, EXIT, localFailure } from './failure.ts'
import { networkRemedy } from './networkRemedy.ts'
import type { Session } from './session.ts'

/** Address of an API server, and the credentials for it. */
export type KubernetesAccess = Pick<ClusterAccess, 'server' | 'proxyUrl' | 'tls' | 'authorization'>
export type KubernetesAnswer = { readonly status: number; readonly body: Readonly<Record<string, unknown>> }
/** Calls the API server. @throws CommandFailure (network) without a valid answer */
export type SendToKubernetes = (
  path: string,
  init?: { method?: string; body?: string; accept?: string; contentType?: string },
) => Promise<KubernetesAnswer>

/** Reads the current context of a kubeconfig. @throws CommandFailure (local) */
export function accessOfKubeconfig(path: string): KubernetesAccess {
  try {
    return loadKubeconfig(path)
  } catch (error) {
    throw localFailure(`${path} cannot be used as a kubeconfig.`, error)
  }
}

/** Returns the platform's API server, with the caller's token; undefined if `setup` named none. */
export function accessOfSession({
  settings,
  token,
}: Pick<Session, 'settings' | 'token'>): KubernetesAccess | undefined {
  if (settings.kubernetes === undefined) return undefined
  const { server, certificateAuthorityData } = settings.kubernetes
  const ca = certificateAuthorityData && Buffer.from(certificateAuthorityData, 'base64').toString()
  return {
    server,
    proxyUrl: undefined,
    tls: async () => (ca ? { ca } : {}),
    authorization: async () => `Bearer ${await token()}`,
  }
}

const APPLY = 'application/apply-patch+yaml'

/** Opens one connection for all requests of a command. @throws CommandFailure (local) for unreadable credentials */
export async function openKubernetes(access: KubernetesAccess, signal: AbortSignal): Promise<SendToKubernetes> {
  const { server, proxyUrl } = access
  // Slow to load, and rarely needed.
  const { Agent, ProxyAgent, fetch } = await import('undici')
  const credentials = await readCredentials(access)
  const dispatcher =
    proxyUrl === undefined
      ? new Agent({ connect: credentials.tls })
      : new ProxyAgent({ uri: proxyUrl, requestTls: credentials.tls })
  return async (path, { method = 'GET', body, accept = 'application/json', contentType = APPLY } = {}) => {
    const headers = {
      accept,
      ...(credentials.authorization && { authorization: credentials.authorization }),
      ...(body !== undefined && { 'content-type': contentType }),
    }
    const init = { method, headers, dispatcher, signal, ...(body !== undefined && { body }) }
    const response = fetch(`${server}${path}`, init).then(
      async (answer) => [answer.status, await answer.text()] as const,
    )
    const [status, text] = await response.catch((error) => {
      throw signal.aborted ? error : networkFailure(server, error)
    })
    return parseAnswer(server, status, text)
  }
}

function networkFailure(server: string, error: unknown): CommandFailure {
  const { message } = ((error as Error).cause ?? error) as Error
  const sentences = [`No answer from the API server at ${server}: ${message}.`, networkRemedy(error)]
  return new CommandFailure(EXIT.network, sentences.filter(Boolean).join(' '), { cause: error })
}

/** The API server answers unknown paths in plain text; a proxy in between may answer anything. */
function parseAnswer(server: string, status: number, text: string): KubernetesAnswer {
  try {
    return { status, body: JSON.parse(text) as Record<string, unknown> }
  } catch {
    if (status === 404) return { status, body: { message: 'it has no such path' } }
    const hint = 'is that the address of an API server?'
    throw new CommandFailure(EXIT.network, `${server} answered ${status}, and not in JSON: ${hint}`)
  }
}

/** Reads files and runs plugins here, so that their failures are not reported as network errors. */
async function readCredentials({ tls, authorization }: KubernetesAccess) {
  try {
    return { tls: await tls(), authorization: await authorization() }
  } catch (error) {
    if (error instanceof CommandFailure) throw error
    throw localFailure('The credentials of the kubeconfig cannot be read.', error)
  }
}
