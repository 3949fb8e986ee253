import { dump } from 'js-yaml'
import { writePrivate } from './files.ts'

/** Credentials for the API server: a client certificate or a token. */
export type KubeconfigContext = {
  name: string
  user: { certPem: string; keyPem: string } | { token: string }
  namespace?: string
}

export type Kubeconfig = {
  apiVersion: 'v1'
  kind: 'Config'
  clusters: { name: string; cluster: Record<string, unknown> }[]
  users: { name: string; user: Record<string, unknown> }[]
  contexts: { name: string; context: Record<string, unknown> }[]
  'current-context': string
}

/** Connection options for an API server that somebody else set up. */
export type Reach = {
  /** The name in its certificate, if it differs from that of the address. */
  serverName?: string | undefined
  /** Its certificate is not verified, because the given kubeconfig does not verify it either. */
  isUnchecked?: boolean | undefined
  proxyUrl?: string | undefined
}

const base64 = (text: string) => Buffer.from(text).toString('base64')

/** A kubeconfig with everything in it, so that it may be copied; the first context is the current one. */
export function kubeconfigOf(
  server: string,
  caPem: string,
  contexts: readonly KubeconfigContext[],
  { serverName, isUnchecked = false, proxyUrl }: Reach = {},
): Kubeconfig {
  const cluster = {
    server,
    // kubectl refuses an authority together with an unverified certificate, and an empty authority.
    ...(isUnchecked
      ? { 'insecure-skip-tls-verify': true }
      : caPem !== '' && { 'certificate-authority-data': base64(caPem) }),
    ...(serverName !== undefined && { 'tls-server-name': serverName }),
    ...(proxyUrl !== undefined && { 'proxy-url': proxyUrl }),
  }
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'freehold', cluster }],
    users: contexts.map(({ name, user }) => ({
      name,
      user:
        'token' in user
          ? { token: user.token }
          : { 'client-certificate-data': base64(user.certPem), 'client-key-data': base64(user.keyPem) },
    })),
    contexts: contexts.map(({ name, namespace }) => ({
      name,
      context: { cluster: 'freehold', user: name, ...(namespace === undefined ? {} : { namespace }) },
    })),
    'current-context': contexts[0]?.name ?? '',
  }
}

export async function writeKubeconfigFile(path: string, kubeconfig: Kubeconfig): Promise<void> {
  await writePrivate(path, dump(kubeconfig, { lineWidth: -1 }))
}
