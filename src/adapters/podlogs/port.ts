import type { LogLine } from '../../contracts/logs.ts'

/** `clusterId` names the pod's cluster; by default the platform's own. */
export type LogSource = { namespace: string; pod: string; container: string; clusterId?: string | undefined }

export type LogWindow = {
  /** Number of lines from the end. */
  tailLines?: number | undefined
  sinceSeconds?: number | undefined
  /** RFC 3339. The node truncates it to seconds, so a few earlier lines may be repeated. */
  sinceTime?: string | undefined
  /** Streams new lines until the container ends or the signal is aborted. */
  follow?: boolean | undefined
  /** Reads the container's previous run. */
  previous?: boolean | undefined
  /** Prefixes each line with its RFC 3339 time. */
  timestamps?: boolean | undefined
  signal?: AbortSignal | undefined
}

/** Logs of containers, whichever cluster they run in. */
export interface PodLogs {
  /**
   * Streams the log, oldest first. Backpressure reaches the node.
   *
   * @returns undefined if there is no log: no such pod, container or earlier run, or it has not started
   * @throws PlatformError UPSTREAM_FAILED if the node does not answer
   */
  open(source: LogSource, window?: LogWindow): Promise<AsyncIterable<Uint8Array> | undefined>
}

export type FollowOptions = {
  /** Number of existing lines to begin with. */
  tailLines: number
  signal: AbortSignal
}

/** Logs that share one stream among all followers. */
export interface FollowedPodLogs extends PodLogs {
  /**
   * Yields the end of the existing log, perhaps empty, then new lines in batches, each line once, until the pod has
   * ended or the signal is aborted. Continues when the container restarts.
   *
   * @throws PlatformError UPSTREAM_FAILED if the node does not answer; TOO_MANY_REQUESTS if the reader was cut off
   *   because it fell too far behind
   */
  follow(source: LogSource, options: FollowOptions): AsyncGenerator<readonly LogLine[]>
}

/** Returns the last `maxBytes` of a log, from the start of a line if it was cut. Buffers at most one chunk more. */
export async function lastBytes(chunks: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
  const kept: Uint8Array[] = []
  let size = 0
  for await (const chunk of chunks) {
    kept.push(chunk)
    size += chunk.length
    while (size - (kept[0]?.length ?? 0) >= maxBytes) size -= kept.shift()?.length ?? 0
  }
  const whole = Buffer.concat(kept)
  if (whole.length <= maxBytes) return whole
  const end = whole.subarray(whole.length - maxBytes)
  return end.subarray(end.indexOf(0x0a) + 1)
}
