import type { BlobOwner } from '../blobs/port.ts'

export type BuildLogState = { lineCount: number; sizeBytes: number; isFinal: boolean }

/** The deployment whose log it is; the log goes with it. */
export type LoggedDeployment = Omit<BlobOwner, 'labels'> & { namespace: string }

/** What was kept of the logs of builds, wherever they ran. */
export interface BuildLogs {
  /**
   * @param offset number of the first line, the end if absent; lines that are there already are not written twice
   * @param isFinal whether nothing follows
   * @throws PlatformError LOG_GAP, BODY_TOO_LARGE, INVALID_STATE
   */
  append(
    deployment: LoggedDeployment,
    lines: readonly string[],
    options: { offset?: number | undefined; isFinal: boolean },
  ): Promise<BuildLogState>
  /** @returns lines from the offset on */
  read(deployment: LoggedDeployment, offset: number): Promise<{ lines: string[]; isFinal: boolean }>
}
