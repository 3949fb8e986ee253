import { coerce, compare, gt, parse, satisfies, valid } from 'semver'
import { childName, sha256 } from '../core/names.ts'
import { compareTexts } from '../core/textOrder.ts'

/**
 * What the facade and the controllers share about the platform's components (interface section 4.21): words, names, and
 * the comparison of versions.
 */

export const COMPONENT_KINDS = ['Module', 'ThirdPartyChart', 'CrdBundle', 'PlatformStep', 'LifecycleModule'] as const
export type ComponentKind = (typeof COMPONENT_KINDS)[number]

export const PLATFORM_COMPONENT = 'freehold'

export const COMPONENT_STATES = ['NotInstalled', 'Installing', 'Ready', 'Degraded', 'Failed', 'Upgrading'] as const
export type ComponentState = (typeof COMPONENT_STATES)[number]

/** Progress of the cluster towards the version that a component shall have. */
export const COMPONENT_ROLLOUT_STATES = ['Applying', 'Ready', 'Failed'] as const
export type ComponentRolloutState = (typeof COMPONENT_ROLLOUT_STATES)[number]

export const INSTALL_KINDS = ['Install', 'Repair'] as const
export const INSTALL_STATES = ['Queued', 'Running', 'Paused', 'Succeeded', 'Failed'] as const
export type InstallState = (typeof INSTALL_STATES)[number]
/** The phases of an install, in order. */
export const INSTALL_PHASES = ['Checking', 'Dependencies', 'Crds', 'Chart', 'Health', 'Finished'] as const
export type InstallPhase = (typeof INSTALL_PHASES)[number]
export const INSTALL_STEP_STATES = ['Pending', 'Running', 'Succeeded', 'Failed', 'Skipped'] as const

/** Whether an install has ended; it continues only if somebody resumes it. */
export function isInstallOver(state: string | undefined): boolean {
  return state === 'Succeeded' || state === 'Failed'
}

type InstallProgress = { readonly state?: string | undefined; readonly step?: string | undefined }

/**
 * Whether an install holds the turn, so that nothing else is installed or rolled out. A paused one does so once it has
 * changed something; before, one that waits for an administrator would block everything.
 */
export function holdsLifecycleLock({ state, step }: InstallProgress = {}): boolean {
  return state === 'Running' || (state === 'Paused' && step !== undefined && step !== 'Checking')
}

/**
 * The Secret in freehold-system with the values that components need and their declaration does not contain: one entry
 * `configKey(component, key)` per value.
 */
export const INSTALL_CONFIGURATION = 'install-configuration'

/** Entry of the install-configuration Secret that holds a value of a component. */
export function configKey(component: string, key: string): string {
  return `${component}.${key}`
}

/** Name of the ComponentRelease of a version, with a hash because versions have characters that names cannot. */
export function releaseName(component: string, version: string): string {
  return childName('crel', component, sha256(version).slice(0, 10))
}

/** A version as tags of charts have it: OCI tags contain no `+`. */
export const CHART_VERSION_PATTERN = '^v?(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?$'

/** Normalizes a version: charts say v1.2.3 and 1.2.3. Undefined for a text that is not a version. */
export function normalizeVersion(text: string | undefined): string | undefined {
  return text === undefined ? undefined : (valid(text) ?? undefined)
}

/** Negative if `one` precedes `other` (Semantic Versioning 2.0.0, 11); texts that are no versions come first. */
export function compareSemver(one: string, other: string): number {
  const [first, second] = [normalizeVersion(one), normalizeVersion(other)]
  if (first === undefined || second === undefined) return Number(first !== undefined) - Number(second !== undefined)
  return compare(first, second) || compareTexts(one, other)
}

/** Whether two texts name one version: programs omit the `v` that charts are tagged with. */
export function isSameVersion(one: string | undefined, other: string | undefined): boolean {
  return (
    one !== undefined &&
    (one === other || (normalizeVersion(one) !== undefined && normalizeVersion(one) === normalizeVersion(other)))
  )
}

export function isNewerSemver(one: string, than: string): boolean {
  const [first, second] = [normalizeVersion(one), normalizeVersion(than)]
  return first !== undefined && second !== undefined && gt(first, second)
}

/** Returns a text that sorts as versions do. */
export function semverSortKey(version: string): string {
  const read = parse(version)
  if (read === null) return ''
  const { major, minor, patch, prerelease } = read
  const padded = (part: string | number) => (typeof part === 'number' ? String(part).padStart(12, '0') : `:${part}`)
  const ending = prerelease.length === 0 ? '~' : `-${prerelease.map(padded).join('.')}`
  return `${[major, minor, patch].map(padded).join('.')}${ending} ${version}`
}

/** Whether a version is in a range such as `>=1.2.0 <2`; a preview counts as the version that it leads to. */
export function satisfiesConstraint(version: string, constraint: string | undefined): boolean {
  const release = normalizeVersion(version)
  if (constraint === undefined) return true
  return release !== undefined && satisfies(release, constraint, { includePrerelease: true })
}

/** Returns `major.minor` of a version, the form in which a release names the minor that must be installed first. */
export function minorOf(version: string): string | undefined {
  const found = coerce(version)
  return found === null ? undefined : `${found.major}.${found.minor}`
}

export function isPrerelease(version: string): boolean {
  return normalizeVersion(version)?.includes('-') ?? false
}

type Release = { readonly spec: { readonly component: string; readonly version: string } }

/** Returns the releases of one component, newest first. */
export function releasesOf<R extends Release>(releases: readonly R[], component: string): R[] {
  return releases
    .filter(({ spec }) => spec.component === component)
    .sort((one, other) => compareSemver(other.spec.version, one.spec.version))
}

/** Returns the newest release of one component; a preview only if there is nothing else. */
export function newestRelease<R extends Release>(releases: readonly R[], component: string): R | undefined {
  const found = releasesOf(releases, component)
  return found.find(({ spec }) => !isPrerelease(spec.version)) ?? found[0]
}

type UpgradePolicy = {
  readonly spec: { readonly isManualUpgrade: boolean }
  readonly status?: { readonly isOutside?: boolean | undefined } | undefined
}

/** Whether no rollout upgrades the component: Flux cannot replace software that runs outside the cluster. */
export function isUpgradedByPeople({ spec, status }: UpgradePolicy): boolean {
  return spec.isManualUpgrade || status?.isOutside === true
}

type Installed = {
  readonly metadata: { readonly name: string }
  readonly status?: { readonly installedVersion?: string | undefined } | undefined
}

/** Returns the dependencies that are not installed, or not in a version that fits. */
export function missingDependencies(
  dependsOn: readonly { readonly name: string; readonly constraint?: string | undefined }[],
  components: readonly Installed[],
): string[] {
  const missing = dependsOn.filter(({ name, constraint }) => {
    const installed = components.find(({ metadata }) => metadata.name === name)?.status?.installedVersion
    return installed === undefined || !satisfiesConstraint(installed, constraint)
  })
  return missing.map(({ name }) => name)
}

export type ComponentRollout = {
  readonly state: ComponentRolloutState
  readonly message?: string | undefined
  /** Whether Helm has finished; the workloads may not be ready yet. */
  readonly isInstalled: boolean
}

type Told = {
  readonly spec: { readonly version?: string | undefined; readonly requestedAt?: string | undefined }
  readonly metadata: { readonly generation?: number | undefined }
  readonly status?:
    | {
        readonly phase?: string | undefined
        readonly statusMessage?: string | undefined
        readonly observedGeneration?: number | undefined
        readonly rollout?:
          | (ComponentRollout & { readonly version: string; readonly requestedAt?: string | undefined })
          | undefined
      }
    | undefined
}

/**
 * Returns the progress of the cluster with a version of a component: Applying also while the controller has not seen
 * the change, or while the component shall have another version.
 *
 * @param wanted `requestedAt` as it was given to `setVersion`, if it was
 */
export function componentRolloutOf(
  { spec, status, metadata }: Told,
  wanted: { readonly version: string; readonly requestedAt?: string | undefined },
): ComponentRollout {
  const rollout = status?.rollout
  const { requestedAt = spec.requestedAt } = wanted
  const isRequested = spec.version === wanted.version && spec.requestedAt === requestedAt
  // Failed at once if the engine is missing: waiting would mean to wait for an administrator.
  const isSeen = status?.observedGeneration !== undefined && status.observedGeneration === metadata.generation
  if (isRequested && isSeen && status.phase === 'EngineMissing')
    return { state: 'Failed', message: status.statusMessage, isInstalled: false }
  if (!isRequested || rollout === undefined || rollout.version !== spec.version || rollout.requestedAt !== requestedAt)
    return { state: 'Applying', isInstalled: false }
  const { state, message, isInstalled } = rollout
  return { state, message, isInstalled }
}

/** Key of the turn that each install and rollout takes before it begins, on any replica: they change what runs. */
export const LIFECYCLE_LOCK_KEY = 'lifecycle changes'
