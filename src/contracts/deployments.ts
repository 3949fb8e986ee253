import { uuidV5 } from '../core/ids.ts'
import { childName } from '../core/names.ts'
import { namespaceOfFunction } from './functions.ts'
import { cutLine } from './logs.ts'

/** What the facade and the controllers say of deployments: one build or release of an app, a site or a function. */

/** In the order in which a deployment comes through them; the last four are ends. */
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

const ENDS: readonly string[] = ['Succeeded', 'Failed', 'Cancelled', 'Superseded']
/** Those in which a build is under way. */
const BUILDING: readonly string[] = ['Cloning', 'Building', 'Pushing']

export const isEnd = (phase: DeploymentPhase | undefined) => phase !== undefined && ENDS.includes(phase)
export const isBuilding = (phase: DeploymentPhase | undefined) => phase !== undefined && BUILDING.includes(phase)

/** Whether a deployment may go from one phase to the other: only forward, and never from an end. */
export function mayFollow(before: DeploymentPhase | undefined, next: DeploymentPhase): boolean {
  if (before === undefined || before === next) return true
  return !isEnd(before) && DEPLOYMENT_PHASES.indexOf(next) > DEPLOYMENT_PHASES.indexOf(before)
}

/** The later one of two phases. An end stays what it is. */
export function furthestPhase(before: DeploymentPhase | undefined, seen: DeploymentPhase): DeploymentPhase {
  return mayFollow(before, seen) ? seen : (before ?? seen)
}

/** The collections whose resources are deployed. */
export const DEPLOYED_COLLECTIONS = ['apps', 'staticwebapps', 'functions'] as const
export type DeployedCollection = (typeof DEPLOYED_COLLECTIONS)[number]

/**
 * Where what is deployed comes from: `Image` names one that is there, `Build` is built by the platform, `Reported` is built by
 * somebody else, who says how far it has come.
 */
export const DEPLOYMENT_STRATEGIES = ['Image', 'Build', 'Reported'] as const

/** What is kept of each owner, logs included; the one that serves and those that are not over beyond that. */
export const DEPLOYMENTS_KEPT = 50

/** Bytes of the log of one deployment. */
export const BUILD_LOG_BYTES = 8 * 1024 ** 2

/** What is kept of the log of a build of the platform's own: its end. */
export const KEPT_LOG_BYTES = 1024 ** 2

/** Bytes of all logs of one owner: they lie where objects lie. The oldest are forgotten first. */
export const OWNER_LOG_BYTES = 32 * 1024 ** 2

/** Lines of the log of one deployment: an empty one has a single byte, but costs a reader a hundred. */
export const BUILD_LOG_LINES = 100_000

/** The end of what was written, as lines; those before it are not cut, because there may be millions of them. */
export function lastLogLines(bytes: Uint8Array, most: number): string[] {
  // What is no text becomes a sign of three bytes each: a log that is as long as it may be would be too long.
  const text = Buffer.from(bytes).toString('utf8').replaceAll('\uFFFD', '?')
  if (text === '') return []
  const end = text.endsWith('\n') ? text.length - 1 : text.length
  let start = end
  for (let count = 0; count < most && start >= 0; count += 1)
    start = start === 0 ? -1 : text.lastIndexOf('\n', start - 1)
  return text
    .slice(start + 1, end)
    .split('\n')
    .flatMap(cutLine)
}

/** The id of a deployment that follows from its cause, so that one cause never makes two. */
export function deploymentIdFor(owner: string, ...cause: readonly string[]): string {
  return uuidV5(['deployment', owner, ...cause].join('/'))
}

/** Names of the parts of the log of a deployment. */
export const deploymentLogPart = (deploymentId: string, part: number) =>
  childName('dreclog', deploymentId, String(part))

/** Whose repository holds the images of an owner: functions share that of their namespace. */
export function imageOwnerOf({ ownerCollection, ownerName }: { ownerCollection: string; ownerName: string }) {
  const namespace = ownerCollection === 'functions' ? namespaceOfFunction(ownerName) : undefined
  return namespace === undefined
    ? { collection: ownerCollection, name: ownerName }
    : { collection: 'functionnamespaces', name: namespace }
}

/**
 * Whether a deployment is one of those that routes of a site show. Functions are deployed one by one, and shown with their
 * namespace.
 */
export function isOfSite(
  { ownerCollection, ownerName }: { ownerCollection: string; ownerName: string },
  collection: DeployedCollection,
  site: string,
): boolean {
  if (ownerCollection !== collection) return false
  return collection === 'functions' ? namespaceOfFunction(ownerName) === site : ownerName === site
}

/** How far the owner has come with what it was asked to serve; in the status of each kind that is deployed. */
export type Release = {
  deploymentId: string
  state: 'RollingOut' | 'Serving' | 'Failed'
  message?: string | undefined
  /** When the owner began with it. */
  since?: string | undefined
}

/** Since when a release of a deployment is on its way: what came before was about another. */
export function releasedSince(before: Release | undefined, deploymentId: string, now: string): string | undefined {
  return before?.deploymentId === deploymentId ? before.since : now
}

type Candidate = {
  metadata: { name: string; deletionTimestamp?: string | undefined }
  status?: { stage?: DeploymentPhase | undefined; number?: number | undefined; image?: string | undefined } | undefined
}

/** Which deployment an owner is to serve: the newest that came as far as its image. */
export function wantedDeployment<One extends Candidate>(deployments: readonly One[]): One | undefined {
  const isReleased = ({ status, metadata }: One) =>
    status?.image !== undefined &&
    metadata.deletionTimestamp === undefined &&
    (status.stage === 'Deploying' || status.stage === 'Succeeded' || status.stage === 'Failed')
  return newestDeployment(deployments.filter(isReleased))
}

export function newestDeployment<One extends Candidate>(deployments: readonly One[]): One | undefined {
  return newestFirst(deployments)[0]
}

export function newestFirst<One extends Candidate>(deployments: readonly One[]): One[] {
  return deployments.toSorted((one, other) => numberOf(other) - numberOf(one))
}

/** Those without a number are newer than all that have one. */
const numberOf = ({ status }: Candidate) => status?.number ?? Number.MAX_SAFE_INTEGER
