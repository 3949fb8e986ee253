type Head = { kind: string; ref: string; commit: string; receivedAt: string; deliveryId: string }
type Known = { metadata: { creationTimestamp?: string | undefined } }

/** The deployments of whoever follows a branch, and since when there is one to follow it. */
export type Follower = { made: string | undefined; known: readonly Known[]; kept: number }

/**
 * What of the deliveries of a repository is to be deployed: where its branch stands now. A pull request is none, of a fork
 * least of all. What came before its follower was made is built with it, and what came before everything that is
 * remembered of it was deployed and forgotten.
 */
export function headToDeploy<One extends Head>(
  heads: readonly One[],
  branch: string,
  { made, known, kept }: Follower,
): One | undefined {
  const found = heads.find(({ kind, ref }) => kind === 'Push' && ref === `refs/heads/${branch}`)
  if (found === undefined) return undefined
  const at = Date.parse(found.receivedAt)
  if (at < Date.parse(made ?? found.receivedAt)) return undefined
  const times = known.map(({ metadata }) => Date.parse(metadata.creationTimestamp ?? found.receivedAt))
  return known.length >= kept && times.every((time) => time > at) ? undefined : found
}
