type Head = { kind: string; ref: string; commit: string; receivedAt: string; deliveryId: string }
type Known = {
  metadata: { creationTimestamp?: string | undefined }
  status?: { commitSha?: string | undefined } | undefined
}

/** The deployments of whoever follows a branch, and since when there is one to follow it. */
export type Follower = {
  made: string | undefined
  /** By the push itself: times have whole seconds, and its first build takes what was pushed. */
  isMadeByPush?: boolean
  known: readonly Known[]
  kept: number
}

/**
 * What of the deliveries of a repository is to be deployed: where its branch stands now. A pull request is none, of a fork
 * least of all. What came before its follower was made is built with it, and what came before everything that is
 * remembered of it was deployed and forgotten. What was built already as it came, or after it, is not built again:
 * the first one takes whatever the branch has, the push that is told of a moment later included.
 */
export function headToDeploy<One extends Head>(
  heads: readonly One[],
  branch: string,
  { made, isMadeByPush = false, known, kept }: Follower,
): One | undefined {
  const found = heads.find(({ kind, ref }) => kind === 'Push' && ref === `refs/heads/${branch}`)
  if (found === undefined) return undefined
  const at = Date.parse(found.receivedAt)
  const madeSince = Date.parse(made ?? found.receivedAt)
  if (at < madeSince || (isMadeByPush && at === madeSince)) return undefined
  // What came after the one that was built of it was asked for by somebody who knew of it.
  const newestFirst = known.toSorted((one, other) => madeAt(other) - madeAt(one))
  const before = newestFirst.findIndex((one) => madeAt(one) <= at)
  const since = newestFirst.slice(0, before < 0 ? undefined : before + 1)
  if (since.some(({ status }) => status?.commitSha === found.commit)) return undefined
  const times = known.map(({ metadata }) => Date.parse(metadata.creationTimestamp ?? found.receivedAt))
  return known.length >= kept && times.every((time) => time > at) ? undefined : found
}

const madeAt = ({ metadata }: Known) => Date.parse(metadata.creationTimestamp ?? '') || 0
