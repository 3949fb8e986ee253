import { decodeJwt } from 'jose/jwt/decode'
import type { KubernetesServer } from './devFile.ts'

const EXEC_API = 'client.authentication.k8s.io/v1'
/** Arguments of the credential plugin, by which we recognise our own kubeconfigs. */
const PLUGIN = ['token', '--exec-credential'] as const

/** Name of context, cluster and user, which shows the platform. */
const entryNameOf = (facadeUrl: string) => `freehold-${new URL(facadeUrl).host}`

/** Seconds before its expiry that a token is reported as expired, like in all our commands. */
const EXPIRY_MARGIN_SECONDS = 60

export type KubeconfigParts = {
  /** The platform of the kubeconfig. */
  facadeUrl: string
  kubernetes: KubernetesServer
  /** The command line that starts this program. */
  program: readonly [string, ...string[]]
  namespace: string | undefined
}

/**
 * Builds a kubeconfig without secrets: kubectl runs this program as a credential plugin (Kubernetes documentation,
 * "client-go credential plugins").
 */
export function buildKubeconfig({ facadeUrl, kubernetes, program, namespace }: KubeconfigParts): object {
  const name = entryNameOf(facadeUrl)
  const { server, certificateAuthorityData } = kubernetes
  const [command, ...words] = program
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name,
        cluster: {
          server,
          ...(certificateAuthorityData !== undefined && { 'certificate-authority-data': certificateAuthorityData }),
        },
      },
    ],
    users: [
      {
        name,
        user: {
          exec: {
            apiVersion: EXEC_API,
            command,
            // Otherwise a token of another platform would be sent to this one's API server.
            args: [...words, ...PLUGIN, '--platform', facadeUrl],
            // Signing in is left to `freehold login`: a plugin that opens a browser would do so in scripts, too.
            interactiveMode: 'Never',
            provideClusterInfo: false,
            installHint:
              'The command `freehold` is gone from where this kubeconfig was made; run `freehold kubeconfig`.',
          },
        },
      },
    ],
    contexts: [{ name, context: { cluster: name, user: name, ...(namespace !== undefined && { namespace }) } }],
    'current-context': name,
  }
}

/** Whether a kubeconfig holds one entry of ours and nothing else. */
export function isOwnKubeconfig(content: unknown): boolean {
  const { clusters, users, contexts } = (content ?? {}) as Record<string, unknown>
  const hasOne = [clusters, users, contexts].every((entries) => Array.isArray(entries) && entries.length === 1)
  const [user] = hasOne ? (users as { user?: { exec?: { args?: unknown } } }[]) : []
  const args = user?.user?.exec?.args
  return Array.isArray(args) && PLUGIN.every((word) => args.includes(word))
}

/**
 * Builds the answer of a credential plugin.
 *
 * @param now milliseconds since the epoch
 */
export function buildExecCredential(token: string, now: number): object {
  const expiresAt = expiryOf(token)
  // Never in the past, or kubectl would run the plugin for every request.
  const until =
    expiresAt === undefined ? undefined : Math.max(expiresAt - EXPIRY_MARGIN_SECONDS, Math.ceil(now / 1000) + 1)
  return {
    apiVersion: EXEC_API,
    kind: 'ExecCredential',
    status: {
      token,
      // Kubernetes expects RFC 3339 without fractions of a second.
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
