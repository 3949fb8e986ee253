import type { BlobOwner } from '../blobs/port.ts'

export type BuildLogState = { lineCount: number; sizeBytes: number; isFinal: boolean }

export type BuildLogPage = { lines: string[]; isEnd: boolean; isFinal: boolean }

/** The deployment of a log, which owns it. */
export type BuildLogOwner = Omit<BlobOwner, 'labels'> & { namespace: string }

/** The stored logs of builds, wherever the builds ran. */
export interface BuildLogs {
  /**
   * @param offset number of the first line, by default the end; lines that are already stored are not written again
   * @param isFinal whether the log is complete with these lines
   * @param maxBytes of the whole log, at most MAX_BUILD_LOG_BYTES
   * @throws PlatformError LOG_GAP, BODY_TOO_LARGE, INVALID_STATE, TOO_MANY_REQUESTS
   */
  append(
    deployment: BuildLogOwner,
    lines: readonly string[],
    options: { offset?: number | undefined; isFinal: boolean; maxBytes?: number },
  ): Promise<BuildLogState>
  /**
   * @param limit maximum number of lines; fewer are returned if they are long
   * @returns lines from the offset on, and whether they reach the current end
   */
  read(deployment: BuildLogOwner, offset: number, limit: number): Promise<BuildLogPage>
  /**
   * Deletes the oldest logs, until the rest take at most `bytes` together.
   *
   * @param deployments newest first
   */
  forgetOldest(deployments: readonly BuildLogOwner[], bytes: number): Promise<void>
}
