import type { Operation, RESOURCE_KINDS } from '../client/index.ts'

export const VERBS = ['list', 'get', 'create', 'update', 'patch', 'delete'] as const
export type Verb = (typeof VERBS)[number]

export type ResourceKind = (typeof RESOURCE_KINDS)[number]
export type CollectionRoute = Operation & {
  readonly verb: Verb
  readonly parameters: readonly string[]
  /** The last parameter of a path that ends in one: it stands for the name on the command line. */
  readonly nameParameter: string | undefined
  /** The segment alone means another place: this one is said as `blueprints/sources`. */
  readonly isLower?: boolean
}

/** What kubectl calls it by, and the words before it that say where it stands. */
export type Alias = {
  readonly names: readonly string[]
  readonly shortNames: readonly string[]
  readonly below: readonly string[]
}

/** Everything that the interface can do with one collection. The same segment may stand at several places. */
export type Collection = {
  /** The segment: `vectorclusters`. */
  readonly noun: string
  readonly singular: string
  /** Names of kinds that mean it, or the part of it that stands below another word: `bps` is `blueprints/sources`. */
  readonly also: readonly Alias[]
  /** The kind whose manifests it writes. */
  readonly kind: ResourceKind | undefined
  readonly routes: readonly CollectionRoute[]
  /** The words before the segment that it was found by, where that alone means another place. */
  readonly below?: readonly string[]
}

export type Given = {
  readonly name?: string | undefined
  readonly boundary?: string | undefined
  readonly group?: string | undefined
  /** `--param name=value`. */
  readonly parameters?: Readonly<Record<string, string>>
  /** Across the groups of the boundary. */
  readonly isAcross?: boolean
  /** What of the place is that of the configuration: nobody has to say it. */
  readonly defaults?: Place
}

export type Place = { readonly boundary?: string | undefined; readonly group?: string | undefined }
