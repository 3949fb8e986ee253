import type { ClusterAccess } from '../kubeconfig/access.ts'
import { loadKubeconfig } from '../kubeconfig/kubeconfig.ts'
import { CommandFailure, EXIT, localTrouble } from './failure.ts'
import { networkRemedy } from './networkTrouble.ts'
import type { Session } from './session.ts'

/** Where an API server is, and what is shown to it. */
export type KubernetesAccess = Pick<ClusterAccess, 'server' | 'proxyUrl' | 'tls' | 'authorization'>
export type KubernetesAnswer = { readonly status: number; readonly body: Readonly<Record<string, unknown>> }
/** Asks the API server. @throws CommandFailure (network) where no answer of an API server came */
export type SendToKubernetes = (
  path: string,
  init?: { method?: string; body?: string; accept?: string; contentType?: string },
) => Promise<KubernetesAnswer>

/** The API server of a kubeconfig's current context, as the user whom it names. @throws CommandFailure (local) */
export function accessOfKubeconfig(path: string): KubernetesAccess {
  try {
    return loadKubeconfig(path)
  } catch (error) {
    throw localTrouble(`${path} cannot be used as a kubeconfig.`, error)
  }
}

/** The API server of the platform that the caller is signed in to; undefined where none is known. */
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

/** One connection for the requests of a command. @throws CommandFailure (local) where the credentials cannot be read */
export async function openKubernetes(access: KubernetesAccess, signal: AbortSignal): Promise<SendToKubernetes> {
  const { server, proxyUrl } = access
  // Slow to load, and only needed here.
  const { Agent, ProxyAgent, fetch } = await import('undici')
  const shown = await shownTo(access)
  const dispatcher =
    proxyUrl === undefined
      ? new Agent({ connect: shown.tls })
      : new ProxyAgent({ uri: proxyUrl, requestTls: shown.tls })
  return async (path, { method = 'GET', body, accept = 'application/json', contentType = APPLY } = {}) => {
    const headers = {
      accept,
      ...(shown.authorization && { authorization: shown.authorization }),
      ...(body !== undefined && { 'content-type': contentType }),
    }
    const init = { method, headers, dispatcher, signal, ...(body !== undefined && { body }) }
    const asked = fetch(`${server}${path}`, init).then(async (answer) => [answer.status, await answer.text()] as const)
    const [status, text] = await asked.catch((error) => {
      throw signal.aborted ? error : noAnswer(server, error)
    })
    return read(server, status, text)
  }
}

function noAnswer(server: string, error: unknown): CommandFailure {
  const { message } = ((error as Error).cause ?? error) as Error
  const sentences = [`No answer from the API server at ${server}: ${message}.`, networkRemedy(error)]
  return new CommandFailure(EXIT.network, sentences.filter(Boolean).join(' '), { cause: error })
}

/** A path that no version has is told in plain text; a proxy in between may say anything. */
function read(server: string, status: number, text: string): KubernetesAnswer {
  try {
    return { status, body: JSON.parse(text) as Record<string, unknown> }
  } catch {
    if (status === 404) return { status, body: { message: 'it has no such path' } }
    const hint = 'is that the address of an API server?'
    throw new CommandFailure(EXIT.network, `${server} answered ${status}, and not in JSON: ${hint}`)
  }
}

/** Files and plugins are asked now: what they lack is no trouble of the network. */
async function shownTo({ tls, authorization }: KubernetesAccess) {
  try {
    return { tls: await tls(), authorization: await authorization() }
  } catch (error) {
    if (error instanceof CommandFailure) throw error
    throw localTrouble('The credentials of the kubeconfig cannot be read.', error)
  }
}
