import { lastBytes, type PodLogs } from '../../adapters/podlogs/port.ts'
import { BUILD_CONTAINERS, BUILD_NAMESPACE } from '../../contracts/builds/progress.ts'
import {
  BUILD_LOG_LINES_MAX,
  isFinalPhase,
  lastLogLines,
  MAX_OWNER_LOG_BYTES,
  sortDeploymentsNewestFirst,
} from '../../contracts/deployments.ts'
import { KEPT_LOG_BYTES } from '../../contracts/logs.ts'
import { messageOf, PlatformError } from '../../core/errors.ts'
import { done } from '../../core/outcome.ts'
import { buildLogOwnerOf } from '../../crds/deployments.ts'
import { SIMULATED_BUILD_MESSAGE } from '../../desired/builds/index.ts'
import { lastStartedPod } from '../../desired/workload/lastStartedPod.ts'
import { withSecretRights } from '../workload/secrets.ts'
import { deploymentsOf, type RecordPass } from './owners.ts'
import type { BuildOptions, RecordState, RecordStep } from './types.ts'

type BuildPass = RecordPass<RecordState>

/** Milliseconds after the end of a build until an unreadable log is given up, and between two attempts. */
const LOG_TIMEOUT_MS = 60_000
const LOG_RETRY_MS = 5_000

/** Limits per container; together they fit what is kept of a log, including line ends. */
const MAX_PART_BYTES = KEPT_LOG_BYTES / 2
const MAX_PART_LINES = BUILD_LOG_LINES_MAX / 2

/** Stores the logs of a build's containers, in order, before its pod is deleted. */
export function keepBuildLog({ logs, buildLogs, isSimulated }: BuildOptions): RecordStep {
  return function keepBuildLog(pass) {
    return withSecretRights(async () => {
      const { object, state, clock, now } = pass
      const { build, decision } = state
      if (build === undefined || object.status?.logLines !== undefined) return done()
      if (!build.isOver && !isFinalPhase(decision?.stage)) return done()
      const lines = isSimulated ? [SIMULATED_BUILD_MESSAGE] : await linesOf(pass, logs)
      const endedAt = Date.parse(object.status?.finishedAt ?? build.job.status?.completionTime ?? now)
      if (lines === undefined && clock.now() - endedAt < LOG_TIMEOUT_MS) return done({ after: LOG_RETRY_MS })
      const kept = lines ?? ['The log of this build could not be read.']
      const write = (some: readonly string[], offset?: number) =>
        buildLogs.append(buildLogOwnerOf(object), some, { offset, isFinal: true })
      // A full log stays as it is: it must not change the outcome of the build.
      const { lineCount } = await write(kept, 0).catch((error: unknown) => {
        if (isFull(error)) return write([])
        throw error
      })
      pass.report({ logLines: lineCount })
      return done()
    })
  }
}

const isFull = (error: unknown) =>
  error instanceof PlatformError && (error.code === 'INVALID_STATE' || error.code === 'BODY_TOO_LARGE')

/** Evicts old logs to make room for a new deployment's log, once per deployment. */
export function evictOldLogs({ buildLogs }: Pick<BuildOptions, 'buildLogs'>): RecordStep {
  return function evictOldLogs(pass) {
    const { object, records } = pass
    if (object.status?.number !== undefined) return done()
    const { ownerCollection: collection, ownerName: name } = object.spec
    const older = deploymentsOf(records, { namespace: object.metadata.namespace, collection, name }).filter(
      ({ metadata, status }) => metadata.uid !== object.metadata.uid && isFinalPhase(status?.stage),
    )
    return withSecretRights(async () => {
      await buildLogs.forgetOldest(sortDeploymentsNewestFirst(older).map(buildLogOwnerOf), MAX_OWNER_LOG_BYTES)
      return done()
    })
  }
}

/** Returns undefined while the node cannot provide the logs. */
async function linesOf({ state, log }: BuildPass, logs: PodLogs): Promise<string[] | undefined> {
  const last = lastStartedPod(state.build?.pods ?? [])
  if (last === undefined) return []
  const kept: string[][] = []
  try {
    for (const container of BUILD_CONTAINERS) {
      const chunks = await logs.open({ namespace: BUILD_NAMESPACE, pod: last.metadata.name, container })
      const share = container === 'build' ? 1 : 1 / 4
      if (chunks === undefined) continue
      kept.push(lastLogLines(await lastBytes(chunks, MAX_PART_BYTES * share), MAX_PART_LINES * share))
    }
  } catch (error) {
    log.debug({ error: messageOf(error) }, 'The log of a build could not be read.')
    return undefined
  }
  return kept.flat()
}
