import type { BuildProgress } from '../contracts/builds/progress.ts'
import {
  type DeploymentPhase,
  furthestPhase,
  isBuildingPhase,
  isFinalPhase,
  type ReleaseProgress,
} from '../contracts/deployments.ts'
import type { DeploymentRecord } from '../crds/deployments.ts'

/** A deployment and what decides its phase. */
export type DeploymentFacts = {
  record: Pick<DeploymentRecord, 'spec' | 'status'>
  /** The other deployments of the same owner. */
  others: readonly Pick<DeploymentRecord, 'status'>[]
  /** State of its build; undefined if it was not started. */
  build?:
    | { phase: DeploymentPhase; message: string; image?: string | undefined; commit?: string | undefined }
    | undefined
  /** Whether its owner asks to cancel it. Ignored once the image is built. */
  isCancelled?: boolean
  /** The owner's report about the deployment that it was asked to serve. */
  release: ReleaseProgress | undefined
  id: string
  createdAt: number
  now: number
}

export type DeploymentDecision = {
  stage: DeploymentPhase
  message: string
  image?: string | undefined
  commitSha?: string | undefined
  /** Whether to start its build. */
  starts?: boolean
}

/** Milliseconds without a report after which an external build counts as failed. */
export const EXTERNAL_BUILD_TIMEOUT_MS = 2 * 3_600_000

const SENTENCES: Record<DeploymentPhase, string> = {
  Queued: 'It waits for its turn.',
  Cloning: 'The code is being fetched.',
  Building: 'The image is being built.',
  Pushing: 'The image is being pushed.',
  Deploying: 'It is being rolled out.',
  Succeeded: 'It is served.',
  Failed: 'It failed.',
  Cancelled: 'It was cancelled.',
  Superseded: 'A newer deployment took its place.',
}

const decision = (stage: DeploymentPhase, message: string = SENTENCES[stage]): DeploymentDecision => ({
  stage,
  message,
})

/** Converts build progress. A started build counts as Cloning at once, so that others wait for it. */
export function deploymentBuild(progress: BuildProgress, image: string): NonNullable<DeploymentFacts['build']> {
  const { phase = 'Cloning', outcome, message, commit, digest } = progress
  if (outcome === undefined) return { phase, message, commit }
  if (outcome === 'Succeeded') return { phase: 'Deploying', message, commit, image: `${image}@${digest}` }
  return { phase: 'Failed', message, commit }
}

/** Decides the current phase of a deployment. Phases only move forward, and a final phase stays. */
export function decideDeployment(seen: DeploymentFacts): DeploymentDecision {
  const { record } = seen
  const before = record.status?.stage
  const known = { image: record.status?.image, commitSha: record.status?.commitSha }
  if (before !== undefined && isFinalPhase(before))
    return { ...known, stage: before, message: record.status?.lastMessage ?? '' }
  if (mustCancel(seen)) return { ...known, ...decision('Cancelled') }
  const end = reportedEnd(record.spec)
  if (end !== undefined) return end
  const next = before === 'Deploying' ? decideDeploying(seen) : decideBuilding(seen)
  const stage = furthestPhase(before, next.stage)
  return { ...known, ...next, stage }
}

/** A cancellation that REST confirmed holds even if the image has just been built; the owner keeps what it served. */
function mustCancel({ record: { spec, status }, isCancelled }: DeploymentFacts): boolean {
  if (spec.cancelledAt !== undefined) return true
  return isCancelled === true && spec.strategy !== 'Image' && status?.stage !== 'Deploying'
}

/** The end that its builder reported, which REST has confirmed, holds without an image: the owner keeps what it served. */
function reportedEnd({ strategy, phase, message, commitSha }: DeploymentFacts['record']['spec']) {
  if (strategy !== 'Reported' || phase === undefined || phase === 'Succeeded' || !isFinalPhase(phase)) return undefined
  return { ...decision(phase, message), commitSha }
}

const numberOf = ({ status }: Pick<DeploymentRecord, 'status'>) => status?.number ?? Number.MAX_SAFE_INTEGER

function newerDeployments({ record, others }: DeploymentFacts) {
  return others.filter((one) => numberOf(one) > numberOf(record))
}

const isReleased = ({ status }: Pick<DeploymentRecord, 'status'>) =>
  status?.stage === 'Deploying' || status?.stage === 'Succeeded'

/** Phases after the image exists: the owner rolls it out. */
function decideDeploying(seen: DeploymentFacts): DeploymentDecision {
  if (newerDeployments(seen).some(isReleased)) return decision('Superseded')
  if (seen.release?.deploymentId !== seen.id) return decision('Deploying')
  if (seen.release.state === 'Failed') return decision('Failed', seen.release.message)
  return decision(seen.release.state === 'Serving' ? 'Succeeded' : 'Deploying')
}

function decideBuilding(seen: DeploymentFacts): DeploymentDecision {
  const { spec } = seen.record
  if (newerDeployments(seen).some(isReleased)) return decision('Superseded')
  if (spec.strategy === 'Image') return { ...decideDeploying(seen), image: spec.image, commitSha: spec.commitSha }
  return spec.strategy === 'Reported' ? decideReported(seen) : decideBuilt(seen)
}

function decideReported({ record: { spec }, createdAt, now }: DeploymentFacts): DeploymentDecision {
  const { phase = 'Queued', message, image, commitSha, timestamp } = spec
  const lastReportAt = Math.max(createdAt, timestamp === undefined ? 0 : Date.parse(timestamp))
  if (phase !== 'Succeeded' && phase !== 'Deploying' && now - lastReportAt >= EXTERNAL_BUILD_TIMEOUT_MS)
    return decision('Failed', 'Its builder has reported nothing for two hours.')
  if (phase === 'Deploying' || phase === 'Succeeded') return { ...decision('Deploying'), image, commitSha }
  return { ...decision(phase, message), commitSha }
}

function decideBuilt(seen: DeploymentFacts): DeploymentDecision {
  const { record, others, build } = seen
  if (build !== undefined) {
    const { phase, message, image, commit } = build
    if (phase === 'Deploying') return { ...decision('Deploying'), image, commitSha: commit ?? record.spec.commitSha }
    return { ...decision(phase, message), commitSha: commit ?? record.spec.commitSha }
  }
  if (isBuildingPhase(record.status?.stage)) return decision('Failed', 'Its build was removed before it ended.')
  const waits = newerDeployments(seen).some(({ status }) => status?.stage === 'Queued')
  if (waits) return decision('Superseded')
  if (others.some(({ status }) => isBuildingPhase(status?.stage)))
    return decision('Queued', 'An earlier build is still under way.')
  return { ...decision('Queued'), starts: true }
}
