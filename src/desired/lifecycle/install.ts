import {
  type ComponentRollout,
  INSTALL_PHASES,
  type InstallPhase,
  type InstallState,
  isNewerSemver,
  missingDependencies,
} from '../../contracts/lifecycle.ts'
import { REQUEUE_NOW } from '../../core/outcome.ts'
import type { StalledReason } from '../../core/reasons.ts'
import type { ComponentInstall, ComponentRelease, PlatformComponent } from '../../crds/lifecycle.ts'

/**
 * Steps of an install. Each decision is stored before it is acted on, so that after a crash the next process repeats
 * the same action.
 */

type Component = Pick<PlatformComponent, 'metadata' | 'spec' | 'status'>
type Status = NonNullable<ComponentInstall['status']>
type StepStatus = NonNullable<Status['steps']>[number]

export type InstallFacts = {
  install: Pick<ComponentInstall, 'spec' | 'status'>
  /** Undefined if no component has this name. */
  component: Component | undefined
  components: readonly Component[]
  /** The release to install, from the feed. */
  release: Pick<ComponentRelease, 'spec'> | undefined
  /** Required values that are not set. */
  missingValues: readonly string[]
  /** Whether Flux is installed in the cluster. */
  hasFlux: boolean
  /** How far the component has rolled out the version to install. */
  rollout: ComponentRollout
  /** RFC 3339. */
  now: string
}

type Verdict =
  | { kind: 'passed'; message?: string }
  | { kind: 'skipped' }
  | { kind: 'waiting'; message: string; after?: number }
  /** A person must change something and resume the install. */
  | { kind: 'paused'; reason: StalledReason; message: string }
  | { kind: 'failed'; reason: StalledReason; message: string }

export type InstallProgress = {
  state: InstallState
  step: InstallPhase
  message: string | undefined
  reason: StalledReason | undefined
  finishedAt: string | undefined
  steps: StepStatus[]
  /** Milliseconds until the step times out. */
  after?: number
}

/** Milliseconds for chart and health, as for a batch of a rollout (interface section 8). */
export const installTimeoutOf = ({ spec }: Pick<Component, 'spec'>): number =>
  spec.kind === 'ThirdPartyChart' ? 1_800_000 : 600_000

const passed: Verdict = { kind: 'passed' }
const paused = (reason: StalledReason, message: string): Verdict => ({ kind: 'paused', reason, message })
const failed = (reason: StalledReason, message: string): Verdict => ({ kind: 'failed', reason, message })

const PHASE_CHECKS: Readonly<Record<InstallPhase, (facts: InstallFacts) => Verdict>> = {
  Checking: checkInstall,
  Dependencies: checkDependencies,
  Crds: checkCrds,
  Chart: (facts) => checkRollout(facts, ({ isInstalled }) => isInstalled),
  Health: (facts) => checkRollout(facts, ({ state }) => state === 'Ready'),
  Finished: () => passed,
}

/**
 * Advances an install that has its turn, up to the first step that is not done. It also stops before the chart step, so
 * that the version is stored before it is installed.
 */
export function advanceInstall(facts: InstallFacts): InstallProgress {
  const { status = {} } = facts.install
  const steps = (status.steps ?? INSTALL_PHASES.map((name): StepStatus => ({ name, state: 'Pending' }))).map(
    (step) => ({
      ...step,
    }),
  )
  const firstIndex = INSTALL_PHASES.indexOf(status.step ?? 'Checking')
  for (const [index, step] of steps.entries()) {
    if (index < firstIndex) continue
    const isBegun = step.state === 'Running'
    if (!isBegun)
      Object.assign(step, { state: 'Running', startedAt: facts.now, finishedAt: undefined, message: undefined })
    if (step.name === 'Chart' && !isBegun) return progress('Running', step.name, steps, { after: REQUEUE_NOW })
    const result = PHASE_CHECKS[step.name]({ ...facts, install: { ...facts.install, status: { ...status, steps } } })
    if (result.kind === 'waiting') {
      step.message = result.message
      return progress('Running', step.name, steps, result.after === undefined ? {} : { after: result.after })
    }
    const stepStates = { passed: 'Succeeded', skipped: 'Skipped', paused: 'Failed', failed: 'Failed' } as const
    const message = 'message' in result ? result.message : undefined
    Object.assign(step, { state: stepStates[result.kind], finishedAt: facts.now, message })
    if (result.kind === 'paused') return progress('Paused', step.name, steps, result)
    if (result.kind === 'failed') return progress('Failed', step.name, steps, { ...result, finishedAt: facts.now })
  }
  return progress('Succeeded', 'Finished', steps, { finishedAt: facts.now })
}

function progress(
  state: InstallState,
  step: InstallPhase,
  steps: StepStatus[],
  more: { message?: string; reason?: StalledReason; finishedAt?: string; after?: number } = {},
): InstallProgress {
  const { message, reason, finishedAt, after } = more
  return { state, step, steps, message, reason, finishedAt, ...(after !== undefined && { after }) }
}

function checkInstall({ install, component, release, missingValues, hasFlux }: InstallFacts): Verdict {
  const { spec, status } = install
  if (component === undefined) return failed('ReferenceMissing', `There is no component "${spec.component}".`)
  if (component.spec.chart === undefined)
    return failed('ConfigurationInvalid', 'The component has no chart: the platform only watches it.')
  const installed = component.status?.installedVersion
  if (spec.kind === 'Install' && installed !== undefined)
    return failed('ConfigurationInvalid', `Version ${installed} is already installed.`)
  if (spec.kind === 'Repair' && installed === undefined)
    return failed('ConfigurationInvalid', 'The component is not installed.')
  if (status?.version === undefined) return paused('ReferenceMissing', 'The release feed has no version of it yet.')
  // Without Flux, the reported version may be one for which no chart exists.
  if (release === undefined && (spec.kind === 'Install' || component.spec.version === undefined))
    return paused('ReferenceMissing', `The release feed has no version ${status.version} of it.`)
  if (!hasFlux)
    return paused(
      'EngineMissing',
      'Charts are installed by Flux, which is not in the cluster: an administrator installs its helm-controller and source-controller.',
    )
  if (missingValues.length > 0)
    return paused(
      'ConfigurationInvalid',
      `Values are missing in the Secret install-configuration: ${missingValues.join(', ')}.`,
    )
  return passed
}

function checkDependencies({ component, components }: InstallFacts): Verdict {
  const dependsOn = component?.spec.dependsOn ?? []
  if (dependsOn.length === 0) return { kind: 'skipped' }
  const missing = missingDependencies(dependsOn, components)
  return missing.length === 0 ? passed : paused('ReferenceMissing', `Components are missing: ${missing.join(', ')}.`)
}

/** CRDs come with the bundle, which only a rollout updates. */
function checkCrds({ component, components, release }: InstallFacts): Verdict {
  const wanted = release?.spec.crdBundleVersion
  if (wanted === undefined) return component?.spec.crds.length === 0 ? { kind: 'skipped' } : passed
  const bundle = components.find(({ spec }) => spec.kind === 'CrdBundle')
  const installed = bundle?.status?.installedVersion
  if (installed !== undefined && !isNewerSemver(wanted, installed)) return passed
  return paused('ReferenceMissing', `It needs version ${wanted} of the definitions: roll them out first.`)
}

function checkRollout(facts: InstallFacts, isDone: (rollout: ComponentRollout) => boolean): Verdict {
  const { component, rollout, install, now } = facts
  if (component === undefined) return failed('ReferenceMissing', 'The component was deleted.')
  if (rollout.state === 'Failed') return paused('EngineRefused', rollout.message ?? 'Helm could not install it.')
  if (isDone(rollout)) return passed
  const startedAt = install.status?.steps?.find(({ name }) => name === 'Chart')?.startedAt ?? now
  const remainingMs = Date.parse(startedAt) + installTimeoutOf(component) - Date.parse(now)
  if (remainingMs <= 0)
    return failed('EngineRefused', `It did not finish within ${installTimeoutOf(component) / 60_000} minutes.`)
  return { kind: 'waiting', message: rollout.message ?? 'Flux has not processed it yet.', after: remainingMs }
}
