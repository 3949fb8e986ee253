export type LogSource = { namespace: string; pod: string; container: string }

export type LogWindow = {
  /** Lines from the end. */
  tailLines?: number | undefined
  sinceSeconds?: number | undefined
  /** Goes on with new lines until the container ends or the signal is aborted. */
  follow?: boolean | undefined
  /** Each line begins with its RFC 3339 time. */
  timestamps?: boolean | undefined
  signal?: AbortSignal | undefined
}

/** What containers wrote, from wherever their nodes keep it. */
export interface PodLogs {
  /**
   * The text as it comes, oldest first.
   *
   * @returns undefined if there is none: no such pod or container, or it has not started
   * @throws PlatformError UPSTREAM_FAILED if the node does not answer
   */
  open(source: LogSource, window?: LogWindow): Promise<AsyncIterable<Uint8Array> | undefined>
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
