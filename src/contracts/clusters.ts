/** What the facade, which agents call, and the controllers share about clusters. */

/** Milliseconds without a connection after which a cluster counts as offline. */
export const OFFLINE_TIMEOUT_MS = 90_000
/** Milliseconds without any traffic after which an open connection counts as lost. */
export const SILENCE_TIMEOUT_MS = 30_000
/** Milliseconds for which a token stays valid once a newer one was issued. */
export const TOKEN_GRACE_PERIOD_MS = 600_000
/** Maximum valid tokens; more would only be forgotten ones. */
const JOIN_TOKENS_MAX = 10
/** Days for which an agent's certificate is valid. It is renewed after two thirds of them. */
export const CERTIFICATE_DAYS = 30

export const CLUSTER_STATES = ['AwaitingJoin', 'Joining', 'Online', 'Offline', 'Degraded', 'Revoked'] as const
export type ClusterState = (typeof CLUSTER_STATES)[number]

export type AgentFacts = {
  readonly joinedAt?: string | undefined
  readonly lastSeenAt?: string | undefined
  readonly connection?: string | undefined
  readonly lostConnection?: string | undefined
}

/** The parts of a PlatformCluster that determine its state. */
export type ClusterFacts = {
  readonly spec: { readonly isPlatform: boolean; readonly revokedAt?: string | undefined }
  readonly status?:
    | {
        readonly agent?: AgentFacts | undefined
        readonly revokedUntil?: string | undefined
        readonly nodeCount?: number | undefined
        readonly readyNodeCount?: number | undefined
      }
    | undefined
}

const timeOf = (text: string | undefined) => (text === undefined ? Number.NaN : Date.parse(text))

/** Whether a credential issued at that time is refused; only those issued after the revocation are accepted. */
export function isRevoked(issuedAt: number, revokedAt: string | undefined): boolean {
  return revokedAt !== undefined && !(issuedAt > timeOf(revokedAt))
}

/** Returns the newest revocation ever recorded: an old manifest may set an earlier one again. */
export function revokedAtOf({ spec, status }: Pick<ClusterFacts, 'spec' | 'status'>): string | undefined {
  const { revokedUntil } = status ?? {}
  return timeOf(revokedUntil) > (timeOf(spec.revokedAt) || 0) ? revokedUntil : spec.revokedAt
}

/**
 * Whether the newest connection is open. Its end is reported by the replica where it ended, or by the controllers if
 * nothing gets through it; a late report names an older connection and has no effect.
 */
export function isConnected({ connection, lostConnection }: AgentFacts = {}): boolean {
  return connection !== undefined && connection !== lostConnection
}

export function clusterStateOf({ spec, status }: ClusterFacts, now: number): ClusterState {
  const { nodeCount = 0, readyNodeCount = nodeCount, agent } = status ?? {}
  const whole: ClusterState = readyNodeCount < nodeCount ? 'Degraded' : 'Online'
  if (spec.isPlatform) return whole
  const joinedAt = timeOf(agent?.joinedAt)
  if (isRevoked(joinedAt, revokedAtOf({ spec, status }))) return 'Revoked'
  if (Number.isNaN(joinedAt)) return 'AwaitingJoin'
  if (isConnected(agent)) return whole
  if (now - lastHeardOf(agent) >= OFFLINE_TIMEOUT_MS) return 'Offline'
  return timeOf(agent?.lastSeenAt) >= joinedAt ? whole : 'Joining'
}

/** Returns NaN if no agent ever joined. */
function lastHeardOf(agent: AgentFacts | undefined): number {
  const times = [timeOf(agent?.joinedAt), timeOf(agent?.lastSeenAt)].filter((time) => !Number.isNaN(time))
  return times.length === 0 ? Number.NaN : Math.max(...times)
}

/** Returns the milliseconds until the state changes by itself; undefined if it never does. */
export function msUntilOffline({ status }: ClusterFacts, state: ClusterState, now: number): number | undefined {
  if (state !== 'Online' && state !== 'Joining' && state !== 'Degraded') return undefined
  const since = lastHeardOf(status?.agent)
  return isConnected(status?.agent) || Number.isNaN(since) ? undefined : Math.max(since + OFFLINE_TIMEOUT_MS - now, 1)
}

/** Whether workloads in the cluster can be read and changed now. */
export function isClusterReachable(state: ClusterState): boolean {
  return state === 'Online' || state === 'Degraded'
}

type Token = { readonly hash: string; readonly expiresAt: string; readonly reusable: boolean }

/** Adds a token: earlier ones end soon, and expired ones are dropped. */
export function withToken(tokens: readonly Token[], added: Token, now: number): Token[] {
  const end = now + TOKEN_GRACE_PERIOD_MS
  const before = tokens
    .filter(({ expiresAt }) => timeOf(expiresAt) > now)
    .map((token) => (timeOf(token.expiresAt) <= end ? token : { ...token, expiresAt: new Date(end).toISOString() }))
  return [...before.slice(-(JOIN_TOKENS_MAX - 1)), added]
}

/** Returns the tokens after this one was used; undefined if it is not valid. */
export function consumeJoinToken(tokens: readonly Token[], hash: string, now: number): readonly Token[] | undefined {
  const found = tokens.find((token) => token.hash === hash)
  if (found === undefined || !(timeOf(found.expiresAt) > now)) return undefined
  return found.reusable ? tokens : tokens.filter((token) => token !== found)
}

/** Cluster and incarnation that an agent's certificate names, and when it was issued. */
export type AgentIdentity = { readonly clusterId: string; readonly incarnation: string; readonly issuedAt: number }

/** Returns why an agent is refused; undefined if it is admitted. */
export function agentRefusalOf(
  { incarnation, issuedAt }: AgentIdentity,
  cluster:
    | (Pick<ClusterFacts, 'spec' | 'status'> & { incarnation: string | undefined; isBeingDeleted: boolean })
    | undefined,
): string | undefined {
  if (cluster === undefined || cluster.isBeingDeleted) return 'There is no such cluster.'
  if (cluster.spec.isPlatform) return 'The platform needs no agent in its own cluster.'
  // The id belongs to another cluster by now.
  if (cluster.incarnation !== incarnation) return 'The certificate belongs to a cluster that no longer exists.'
  if (isRevoked(issuedAt, revokedAtOf(cluster))) return 'The agent was revoked. Let it join again with a new token.'
  return undefined
}

/** What an agent reports when its tunnel opens. */
export type AgentGreeting = { version: string; kubernetesVersion: string; time: string }
/** Path of that report in a tunnel; no API server has it. */
export const GREETING_PATH = '/.freehold/greeting'

/** Paths where an agent joins and renews its certificate, and the answer, in PEM. */
export const JOIN_PATH = '/agents/join'
export const RENEW_PATH = '/agents/renew'
export type JoinAnswer = { clusterId: string; certificate: string; authority: string }
/** Name of the hub in its certificate, whatever the address that agents call. */
export const HUB_SERVER_NAME = 'freehold-hub'
/** Secret in the platform's namespace that signs the certificates of agents and of the hub. */
export const AGENT_AUTHORITY_SECRET = 'freehold-agent-authority'
/** Secret beside it: the certificate with which replicas relay requests to each other's tunnels. */
export const AGENT_PEER_SECRET = 'freehold-agent-peer'
/** Secret in the same namespace of the other cluster: the membership of its agent. */
export const MEMBERSHIP_SECRET = 'freehold-agent'
