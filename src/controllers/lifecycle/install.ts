import { missingValues, neededValues } from '../../contracts/componentValues.ts'
import {
  componentRolloutOf,
  holdsLifecycleLock,
  isInstallOver,
  isSameVersion,
  newestRelease,
  releasesOf as releasesOfComponent,
} from '../../contracts/lifecycle.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { ageOf, type KubeObject, keyOf } from '../../core/object.ts'
import { done, type Outcome, REQUEUE_NOW, stalled, waiting } from '../../core/outcome.ts'
import { ComponentInstall, ComponentRelease, PlatformComponent } from '../../crds/lifecycle.ts'
import { RolloutExecution } from '../../crds/rollouts.ts'
import { advanceInstall, type InstallFacts } from '../../desired/lifecycle/install.ts'
import { FLUX_RESOURCES } from '../../kube/flux.ts'
import { controller, steps, type Workspace } from '../engine/controller.ts'
import { pruneFinished } from '../platformObjects.ts'
import { CONFIGURATION_RIGHTS, storedConfiguration } from './configuration.ts'
import { setVersion } from './engine.ts'
import { acquireLifecycleLock } from './lock.ts'
import {
  componentsOf,
  executionsOf,
  type InstallObject,
  installsOf,
  isRollingOut,
  releasesOf,
} from './storedObjects.ts'
import type { InstallPass } from './types.ts'

const INSTALLS_KEPT = 50

/** Returns the running installs of a component; waiting installs are woken when another one ends. */
function installsAtWork({ metadata }: KubeObject, records: Workspace): string[] {
  const isConcerned = ({ spec, status }: InstallObject) =>
    spec.component === metadata.name && status?.state === 'Running'
  return installsOf(records).filter(isConcerned).map(keyOf)
}

function waitingInstalls(_changed: KubeObject, records: Workspace): string[] {
  return installsOf(records)
    .filter(({ status }) => status?.state === undefined || status.state === 'Queued')
    .map(keyOf)
}

/** What of an install decides whether others wait for it. */
function turnOfInstall(object: KubeObject) {
  const { status } = object as InstallObject
  return [isInstallOver(status?.state), status?.state === 'Paused', holdsLifecycleLock(status)]
}

/** Installs and repairs components one at a time. Each step is stored before it is carried out. */
export const installController = controller(ComponentInstall, {
  observes: [
    { resource: PlatformComponent.resource, keysOf: installsAtWork },
    { resource: ComponentInstall.resource, keysOf: waitingInstalls, relevant: turnOfInstall, wakesOnCreate: false },
    { resource: RolloutExecution.resource, keysOf: waitingInstalls, relevant: isRollingOut, wakesOnCreate: false },
  ],
  reads: [ComponentRelease.resource, ...FLUX_RESOURCES],
  writes: [
    { resource: PlatformComponent.resource, verbs: ['patch'], in: 'system' },
    { resource: ComponentInstall.resource, verbs: ['delete'], in: 'system' },
    CONFIGURATION_RIGHTS,
  ],
  reconcile: steps(advance),
})

async function advance(pass: InstallPass): Promise<Outcome> {
  const { spec, status = {} } = pass.object
  const isResumed =
    spec.requests.resumeAt !== undefined &&
    spec.requests.resumeAt !== status.resumedAt &&
    status.state !== 'Running' &&
    status.state !== 'Succeeded'
  if (isInstallOver(status.state) && !isResumed) return pruneInstalls(pass)
  if (status.state === 'Paused' && !isResumed) return stoppedOutcome(status)
  const before =
    describeBlockers(pass) ?? (!holdsLifecycleLock(status) || isResumed ? describeLockHolder(pass) : undefined)
  if (before !== undefined) {
    pass.report({ state: 'Queued' })
    return waiting('WaitingForDependency', before)
  }
  if (!holdsLifecycleLock(status) || isResumed) return begin(pass, isResumed)
  return continueInstall(pass)
}

/** Reports the turn and the version to install before anything is done. */
function begin(pass: InstallPass, isResumed: boolean): Outcome {
  const { spec, status = {} } = pass.object
  const version = status.version ?? versionToInstall(pass)
  // Start over at the chart, so that Helm retries with its full time limit.
  const firstStep = status.step === 'Health' ? 'Chart' : (status.step ?? 'Checking')
  const failedSteps = status.steps?.map((step) =>
    step.state === 'Failed' || step.name === firstStep ? { ...step, state: 'Pending' as const } : step,
  )
  pass.report({
    state: 'Running',
    step: firstStep,
    startedAt: status.startedAt ?? pass.now,
    finishedAt: undefined,
    message: undefined,
    reason: undefined,
    version,
    ...(hasFailedBefore(pass, version) && { requestedAt: pass.now }),
    ...(failedSteps !== undefined && { steps: failedSteps }),
    ...(isResumed && { resumedAt: spec.requests.resumeAt }),
  })
  return waiting('Starting', 'It has its turn.', REQUEUE_NOW)
}

/** A failed earlier attempt at the same version does not count: ask Flux again. */
function hasFailedBefore({ object, records }: InstallPass, version: string | undefined): boolean {
  const component = componentOf(records, object.spec.component)
  return (
    version !== undefined && component !== undefined && componentRolloutOf(component, { version }).state === 'Failed'
  )
}

function versionToInstall({ object: { spec }, records }: InstallPass): string | undefined {
  const component = componentOf(records, spec.component)
  if (spec.version !== undefined) return spec.version
  if (spec.kind === 'Install') return newestRelease(releasesOf(records), spec.component)?.spec.version
  // Programs report their version differently than charts are tagged, so look up the release.
  const installed = component?.status?.installedVersion
  const tag = releasesOfComponent(releasesOf(records), spec.component).find((one) =>
    isSameVersion(one.spec.version, installed),
  )
  return component?.spec.version ?? tag?.spec.version ?? installed
}

async function continueInstall(pass: InstallPass): Promise<Outcome> {
  const facts = await factsOf(pass)
  const { after, ...progress } = advanceInstall(facts)
  const { component, install } = facts
  const isApplied = progress.step === 'Chart' || progress.step === 'Health'
  if (isApplied && install.status?.step === progress.step && component !== undefined) {
    await setVersion(pass.records.client, component, wantedOf(install))
  }
  pass.report(progress)
  const message = progress.message ?? progress.steps.find(({ name }) => name === progress.step)?.message
  switch (progress.state) {
    case 'Succeeded':
      return done({ reason: 'Completed', message: `Version ${install.status?.version} is installed.` })
    case 'Failed':
    case 'Paused':
      return stoppedOutcome(progress)
    default:
      return waiting('RollingOut', message ?? 'The chart is handed to Flux.', after)
  }
}

const stoppedOutcome = ({
  reason,
  message,
}: Pick<NonNullable<ComponentInstall['status']>, 'reason' | 'message'>): Outcome =>
  stalled(reason ?? 'EngineRefused', message ?? 'It cannot continue.')

/** The version to set. Flux retries if the install was resumed, or if it repairs the same version. */
function wantedOf({ spec, status }: InstallFacts['install']): { version: string; requestedAt?: string } {
  const latestRequest = status?.resumedAt ?? status?.requestedAt
  const requestedAt = latestRequest ?? (spec.kind === 'Repair' ? status?.startedAt : undefined)
  return { version: status?.version ?? '', ...(requestedAt !== undefined && { requestedAt }) }
}

async function factsOf(pass: InstallPass): Promise<InstallFacts> {
  const { object, records, workloads, now } = pass
  const component = componentOf(records, object.spec.component)
  const release = releasesOf(records).find(
    ({ spec }) => spec.component === object.spec.component && spec.version === object.status?.version,
  )
  const isChecking = (object.status?.step ?? 'Checking') === 'Checking'
  const isNeeding = isChecking && component !== undefined && neededValues(component, release).length > 0
  return {
    install: object,
    component,
    components: componentsOf(records),
    release,
    missingValues: isNeeding
      ? missingValues(component, release, (await storedConfiguration(records.client)).entries)
      : [],
    hasFlux: FLUX_RESOURCES.every((resource) => workloads.isServed(resource)),
    rollout:
      component === undefined
        ? { state: 'Applying', isInstalled: false }
        : componentRolloutOf(component, wantedOf(object)),
    now,
  }
}

const componentOf = (records: Workspace, name: string) => records.cache(PlatformComponent).get(SYSTEM_NAMESPACE, name)

/** Returns why the install must wait for its turn; undefined if it has it. */
function describeBlockers({ object, records }: InstallPass): string | undefined {
  if (holdsLifecycleLock(object.status)) return undefined
  const others = installsOf(records).filter(({ metadata }) => metadata.name !== object.metadata.name)
  const isBefore = ({ status, ...other }: InstallObject) =>
    !isInstallOver(status?.state) && status?.state !== 'Paused' && ageOf(other) < ageOf(object)
  if (others.some((other) => holdsLifecycleLock(other.status) || isBefore(other)))
    return 'Another install is under way: they take turns.'
  return executionsOf(records).some(isRollingOut)
    ? 'A rollout is under way: installs and rollouts take turns.'
    : undefined
}

function describeLockHolder(pass: InstallPass): string | undefined {
  const other = acquireLifecycleLock(pass)
  return other === undefined ? undefined : `"${other}" has its turn: installs and rollouts take turns.`
}

/** Deletes all finished installs but the newest. */
async function pruneInstalls(pass: InstallPass): Promise<Outcome> {
  const ended = installsOf(pass.records).filter(({ status }) => isInstallOver(status?.state))
  await pruneFinished(pass, ended, INSTALLS_KEPT)
  const { status = {} } = pass.object
  return status.state === 'Failed' ? stoppedOutcome(status) : done({ reason: 'Completed' })
}
