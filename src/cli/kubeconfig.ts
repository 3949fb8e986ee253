import { decodeJwt } from 'jose'
import type { KubernetesServer } from './devFile.ts'

const EXEC_API = 'client.authentication.k8s.io/v1'
/** Context, cluster and user of a kubeconfig that this program writes. */
export const ENTRY = 'freehold'
/** How long before a token expires kubectl asks for the next, as every command of ours does. */
const MARGIN_SECONDS = 60

export type KubeconfigParts = {
  kubernetes: KubernetesServer
  /** This program, as it is started. */
  program: readonly [string, ...string[]]
  namespace: string | undefined
}

/**
 * A kubeconfig that holds nothing secret: kubectl asks this program for a token whenever it needs one (Kubernetes
 * documentation, "client-go credential plugins").
 */
export function kubeconfigFor({ kubernetes, program, namespace }: KubeconfigParts): object {
  const { server, certificateAuthorityData } = kubernetes
  const [command, ...words] = program
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: ENTRY,
        cluster: {
          server,
          ...(certificateAuthorityData !== undefined && { 'certificate-authority-data': certificateAuthorityData }),
        },
      },
    ],
    users: [
      {
        name: ENTRY,
        user: {
          exec: {
            apiVersion: EXEC_API,
            command,
            args: [...words, 'token', '--exec-credential'],
            // Signing in is `freehold login`: a plugin that opened browsers would do so for every script.
            interactiveMode: 'Never',
            provideClusterInfo: false,
            installHint:
              'The command `freehold` is gone from where this kubeconfig was made; run `freehold kubeconfig`.',
          },
        },
      },
    ],
    contexts: [
      { name: ENTRY, context: { cluster: ENTRY, user: ENTRY, ...(namespace !== undefined && { namespace }) } },
    ],
    'current-context': ENTRY,
  }
}

/**
 * A token as credential plugins answer with it.
 *
 * @param now milliseconds since the epoch
 */
export function execCredential(token: string, now: number): object {
  const expiresAt = expiryOf(token)
  // Never in the past: kubectl would ask again for every request.
  const until = expiresAt === undefined ? undefined : Math.max(expiresAt - MARGIN_SECONDS, Math.ceil(now / 1000) + 1)
  return {
    apiVersion: EXEC_API,
    kind: 'ExecCredential',
    status: {
      token,
      // RFC 3339 to the second, as Kubernetes reads times.
      ...(until !== undefined && { expirationTimestamp: new Date(until * 1000).toISOString().replace('.000Z', 'Z') }),
    },
  }
}

function expiryOf(token: string): number | undefined {
  try {
    return decodeJwt(token).exp
  } catch {
    return undefined
  }
}
