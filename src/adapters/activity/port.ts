import type { Actor, Channel, Outcome } from '../../contracts/activity.ts'

/** The resource that an entry is about, as paths of REST name it. */
export type ResourcePath = {
  readonly boundaryId: string
  readonly resourceGroup: string
  readonly resourceType: string
  readonly resourceName: string
}

export type Scalar = string | number | boolean | null
/** A field whose value changed, by JSON pointer below the spec; secrets are `***`. */
export type Change = { readonly path: string; readonly from: Scalar; readonly to: Scalar }

/** What is kept of one thing that somebody did. */
export type Entry = {
  readonly id: string
  readonly occurredAt: string
  readonly action: string
  readonly operation?: string | undefined
  readonly actor: Actor
  readonly channel: Channel
  readonly outcome: Outcome
  readonly statusCode?: number | undefined
  readonly message?: string | undefined
  readonly changes: readonly Change[]
  readonly metadata: Readonly<Record<string, string>>
  readonly correlationId?: string | undefined
  readonly traceId?: string | undefined
  readonly remoteAddress?: string | undefined
  /** For entries that callers report, whose time may be any: the time of the report. */
  readonly reportedAt?: string | undefined
  /** The version that it wrote, which tells the order of two in one millisecond. */
  readonly version?: string | undefined
  /** The uid of the resource, where this made it: tells it from others of the name. */
  readonly made?: string | undefined
  /** The object that belongs to the resource as it wrote it, without its content: two alike are one. */
  readonly part?: { readonly uid: string; readonly state: string } | undefined
}

/** A resource after a write. Of a scaled one only the number is known. */
export type After =
  | {
      readonly uid: string
      readonly generation: number
      readonly spec: object
      readonly labelling: string
      /** It was made by this write. */
      readonly isNew: boolean
    }
  | { readonly replicas: number; readonly pointer: string }

/** An entry as it comes in: what changed is worked out by whoever knows how the resource was before. */
export type Sighting = Omit<Entry, 'changes'> & {
  readonly after?: After | undefined
  /** Of two with one id the other one tells who and how: this one knows less. */
  readonly isSecondHand?: boolean
  /** Not kept if it changed nothing: an apply of what is there already. */
  readonly onlyIfChanged?: boolean
  /** Nor if nothing is known of how it was before: what controllers write of themselves would look like a change. */
  readonly onlyIfKnown?: boolean
}

/** What was done to which resource. */
export type ToldOf = { readonly resource: ResourcePath; readonly entry: Entry }
/** Which entries of a resource are wanted; undefined for none at all. */
export type Wanted = (resource: ResourcePath) => ((entry: Entry) => boolean) | undefined

/** Keeps what was done, resource by resource. Nothing is ever changed or taken out before its time. */
export interface ActivityStore {
  /** Adds what is not there yet, by id; when it returns, the entries are kept for good. */
  append(resource: ResourcePath, sightings: readonly Sighting[]): Promise<void>
  /** Oldest first; undefined if nothing was ever told of the resource. Writes nothing. */
  read(resource: ResourcePath): Promise<readonly Entry[] | undefined>
  /** Of all resources of a boundary, those that are gone included: the newest that are wanted, newest first. Writes nothing. */
  newest(boundaryId: string, wanted: Wanted): Promise<readonly ToldOf[]>
  /** Removes the records of resources without new entries for as long as entries are kept. */
  sweep(): Promise<void>
}
