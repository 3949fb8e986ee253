import { uuidV5 } from '../core/ids.ts'
import { childName } from '../core/names.ts'
import { namespaceOfFunction } from './functions.ts'
import { cutLine } from './logs.ts'

/** What facade and controllers share about deployments: one build or release of an app, a site or a function. */

/** In the order of a deployment's life; the last four are final. */
export const DEPLOYMENT_PHASES = [
  'Queued',
  'Cloning',
  'Building',
  'Pushing',
  'Deploying',
  'Succeeded',
  'Failed',
  'Cancelled',
  'Superseded',
] as const
export type DeploymentPhase = (typeof DEPLOYMENT_PHASES)[number]

const FINAL_PHASES: readonly string[] = ['Succeeded', 'Failed', 'Cancelled', 'Superseded']
/** Phases in which a build is running. */
const BUILD_PHASES: readonly string[] = ['Cloning', 'Building', 'Pushing']

export const isFinalPhase = (phase: DeploymentPhase | undefined) => phase !== undefined && FINAL_PHASES.includes(phase)
export const isBuildingPhase = (phase: DeploymentPhase | undefined) =>
  phase !== undefined && BUILD_PHASES.includes(phase)

/** Whether a deployment may change from one phase to the other: only forward, and never from a final one. */
export function isPhaseChangeAllowed(before: DeploymentPhase | undefined, next: DeploymentPhase): boolean {
  if (before === undefined || before === next) return true
  return !isFinalPhase(before) && DEPLOYMENT_PHASES.indexOf(next) > DEPLOYMENT_PHASES.indexOf(before)
}

/** Returns the later of two phases; a final phase never changes. */
export function furthestPhase(before: DeploymentPhase | undefined, seen: DeploymentPhase): DeploymentPhase {
  return isPhaseChangeAllowed(before, seen) ? seen : (before ?? seen)
}

/** The collections whose resources are deployed. */
export const DEPLOYED_COLLECTIONS = ['apps', 'staticwebapps', 'functions'] as const
export type DeployedCollection = (typeof DEPLOYED_COLLECTIONS)[number]

/**
 * How an image comes about: `Image` names an existing one, `Build` is built by the platform, `Reported` is built by
 * somebody else, who reports the progress.
 */
export const DEPLOYMENT_STRATEGIES = ['Image', 'Build', 'Reported'] as const

/** Deployments kept per owner, with their logs; in addition the serving one and those in progress. */
export const DEPLOYMENTS_KEPT = 50

/** Maximum bytes of the log of one deployment. */
export const MAX_BUILD_LOG_BYTES = 8 * 1024 ** 2

/** Maximum bytes of all logs of one owner, which are stored as objects; the oldest are dropped first. */
export const MAX_OWNER_LOG_BYTES = 32 * 1024 ** 2

/** Maximum bytes of the logs that are sent to the platform in one boundary, which its deployed resources share. */
const MAX_BOUNDARY_LOG_BYTES = 256 * 1024 ** 2

/** Returns the maximum bytes of all logs of an owner. @param owners resources of the boundary with deployments */
export function ownerLogBytes(owners: number): number {
  return Math.min(MAX_OWNER_LOG_BYTES, Math.floor(MAX_BOUNDARY_LOG_BYTES / Math.max(1, owners)))
}

/** Maximum lines of the log of one deployment: an empty line has a single byte, but costs a reader a hundred. */
export const BUILD_LOG_LINES_MAX = 100_000

/** Returns the last lines. Earlier ones are not split, because there may be millions of them. */
export function lastLogLines(bytes: Uint8Array, maxLines: number): string[] {
  // Each invalid byte becomes a character of three bytes, with which a log of maximum size would be too long.
  const text = Buffer.from(bytes).toString('utf8').replaceAll('\uFFFD', '?')
  if (text === '') return []
  const end = text.endsWith('\n') ? text.length - 1 : text.length
  let start = end
  for (let count = 0; count < maxLines && start >= 0; count += 1)
    start = start === 0 ? -1 : text.lastIndexOf('\n', start - 1)
  return text
    .slice(start + 1, end)
    .split('\n')
    .flatMap(cutLine)
}

/** Derives the id of a deployment from its cause, so that one cause never makes two. */
export function deploymentIdFor(owner: string, ...cause: readonly string[]): string {
  return uuidV5(['deployment', owner, ...cause].join('/'))
}

/** Names of the parts of the log of a deployment. */
export const deploymentLogPart = (deploymentId: string, part: number) =>
  childName('dreclog', deploymentId, String(part))

/** Returns the owner of the image repository: functions share that of their namespace. */
export function imageOwnerOf({ ownerCollection, ownerName }: { ownerCollection: string; ownerName: string }) {
  const namespace = ownerCollection === 'functions' ? namespaceOfFunction(ownerName) : undefined
  return namespace === undefined
    ? { collection: ownerCollection, name: ownerName }
    : { collection: 'functionnamespaces', name: namespace }
}

/** Whether the routes of a site show a deployment. Functions are deployed singly, but shown with their namespace. */
export function isOfSite(
  { ownerCollection, ownerName }: { ownerCollection: string; ownerName: string },
  collection: DeployedCollection,
  site: string,
): boolean {
  if (ownerCollection !== collection) return false
  return collection === 'functions' ? namespaceOfFunction(ownerName) === site : ownerName === site
}

/** The owner's progress with the deployment that it shall serve; in the status of each kind that is deployed. */
export type ReleaseProgress = {
  deploymentId: string
  state: 'RollingOut' | 'Serving' | 'Failed'
  message?: string | undefined
  /** The failure of an earlier rollout that Kubernetes still showed when the owner began to roll this one out. */
  failedBefore?: string | undefined
}

/** Returns the failure of before the release of a deployment: what was noted only counts for the same deployment. */
export function failureBefore(
  noted: ReleaseProgress | undefined,
  deploymentId: string,
  shown: string | undefined,
): string | undefined {
  return noted?.deploymentId === deploymentId ? noted.failedBefore : shown
}

type Candidate = {
  metadata: { name: string; deletionTimestamp?: string | undefined }
  status?: { stage?: DeploymentPhase | undefined; number?: number | undefined; image?: string | undefined } | undefined
}

/** Returns the deployment that an owner shall serve: the newest that has an image. */
export function wantedDeployment<One extends Candidate>(deployments: readonly One[]): One | undefined {
  const isReleased = ({ status, metadata }: One) =>
    status?.image !== undefined &&
    metadata.deletionTimestamp === undefined &&
    (status.stage === 'Deploying' || status.stage === 'Succeeded' || status.stage === 'Failed')
  return newestDeployment(deployments.filter(isReleased))
}

export function newestDeployment<One extends Candidate>(deployments: readonly One[]): One | undefined {
  return sortDeploymentsNewestFirst(deployments)[0]
}

export function sortDeploymentsNewestFirst<One extends Candidate>(deployments: readonly One[]): One[] {
  return deployments.toSorted((one, other) => numberOf(other) - numberOf(one))
}

/** Deployments without a number are newer than all that have one. */
const numberOf = ({ status }: Candidate) => status?.number ?? Number.MAX_SAFE_INTEGER
