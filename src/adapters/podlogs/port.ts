import type { LogLine } from '../../contracts/logs.ts'

/** `clusterId` names the cluster that the pod is in; the platform's own if undefined. */
export type LogSource = { namespace: string; pod: string; container: string; clusterId?: string | undefined }

export type LogWindow = {
  /** Lines from the end. */
  tailLines?: number | undefined
  sinceSeconds?: number | undefined
  /** RFC 3339; counted in whole seconds, so that a few earlier lines may come too. */
  sinceTime?: string | undefined
  /** Goes on with new lines until the container ends or the signal is aborted. */
  follow?: boolean | undefined
  /** Of the container's run before this one. */
  previous?: boolean | undefined
  /** Each line begins with its RFC 3339 time. */
  timestamps?: boolean | undefined
  signal?: AbortSignal | undefined
}

/** What containers wrote, from wherever their nodes keep it. */
export interface PodLogs {
  /**
   * The text as it comes, oldest first. What is not read is not sent either: the node waits.
   *
   * @returns undefined if there is none: no such pod, container or earlier run, or it has not started
   * @throws PlatformError UPSTREAM_FAILED if the node does not answer
   */
  open(source: LogSource, window?: LogWindow): Promise<AsyncIterable<Uint8Array> | undefined>
}

export type FollowOptions = {
  /** Lines from the end to begin with. */
  tailLines: number
  signal: AbortSignal
}

/** Logs that many may follow at the cost of one. */
export interface FollowedPodLogs extends PodLogs {
  /**
   * First the end of what was written, at once and perhaps empty; then new lines in batches, each line once, until the
   * pod has ended or the signal is aborted. A container that starts again goes on in the same stream.
   *
   * @throws PlatformError UPSTREAM_FAILED if the node does not answer; TOO_MANY_REQUESTS if the reader fell so far behind
   *   others that it was cut off
   */
  follow(source: LogSource, options: FollowOptions): AsyncGenerator<readonly LogLine[]>
}

/** The last `most` bytes of a log, beginning at the start of a line if something was cut. Holds one chunk more at most. */
export async function lastBytes(chunks: AsyncIterable<Uint8Array>, most: number): Promise<Uint8Array> {
  const kept: Uint8Array[] = []
  let size = 0
  for await (const chunk of chunks) {
    kept.push(chunk)
    size += chunk.length
    while (size - (kept[0]?.length ?? 0) >= most) size -= kept.shift()?.length ?? 0
  }
  const whole = Buffer.concat(kept)
  if (whole.length <= most) return whole
  const end = whole.subarray(whole.length - most)
  return end.subarray(end.indexOf(0x0a) + 1)
}
