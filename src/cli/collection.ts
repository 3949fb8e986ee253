import type { Operation, RESOURCE_KINDS } from '../client/index.ts'

export const VERBS = ['list', 'get', 'create', 'update', 'patch', 'delete'] as const
export type Verb = (typeof VERBS)[number]

export type ResourceKind = (typeof RESOURCE_KINDS)[number]
export type CollectionRoute = Operation & {
  readonly verb: Verb
  readonly parameters: readonly string[]
  /** The last path parameter of an item route, which is NAME on the command line. */
  readonly nameParameter: string | undefined
  /** Whether the segment alone means another collection: this one needs its parent, as in `blueprints/sources`. */
  readonly isLower?: boolean
}

/** Names in kubectl, and the path words that must precede the segment. */
export type Alias = {
  readonly names: readonly string[]
  readonly shortNames: readonly string[]
  readonly below: readonly string[]
}

/** All operations of one collection. Several places may share a segment. */
export type Collection = {
  /** The path segment, such as `vectorclusters`. */
  readonly noun: string
  readonly singular: string
  /** Further names, such as those of kinds: `bps` is `blueprints/sources`. */
  readonly also: readonly Alias[]
  /** The kind of its manifests. */
  readonly kind: ResourceKind | undefined
  readonly routes: readonly CollectionRoute[]
  /** The parent words by which it was found, if the segment alone means another place. */
  readonly below?: readonly string[]
}

export type GivenArguments = {
  readonly name?: string | undefined
  readonly boundary?: string | undefined
  readonly group?: string | undefined
  /** Values of `--param name=value`. */
  readonly parameters?: Readonly<Record<string, string>>
  /** Lists across all groups of the boundary. */
  readonly isAcross?: boolean
  /** Defaults from the configuration. */
  readonly defaults?: SelectedScope
}

export type SelectedScope = { readonly boundary?: string | undefined; readonly group?: string | undefined }
