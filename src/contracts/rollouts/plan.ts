import { type ComponentKind, compareSemver, isNewerSemver, minorOf, satisfiesConstraint } from '../lifecycle.ts'
import { batchesOf, type DependentComponent } from './batches.ts'
import type { PlanItem, PlanKind, PlannedRollout, PlanProblem, PlanProblemCode } from './states.ts'

/** The fields of a component from which plans are made. */
export type PlanComponent = DependentComponent & {
  readonly kind: ComponentKind
  readonly installedVersion?: string | undefined
  readonly isManualUpgrade: boolean
  readonly migratesDatabase: boolean
}

/** The fields of a release from which plans are made. */
export type PlanRelease = {
  readonly component: string
  readonly version: string
  readonly isSchemaBreaking: boolean
  readonly migratesDatabase: boolean
  readonly minimumFromVersion?: string | undefined
  readonly requiredMinor?: string | undefined
  readonly crdBundleVersion?: string | undefined
  readonly pins: Readonly<Record<string, string>>
}

export type PlanInput = {
  readonly components: readonly PlanComponent[]
  readonly releases: readonly PlanRelease[]
  /** The requested versions, by component. */
  readonly targetVersions: Readonly<Record<string, string>>
  /** Pinned charts that shall not be upgraded along. */
  readonly unselected: readonly string[]
  readonly kind: PlanKind
}

/**
 * Plans a rollout to these versions: items, the batches in the order of rule 3 of interface section 4.21, and every
 * reason why it may not begin (rule 4). A plan of kind Target also rolls components whose version stays.
 */
export function planRollout(input: PlanInput): PlannedRollout {
  const plan = new Planning(input)
  plan.take(input.targetVersions)
  plan.followAlong()
  plan.judge()
  const items = [...plan.items.values()]
  return { items, batches: batchesOf(items, input.components), problems: plan.problems }
}

class Planning {
  readonly items = new Map<string, PlanItem>()
  readonly problems: PlanProblem[] = []
  readonly #input: PlanInput
  readonly #components: ReadonlyMap<string, PlanComponent>
  readonly #releases: ReadonlyMap<string, PlanRelease>

  constructor(input: PlanInput) {
    this.#input = input
    this.#components = new Map(input.components.map((one) => [one.name, one]))
    this.#releases = new Map(input.releases.map((one) => [`${one.component} ${one.version}`, one]))
  }

  take(targetVersions: Readonly<Record<string, string>>): void {
    for (const [name, version] of Object.entries(targetVersions)) {
      const component = this.#components.get(name)
      if (component === undefined) this.#refuse('ReleaseMissing', name, `There is no component "${name}".`, { version })
      else this.#add(component, version, 'Caller')
    }
  }

  /** Adds the charts that items pin. The loop also sees the added items, and so the charts that they pin in turn. */
  followAlong(): void {
    for (const item of this.items.values()) {
      for (const { pinned, version } of this.#pinsOf(item)) {
        const isIncluded = this.items.has(pinned.name) || pinned.installedVersion === version
        if (!isIncluded) this.#add(pinned, version, 'Pin', `Pinned by ${item.component} ${item.toVersion}.`)
      }
      if (item.kind === 'CrdBundle') this.#addPlatformStep(item)
    }
  }

  /** Omits charts that are not installed: if one is needed, dependsOn says so. */
  #pinsOf(item: PlanItem): { pinned: PlanComponent; version: string }[] {
    return Object.entries(this.#releaseOf(item)?.pins ?? {}).flatMap(([name, version]) => {
      const pinned = this.#components.get(name)
      if (pinned?.installedVersion === undefined || this.#input.unselected.includes(name)) return []
      return [{ pinned, version }]
    })
  }

  /** Moves the step that installs a release of the platform together with its CRDs. */
  #addPlatformStep(bundle: PlanItem): void {
    const step = this.#input.components.find(({ kind }) => kind === 'PlatformStep')
    if (step === undefined || this.items.has(step.name)) return
    const own = this.#input.releases.filter(({ component }) => component === step.name)
    const newest = (found: readonly PlanRelease[]) =>
      [...found].sort((one, other) => compareSemver(other.version, one.version))[0]
    const release =
      own.find(({ version }) => version === bundle.toVersion) ??
      newest(own.filter(({ crdBundleVersion }) => crdBundleVersion === bundle.toVersion))
    const note = `Comes with ${bundle.component} ${bundle.toVersion}.`
    this.#add(step, release?.version ?? bundle.toVersion, 'CrdBundle', note)
  }

  judge(): void {
    for (const item of this.items.values()) {
      const component = this.#components.get(item.component)
      if (component === undefined) continue
      this.#judgeItem(item, component)
      this.#judgeRelease(item)
      this.#judgePins(item)
    }
    for (const component of this.#components.values()) this.#judgeDependencies(component)
    if (this.items.size > 0 || this.problems.length > 0) return
    this.#refuse('NothingToDo', '', 'Every named component already has that version.', {})
  }

  #add(component: PlanComponent, toVersion: string, addedBy: PlanItem['addedBy'], note?: string): void {
    const { name, kind, installedVersion: fromVersion, migratesDatabase } = component
    if (fromVersion === toVersion && this.#input.kind !== 'Target') return
    const release = this.#releases.get(`${name} ${toVersion}`)
    const isForward = migratesDatabase || release?.migratesDatabase === true
    const isReversible = fromVersion !== undefined && kind !== 'CrdBundle' && kind !== 'PlatformStep' && !isForward
    this.items.set(name, { component: name, kind, fromVersion, toVersion, addedBy, isReversible, note })
  }

  #releaseOf({ component, toVersion }: PlanItem): PlanRelease | undefined {
    return this.#releases.get(`${component} ${toVersion}`)
  }

  #judgeItem({ component: name, fromVersion, toVersion }: PlanItem, { isManualUpgrade }: PlanComponent): void {
    const versions = { from: fromVersion ?? '', to: toVersion }
    if (isManualUpgrade && fromVersion !== toVersion) {
      this.#refuse('ManualUpgrade', name, `${name} can only be upgraded by hand: its chart is marked so.`, versions)
    }
    if (fromVersion !== undefined && isNewerSemver(fromVersion, toVersion)) {
      const message = `${name} is at ${fromVersion}; a plan cannot downgrade it to ${toVersion}.`
      this.#refuse('DowngradeRefused', name, message, versions)
    }
  }

  #judgeRelease(item: PlanItem): void {
    const { component: name, fromVersion, toVersion } = item
    const release = this.#releaseOf(item)
    if (release === undefined) {
      // The running version may be older than all that the feed still has.
      if (fromVersion === toVersion) return
      this.#refuse('ReleaseMissing', name, `${name} has no release ${toVersion}.`, { version: toVersion })
      return
    }
    const { isSchemaBreaking, minimumFromVersion, requiredMinor, crdBundleVersion } = release
    if (isSchemaBreaking && fromVersion !== toVersion) {
      const message = `${name} ${toVersion} breaks a schema: change the objects by hand first.`
      this.#refuse('SchemaBreaking', name, message, { version: toVersion })
    }
    if (
      fromVersion !== undefined &&
      minimumFromVersion !== undefined &&
      isNewerSemver(minimumFromVersion, fromVersion)
    ) {
      const message = `${name} ${toVersion} needs ${minimumFromVersion} or later before it; ${fromVersion} is installed.`
      this.#refuse('FromVersionTooOld', name, message, { from: fromVersion, minimum: minimumFromVersion })
    }
    if (fromVersion !== undefined && requiredMinor !== undefined && isMinorBefore(fromVersion, requiredMinor)) {
      const message = `${name} must have been at ${requiredMinor} before ${toVersion}; ${fromVersion} is installed.`
      this.#refuse('MinorSkipped', name, message, { from: fromVersion, required: requiredMinor })
    }
    if (crdBundleVersion !== undefined && item.kind !== 'CrdBundle') this.#judgeBundle(item, crdBundleVersion)
  }

  /** Runs last, because only then the planned version of each chart is known, whoever pinned it first. */
  #judgePins(item: PlanItem): void {
    for (const { pinned, version } of this.#pinsOf(item)) {
      const planned = this.items.get(pinned.name)?.toVersion ?? pinned.installedVersion
      if (planned === undefined || planned === version) continue
      const by = `${item.component} ${item.toVersion}`
      const message = `${by} is made for ${pinned.name} ${version}, but ${planned} is planned.`
      this.#refuse('PinConflict', pinned.name, message, { pinnedBy: item.component, pinned: version, planned })
    }
  }

  #judgeBundle({ component: name, toVersion }: PlanItem, needed: string): void {
    const bundle = this.#input.components.find(({ kind }) => kind === 'CrdBundle')
    const planned = bundle && (this.items.get(bundle.name)?.toVersion ?? bundle.installedVersion)
    if (planned !== undefined && !isNewerSemver(needed, planned)) return
    const message = `${name} ${toVersion} needs the definitions of ${needed}: add ${bundle?.name ?? 'the CRD bundle'} to the plan.`
    this.#refuse('CrdBundleMissing', name, message, { needed, planned: planned ?? '' })
  }

  /** Checks what rolls and what depends on it: in the end each must find what it needs. */
  #judgeDependencies({ name, dependsOn, installedVersion }: PlanComponent): void {
    if (installedVersion === undefined && !this.items.has(name)) return
    for (const { name: needed, constraint } of dependsOn) {
      if (!this.items.has(name) && !this.items.has(needed)) continue
      const version = this.items.get(needed)?.toVersion ?? this.#components.get(needed)?.installedVersion
      if (version !== undefined && satisfiesConstraint(version, constraint)) continue
      const wanted = constraint === undefined ? needed : `${needed} ${constraint}`
      const message = `${name} needs ${wanted}, and would find ${version ?? 'none'}.`
      this.#refuse('DependencyUnmet', name, message, { needs: wanted, found: version ?? '' })
    }
  }

  #refuse(code: PlanProblemCode, component: string, message: string, details: Record<string, string>): void {
    this.problems.push({ code, component, message, details })
  }
}

/** Returns the kind of a plan: one of components that rolls the platform step is a Release. */
export function kindOfPlan(kind: PlanKind, items: readonly Pick<PlanItem, 'kind'>[]): PlanKind {
  return kind === 'Components' && items.some((item) => item.kind === 'PlatformStep') ? 'Release' : kind
}

function isMinorBefore(version: string, required: string): boolean {
  const own = minorOf(version)
  return own !== undefined && compareSemver(`${own}.0`, `${required}.0`) < 0
}
