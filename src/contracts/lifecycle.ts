import { coerce, compare, gt, parse, satisfies, valid } from 'semver'
import { childName, sha256 } from '../core/names.ts'

/**
 * What the facade and the controllers both say of the parts that the platform runs with (interface section 4.21): words,
 * names, and how versions are compared.
 */

export const COMPONENT_KINDS = ['Module', 'ThirdPartyChart', 'CrdBundle', 'PlatformStep', 'LifecycleModule'] as const
export type ComponentKind = (typeof COMPONENT_KINDS)[number]

export const OWN_COMPONENT = 'freehold'

export const COMPONENT_STATES = ['NotInstalled', 'Installing', 'Ready', 'Degraded', 'Failed', 'Upgrading'] as const
export type ComponentState = (typeof COMPONENT_STATES)[number]

/** How far the cluster has come with the version that a component is to have. */
export const ROLLOUT_STATES = ['Applying', 'Ready', 'Failed'] as const
export type RolloutState = (typeof ROLLOUT_STATES)[number]

export const INSTALL_KINDS = ['Install', 'Repair'] as const
export const INSTALL_STATES = ['Queued', 'Running', 'Paused', 'Succeeded', 'Failed'] as const
export type InstallState = (typeof INSTALL_STATES)[number]
/** In the order in which an install goes through them. */
export const INSTALL_PHASES = ['Checking', 'Dependencies', 'Crds', 'Chart', 'Health', 'Finished'] as const
export type InstallPhase = (typeof INSTALL_PHASES)[number]
export const STEP_STATES = ['Pending', 'Running', 'Succeeded', 'Failed', 'Skipped'] as const

/** Nothing more happens to it, unless somebody resumes it. */
export function isInstallOver(state: string | undefined): boolean {
  return state === 'Succeeded' || state === 'Failed'
}

type Standing = { readonly state?: string | undefined; readonly step?: string | undefined }

/**
 * Whether it has its turn, so that nothing else is installed or rolled out meanwhile: a paused one has, once it has changed
 * something. One that waits for what only an administrator can bring would else hold up everything.
 */
export function holdsTurn({ state, step }: Standing = {}): boolean {
  return state === 'Running' || (state === 'Paused' && step !== undefined && step !== 'Checking')
}

/**
 * The Secret in freehold-system with the values that components need and their declaration does not hold. It has one entry
 * for each: `configKey(component, key)`.
 */
export const INSTALL_CONFIGURATION = 'install-configuration'

/** Entry of the install-configuration Secret that holds a value of a component. */
export function configKey(component: string, key: string): string {
  return `${component}.${key}`
}

/** The ComponentRelease of a version: versions have characters that names cannot have. */
export function releaseName(component: string, version: string): string {
  return childName('crel', component, sha256(version).slice(0, 10))
}

/** As tags of charts have it: OCI has no `+` in them. */
export const VERSION_PATTERN = '^v?(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?$'

/** A version without what may stand before it: charts say v1.2.3 and 1.2.3. Undefined for a text that is none. */
export function versionOf(text: string | undefined): string | undefined {
  return text === undefined ? undefined : (valid(text) ?? undefined)
}

/** Less than zero if `one` comes before `other` (Semantic Versioning 2.0.0, 11); what is no version comes first. */
export function compareVersions(one: string, other: string): number {
  const [first, second] = [versionOf(one), versionOf(other)]
  if (first === undefined || second === undefined) return Number(first !== undefined) - Number(second !== undefined)
  return compare(first, second) || (one < other ? -1 : Number(one > other))
}

/** Whether two texts name one version: programs leave out the `v` that charts are tagged with. */
export function isSameVersion(one: string | undefined, other: string | undefined): boolean {
  return one !== undefined && (one === other || (versionOf(one) !== undefined && versionOf(one) === versionOf(other)))
}

export function isNewer(one: string, than: string): boolean {
  const [first, second] = [versionOf(one), versionOf(than)]
  return first !== undefined && second !== undefined && gt(first, second)
}

/** A text that sorts as versions do. */
export function versionOrder(version: string): string {
  const read = parse(version)
  if (read === null) return ''
  const { major, minor, patch, prerelease } = read
  const padded = (part: string | number) => (typeof part === 'number' ? String(part).padStart(12, '0') : `:${part}`)
  const ending = prerelease.length === 0 ? '~' : `-${prerelease.map(padded).join('.')}`
  return `${[major, minor, patch].map(padded).join('.')}${ending} ${version}`
}

/** Whether a version is one of a range as `>=1.2.0 <2`; a preview counts as what it leads to. */
export function meets(version: string, constraint: string | undefined): boolean {
  const release = versionOf(version)
  if (constraint === undefined) return true
  return release !== undefined && satisfies(release, constraint, { includePrerelease: true })
}

/** `major.minor` of a version, as a release names the minor that must come before it. */
export function minorOf(version: string): string | undefined {
  const found = coerce(version)
  return found === null ? undefined : `${found.major}.${found.minor}`
}

export function isPreview(version: string): boolean {
  return versionOf(version)?.includes('-') ?? false
}

type Release = { readonly spec: { readonly component: string; readonly version: string } }

/** Releases of one component, the newest first. */
export function releasesOf<R extends Release>(releases: readonly R[], component: string): R[] {
  return releases
    .filter(({ spec }) => spec.component === component)
    .sort((one, other) => compareVersions(other.spec.version, one.spec.version))
}

/** The newest release of one component; a preview only if there is nothing else. */
export function newestOf<R extends Release>(releases: readonly R[], component: string): R | undefined {
  const found = releasesOf(releases, component)
  return found.find(({ spec }) => !isPreview(spec.version)) ?? found[0]
}

type Upgraded = {
  readonly spec: { readonly isManualUpgrade: boolean }
  readonly status?: { readonly isOutside?: boolean | undefined } | undefined
}

/** Whether no rollout upgrades it: what runs outside the cluster is nothing that Flux could replace. */
export function isUpgradedByPeople({ spec, status }: Upgraded): boolean {
  return spec.isManualUpgrade || status?.isOutside === true
}

type Installed = {
  readonly metadata: { readonly name: string }
  readonly status?: { readonly installedVersion?: string | undefined } | undefined
}

/** Components that must be there first and are not, or not in a version that does. */
export function missingDependencies(
  dependsOn: readonly { readonly name: string; readonly constraint?: string | undefined }[],
  components: readonly Installed[],
): string[] {
  const missing = dependsOn.filter(({ name, constraint }) => {
    const installed = components.find(({ metadata }) => metadata.name === name)?.status?.installedVersion
    return installed === undefined || !meets(installed, constraint)
  })
  return missing.map(({ name }) => name)
}

export type Rollout = {
  readonly state: RolloutState
  readonly message?: string | undefined
  /** Whether Helm is done with it; its workloads may not be ready yet. */
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
          | (Rollout & { readonly version: string; readonly requestedAt?: string | undefined })
          | undefined
      }
    | undefined
}

/**
 * How far the cluster has come with a version of a component. Applying also while its controller has not looked yet, or
 * while the component is to have another version.
 *
 * @param wanted `requestedAt` as it was given to `setVersion`, if it was
 */
export function rolloutOf(
  { spec, status, metadata }: Told,
  wanted: { readonly version: string; readonly requestedAt?: string | undefined },
): Rollout {
  const told = status?.rollout
  const { requestedAt = spec.requestedAt } = wanted
  const isMeant = spec.version === wanted.version && spec.requestedAt === requestedAt
  // Nobody is there to carry it out: to wait for that would be to wait for an administrator.
  const isSeen = status?.observedGeneration !== undefined && status.observedGeneration === metadata.generation
  if (isMeant && isSeen && status.phase === 'EngineMissing')
    return { state: 'Failed', message: status.statusMessage, isInstalled: false }
  if (!isMeant || told === undefined || told.version !== spec.version || told.requestedAt !== requestedAt)
    return { state: 'Applying', isInstalled: false }
  const { state, message, isInstalled } = told
  return { state, message, isInstalled }
}

/** Installs and rollouts change what runs: whoever begins one takes the turn of this key first, at any replica. */
export const LIFECYCLE_TURN_KEY = 'lifecycle changes'
