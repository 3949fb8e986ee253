import type { BlobOwner } from '../blobs/port.ts'

export type BuildLogState = { lineCount: number; sizeBytes: number; isFinal: boolean }

export type BuildLogPage = { lines: string[]; isEnd: boolean; isFinal: boolean }

/** The deployment whose log it is; the log goes with it. */
export type LoggedDeployment = Omit<BlobOwner, 'labels'> & { namespace: string }

/** What was kept of the logs of builds, wherever they ran. */
export interface BuildLogs {
  /**
   * @param offset number of the first line, the end if absent; lines that are there already are not written twice
   * @param isFinal whether nothing follows
   * @throws PlatformError LOG_GAP, BODY_TOO_LARGE, INVALID_STATE, TOO_MANY_REQUESTS
   */
  append(
    deployment: LoggedDeployment,
    lines: readonly string[],
    options: { offset?: number | undefined; isFinal: boolean },
  ): Promise<BuildLogState>
  /**
   * @param most lines; fewer are given where they are long
   * @returns lines from the offset on, and whether they reach the end of what is there now
   */
  read(deployment: LoggedDeployment, offset: number, most: number): Promise<BuildLogPage>
  /**
   * Removes the oldest, so that the others have room for so many bytes together.
   *
   * @param deployments newest first
   */
  forgetOldest(deployments: readonly LoggedDeployment[], bytes: number): Promise<void>
}
