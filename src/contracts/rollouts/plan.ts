import { type ComponentKind, compareVersions, isNewer, meets, minorOf } from '../lifecycle.ts'
import { batchesOf, type Ordered } from './batches.ts'
import type { PlanItem, PlanKind, Planned, PlanProblem, ProblemCode } from './states.ts'

/** Of a component what plans are made from. */
export type PlanComponent = Ordered & {
  readonly kind: ComponentKind
  readonly installedVersion?: string | undefined
  readonly isManualUpgrade: boolean
  readonly migratesDatabase: boolean
}

/** Of a release what plans are made from. */
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
  /** What is asked for, by component. */
  readonly targetVersions: Readonly<Record<string, string>>
  /** Pinned charts that are not to roll along. */
  readonly unselected: readonly string[]
  readonly kind: PlanKind
}

/**
 * What a rollout to these versions would do: items, the batches in the order of rule 3 of interface section 4.21, and every
 * reason that it may not begin (rule 4). A plan of kind Target rolls components again whose version stays.
 */
export function planOf(input: PlanInput): Planned {
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

  /** Charts that an item was made for come along, and so does what they are made for in turn: items that come are seen too. */
  followAlong(): void {
    for (const item of this.items.values()) {
      for (const { pinned, version } of this.#pinsOf(item)) {
        const isThere = this.items.has(pinned.name) || pinned.installedVersion === version
        if (!isThere) this.#add(pinned, version, 'Pin', `Pinned by ${item.component} ${item.toVersion}.`)
      }
      if (item.kind === 'CrdBundle') this.#addPlatformStep(item)
    }
  }

  /** What is not there does not roll: where it is needed, dependsOn says so. */
  #pinsOf(item: PlanItem): { pinned: PlanComponent; version: string }[] {
    return Object.entries(this.#releaseOf(item)?.pins ?? {}).flatMap(([name, version]) => {
      const pinned = this.#components.get(name)
      if (pinned?.installedVersion === undefined || this.#input.unselected.includes(name)) return []
      return [{ pinned, version }]
    })
  }

  /** What installs a release of the platform moves with its definitions. */
  #addPlatformStep(bundle: PlanItem): void {
    const step = this.#input.components.find(({ kind }) => kind === 'PlatformStep')
    if (step === undefined || this.items.has(step.name)) return
    const own = this.#input.releases.filter(({ component }) => component === step.name)
    const newest = (found: readonly PlanRelease[]) =>
      [...found].sort((one, other) => compareVersions(other.version, one.version))[0]
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
    if (fromVersion !== undefined && isNewer(fromVersion, toVersion)) {
      const message = `${name} is at ${fromVersion}; a plan cannot downgrade it to ${toVersion}.`
      this.#refuse('DowngradeRefused', name, message, versions)
    }
  }

  #judgeRelease(item: PlanItem): void {
    const { component: name, fromVersion, toVersion } = item
    const release = this.#releaseOf(item)
    if (release === undefined) {
      // What runs may be older than what the feed still has.
      if (fromVersion === toVersion) return
      this.#refuse('ReleaseMissing', name, `${name} has no release ${toVersion}.`, { version: toVersion })
      return
    }
    const { isSchemaBreaking, minimumFromVersion, requiredMinor, crdBundleVersion } = release
    if (isSchemaBreaking && fromVersion !== toVersion) {
      const message = `${name} ${toVersion} breaks a schema: change the objects by hand first.`
      this.#refuse('SchemaBreaking', name, message, { version: toVersion })
    }
    if (fromVersion !== undefined && minimumFromVersion !== undefined && isNewer(minimumFromVersion, fromVersion)) {
      const message = `${name} ${toVersion} needs ${minimumFromVersion} or later before it; ${fromVersion} is installed.`
      this.#refuse('FromVersionTooOld', name, message, { from: fromVersion, minimum: minimumFromVersion })
    }
    if (fromVersion !== undefined && requiredMinor !== undefined && isMinorBefore(fromVersion, requiredMinor)) {
      const message = `${name} must have been at ${requiredMinor} before ${toVersion}; ${fromVersion} is installed.`
      this.#refuse('MinorSkipped', name, message, { from: fromVersion, required: requiredMinor })
    }
    if (crdBundleVersion !== undefined && item.kind !== 'CrdBundle') this.#judgeBundle(item, crdBundleVersion)
  }

  /** Only in the end it shows which version each chart will have, whoever pinned it first. */
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
    if (planned !== undefined && !isNewer(needed, planned)) return
    const message = `${name} ${toVersion} needs the definitions of ${needed}: add ${bundle?.name ?? 'the CRD bundle'} to the plan.`
    this.#refuse('CrdBundleMissing', name, message, { needed, planned: planned ?? '' })
  }

  /** Of what rolls, and of what depends on it: in the end each must have what it needs. */
  #judgeDependencies({ name, dependsOn, installedVersion }: PlanComponent): void {
    if (installedVersion === undefined && !this.items.has(name)) return
    for (const { name: needed, constraint } of dependsOn) {
      if (!this.items.has(name) && !this.items.has(needed)) continue
      const version = this.items.get(needed)?.toVersion ?? this.#components.get(needed)?.installedVersion
      if (version !== undefined && meets(version, constraint)) continue
      const wanted = constraint === undefined ? needed : `${needed} ${constraint}`
      const message = `${name} needs ${wanted}, and would find ${version ?? 'none'}.`
      this.#refuse('DependencyUnmet', name, message, { needs: wanted, found: version ?? '' })
    }
  }

  #refuse(code: ProblemCode, component: string, message: string, details: Record<string, string>): void {
    this.problems.push({ code, component, message, details })
  }
}

/** What a plan of components is that rolls the platform step: a release of the platform. */
export function kindOfPlan(kind: PlanKind, items: readonly Pick<PlanItem, 'kind'>[]): PlanKind {
  return kind === 'Components' && items.some((item) => item.kind === 'PlatformStep') ? 'Release' : kind
}

function isMinorBefore(version: string, required: string): boolean {
  const own = minorOf(version)
  return own !== undefined && compareVersions(`${own}.0`, `${required}.0`) < 0
}
