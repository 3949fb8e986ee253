import type { ComponentRolloutState, ComponentState } from '../../contracts/lifecycle.ts'
import type { KubeObject } from '../../core/object.ts'
import { redacted } from '../../core/redaction.ts'
import type { PlatformComponent } from '../../crds/lifecycle.ts'
import { type ComponentStatus, isWorkloadReady, type ObservedWorkload } from './workloads.ts'

type Condition = { type?: string; status?: string; reason?: string; message?: string; observedGeneration?: number }
type Snapshot = { chartVersion?: string; status?: string; configDigest?: string; ociDigest?: string }

export type HelmRelease = KubeObject & {
  status?: {
    observedGeneration?: number
    conditions?: Condition[]
    /** Newest first. */
    history?: Snapshot[]
    lastAttemptedRevision?: string
    lastAttemptedConfigDigest?: string
    lastHandledReconcileAt?: string
  }
}
export type OciRepository = KubeObject & { status?: { observedGeneration?: number; conditions?: Condition[] } }

export type ObservedComponentFacts = {
  component: Pick<PlatformComponent, 'spec' | 'status'>
  helm: HelmRelease | undefined
  source: OciRepository | undefined
  workloads: readonly ObservedWorkload[]
  /** Version of this program, if it is the component; otherwise undefined. */
  ownVersion?: string | undefined
  /** RFC 3339. */
  now: string
  /** Milliseconds for which workloads must have been ready. */
  settleMs: number
}

export type ComponentJudgement = Pick<
  ComponentStatus,
  | 'state'
  | 'installedVersion'
  | 'isManaged'
  | 'isOutside'
  | 'rollout'
  | 'hasDrift'
  | 'digest'
  | 'configDigest'
  | 'wantedConfigDigest'
  | 'workloads'
  | 'lastChangedAt'
> & {
  state: ComponentState
  /** Milliseconds until the result may change by itself; undefined if only an event can change it. */
  after?: number
}

/** Strips SemVer build metadata, in which charts carry their digest. */
const withoutBuildMetadata = (version: string | undefined) => version?.replace(/\+.*$/, '')

/** Judges what is observed of a component, and how far Flux has rolled out its wanted version. */
export function judgeComponent(seen: ObservedComponentFacts): ComponentJudgement {
  const { component, helm, now } = seen
  const { status = {} } = component
  const installed = installedOf(helm)
  const isOutside = installed === undefined && runsOutside(seen)
  const installedVersion = isOutside
    ? seen.ownVersion
    : (withoutBuildMetadata(installed?.chartVersion) ?? versionOfWorkloads(seen))
  const { rollout, after } = judgeRollout(seen, withoutBuildMetadata(installed?.chartVersion))
  const isNew = installedVersion !== status.installedVersion
  return {
    state: stateOf(seen, { installedVersion, isOutside }, rollout?.state),
    installedVersion,
    isManaged: installed !== undefined,
    isOutside: isOutside || undefined,
    rollout,
    hasDrift: conditionOf(helm, 'Drifted')?.status === 'True',
    digest: installed?.ociDigest,
    configDigest: installed?.configDigest,
    wantedConfigDigest: helm?.status?.lastAttemptedConfigDigest,
    workloads: [...seen.workloads],
    lastChangedAt: isNew ? now : status.lastChangedAt,
    ...(after !== undefined && { after }),
  }
}

/** Whether the component is this program, running outside the cluster: it has no workload there. */
function runsOutside({ ownVersion, workloads }: ObservedComponentFacts): boolean {
  return ownVersion !== undefined && workloads.length === 0
}

/** The last successful release: a failed upgrade leaves the previous one installed. */
function installedOf(helm: HelmRelease | undefined): Snapshot | undefined {
  return helm?.status?.history?.find(({ status }) => status === 'deployed' || status === 'superseded')
}

function versionOfWorkloads({ workloads }: ObservedComponentFacts): string | undefined {
  return workloads.find(({ version }) => version !== undefined)?.version
}

function conditionOf(object: HelmRelease | OciRepository | undefined, type: string): Condition | undefined {
  return object?.status?.conditions?.find((condition) => condition.type === type)
}

function stateOf(
  seen: ObservedComponentFacts,
  { installedVersion: installed, isOutside }: { installedVersion: string | undefined; isOutside: boolean },
  rollout: ComponentRolloutState | undefined,
): ComponentState {
  if (rollout === 'Failed') return 'Failed'
  if (installed === undefined) return rollout === undefined ? 'NotInstalled' : 'Installing'
  const before = seen.component.status
  const isFirst = before?.isManaged !== true || before.state === 'Installing'
  if (rollout === 'Applying') return isFirst ? 'Installing' : 'Upgrading'
  if (isOutside) return 'Ready'
  if (missingWorkloads(seen).length === 0 && seen.workloads.every(isWorkloadReady)) return 'Ready'
  return seen.workloads.some(({ ready }) => ready > 0) ? 'Degraded' : 'Failed'
}

/** Returns the workloads of the spec that do not exist. */
export function missingWorkloads({
  component: { spec },
  workloads,
}: Pick<ObservedComponentFacts, 'component' | 'workloads'>): string[] {
  const exists = (wanted: { kind: string; namespace?: string | undefined; name: string }) =>
    workloads.some(
      ({ kind, name, namespace }) =>
        kind === wanted.kind && name === wanted.name && namespace === (wanted.namespace ?? spec.namespace),
    )
  return spec.workloads.filter((wanted) => !exists(wanted)).map(({ kind, name }) => `${kind} ${name}`)
}

function judgeRollout(
  seen: ObservedComponentFacts,
  installed: string | undefined,
): { rollout: ComponentStatus['rollout']; after?: number } {
  const { component, now, settleMs } = seen
  const { version, requestedAt } = component.spec
  if (version === undefined) return { rollout: undefined }
  const before = component.status?.rollout
  const isSame = before?.version === version && before.requestedAt === requestedAt
  // A rollout that became ready stays ready; later trouble shows in the component's state.
  if (isSame && before.state === 'Ready') return { rollout: before }
  const applied = judgeHelm(seen, version, installed)
  const unready = applied.state === 'Ready' ? describeUnready(seen) : undefined
  const isHealthy = applied.state === 'Ready' && unready === undefined
  const healthySince = isHealthy ? ((isSame ? before.healthySince : undefined) ?? now) : undefined
  const remainingMs = healthySince === undefined ? 0 : Date.parse(healthySince) + settleMs - Date.parse(now)
  const state = applied.state === 'Ready' && (!isHealthy || remainingMs > 0) ? 'Applying' : applied.state
  const message = remainingMs > 0 ? 'It is ready, and watched for a moment.' : (unready ?? applied.message)
  const since = isSame && before.state === state ? before.since : now
  return {
    rollout: { version, requestedAt, state, message, isInstalled: applied.state === 'Ready', since, healthySince },
    ...(remainingMs > 0 && { after: remainingMs }),
  }
}

function describeUnready(seen: ObservedComponentFacts): string | undefined {
  const missing = missingWorkloads(seen)
  if (missing.length > 0) return `Missing: ${missing.join(', ')}.`
  const unready = seen.workloads.filter((one) => !isWorkloadReady(one))
  if (unready.length === 0) return undefined
  const descriptions = unready.map(({ kind, name, ready, wanted }) => `${kind} ${name} (${ready} of ${wanted})`)
  return `Not ready: ${descriptions.join(', ')}.`
}

type Applied = { state: ComponentRolloutState; message?: string }

function judgeHelm(
  { helm, source, component }: ObservedComponentFacts,
  version: string,
  installed: string | undefined,
): Applied {
  const { requestedAt } = component.spec
  const status = helm?.status
  const isLooked = status?.observedGeneration === helm?.metadata.generation
  const isHeard = requestedAt === undefined || status?.lastHandledReconcileAt === requestedAt
  if (helm === undefined || !isLooked || !isHeard)
    return { state: 'Applying', message: 'Flux has not processed it yet.' }
  const ready = conditionOf(helm, 'Ready')
  const isTried = withoutBuildMetadata(status?.lastAttemptedRevision) === version
  if (ready?.status === 'True' && installed === version) return { state: 'Ready' }
  const hasFailed = conditionOf(helm, 'Stalled')?.status === 'True' || conditionOf(helm, 'Released')?.status === 'False'
  if (isTried && ready?.status === 'False' && hasFailed)
    return { state: 'Failed', message: describeCondition('Helm', ready) }
  const fetched = conditionOf(source, 'Ready')
  if (fetched?.status === 'False') return { state: 'Applying', message: describeCondition('The chart', fetched) }
  return { state: 'Applying', message: 'Helm is at work.' }
}

const MAX_MESSAGE_LENGTH = 512

/** Repeats a Flux condition without anything that looks like a secret: Helm quotes values that it could not use. */
function describeCondition(subject: string, { reason = 'Unknown', message = '' }: Condition): string {
  const text = redacted(message.slice(0, 4096)).replaceAll(/\s+/g, ' ').slice(0, MAX_MESSAGE_LENGTH)
  return `${subject}: ${reason}. ${text}`.trim()
}
