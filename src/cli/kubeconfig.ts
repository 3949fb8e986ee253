import { decodeJwt } from 'jose/jwt/decode'
import type { KubernetesServer } from './devFile.ts'

const EXEC_API = 'client.authentication.k8s.io/v1'
/** What kubectl runs, behind this program's own words; by it a kubeconfig of ours is known again. */
const PLUGIN = ['token', '--exec-credential'] as const

/** Context, cluster and user: people see of which platform a kubeconfig is. */
const entryOf = (facadeUrl: string) => `freehold-${new URL(facadeUrl).host}`

/** How long before a token expires kubectl asks for the next, as every command of ours does. */
const MARGIN_SECONDS = 60

export type KubeconfigParts = {
  /** The platform that it is of. */
  facadeUrl: string
  kubernetes: KubernetesServer
  /** This program, as it is started. */
  program: readonly [string, ...string[]]
  namespace: string | undefined
}

/**
 * A kubeconfig that holds nothing secret: kubectl asks this program for a token whenever it needs one (Kubernetes
 * documentation, "client-go credential plugins").
 */
export function kubeconfigFor({ facadeUrl, kubernetes, program, namespace }: KubeconfigParts): object {
  const name = entryOf(facadeUrl)
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
            // The token of another platform would go to this one's server, and be of no use there.
            args: [...words, ...PLUGIN, '--platform', facadeUrl],
            // Signing in is `freehold login`: a plugin that opened browsers would do so for every script.
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

/** Whether a kubeconfig holds one entry of ours and nothing beside it. */
export function isOurs(content: unknown): boolean {
  const { clusters, users, contexts } = (content ?? {}) as Record<string, unknown>
  const hasOne = [clusters, users, contexts].every((entries) => Array.isArray(entries) && entries.length === 1)
  const [user] = hasOne ? (users as { user?: { exec?: { args?: unknown } } }[]) : []
  const args = user?.user?.exec?.args
  return Array.isArray(args) && PLUGIN.every((word) => args.includes(word))
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
