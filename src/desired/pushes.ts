type Head = { kind: string; ref: string; commit: string; receivedAt: string; deliveryId: string }
type KnownDeployment = {
  metadata: { creationTimestamp?: string | undefined }
  status?: { commitSha?: string | undefined } | undefined
}

/** The deployments of a resource that follows a branch, and when it was created. */
export type Follower = {
  createdAt: string | undefined
  /** Whether the push created it: timestamps have whole seconds, and its first build already includes the push. */
  isMadeByPush?: boolean
  deployments: readonly KnownDeployment[]
  maxDeployments: number
}

/**
 * Returns the head of the branch if it must be deployed. Pull requests never are, least of all those of forks. Pushes
 * from before the resource was created are in its first build; pushes older than all deployments that are kept were
 * already deployed. A commit that the build from before the push or a later one has built is not built again: a build
 * takes the current head, which may already be a push whose delivery arrives a moment later.
 */
export function headToDeploy<One extends Head>(
  heads: readonly One[],
  branch: string,
  { createdAt, isMadeByPush = false, deployments, maxDeployments }: Follower,
): One | undefined {
  const found = heads.find(({ kind, ref }) => kind === 'Push' && ref === `refs/heads/${branch}`)
  if (found === undefined) return undefined
  const pushedAt = Date.parse(found.receivedAt)
  const madeSince = Date.parse(createdAt ?? found.receivedAt)
  if (pushedAt < madeSince || (isMadeByPush && pushedAt === madeSince)) return undefined
  // A deployment later than the one that built this commit was requested by someone who knew of the push.
  const newestFirst = deployments.toSorted((one, other) => madeAt(other) - madeAt(one))
  const before = newestFirst.findIndex((one) => madeAt(one) <= pushedAt)
  const since = newestFirst.slice(0, before < 0 ? undefined : before + 1)
  if (since.some(({ status }) => status?.commitSha === found.commit)) return undefined
  const times = deployments.map(({ metadata }) => Date.parse(metadata.creationTimestamp ?? found.receivedAt))
  return deployments.length >= maxDeployments && times.every((time) => time > pushedAt) ? undefined : found
}

const madeAt = ({ metadata }: KnownDeployment) => Date.parse(metadata.creationTimestamp ?? '') || 0
