import type { Actor, Channel, Outcome } from '../../contracts/activity.ts'

/** The resource that an entry is about, in the terms of its REST path. */
export type ResourcePath = {
  readonly boundaryId: string
  readonly resourceGroup: string
  readonly resourceType: string
  readonly resourceName: string
}

export type Scalar = string | number | boolean | null
/** A field whose value changed, by JSON pointer below the spec; secrets are `***`. */
export type Change = { readonly path: string; readonly from: Scalar; readonly to: Scalar }

/** The stored record of one action. */
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
  /** For entries that callers report, whose `occurredAt` may be any time: when the report arrived. */
  readonly reportedAt?: string | undefined
  /** The resourceVersion that the action wrote; orders two entries of the same millisecond. */
  readonly version?: string | undefined
  /** The uid of the resource if this action created it; tells it apart from earlier resources of the same name. */
  readonly made?: string | undefined
  /** The dependent object that was written, and a digest of its state: a repeat of the last state is not a change. */
  readonly part?: { readonly uid: string; readonly state: string } | undefined
}

/** A resource after a write. After a write to the scale subresource, only the replica count is known. */
export type WrittenState =
  | {
      readonly uid: string
      readonly generation: number
      readonly spec: object
      readonly labelling: string
      /** Whether this write created it. */
      readonly isNew: boolean
    }
  | { readonly replicas: number; readonly pointer: string }

/** An observed action, before it is stored. The store computes the changes, because it knows the previous state. */
export type ObservedAction = Omit<Entry, 'changes'> & {
  readonly after?: WrittenState | undefined
  /** Knows less than another observed action with the same id: does not overwrite that one's actor and channel. */
  readonly isSecondHand?: boolean
  /** Dropped if nothing changed, for example when the same manifest is applied again. */
  readonly onlyIfChanged?: boolean
  /** Dropped if the previous state is unknown: otherwise a controller's own write would look like a user's change. */
  readonly onlyIfKnown?: boolean
}

/** An entry with the resource that it is about. */
export type ResourceEntry = { readonly resource: ResourcePath; readonly entry: Entry }
/** Returns the filter for a resource's entries; undefined if none of them are wanted. */
export type EntryFilter = (resource: ResourcePath) => ((entry: Entry) => boolean) | undefined

/** Keeps a record per resource. Entries are append-only and expire after the retention period. */
export interface ActivityStore {
  /** Adds the entries whose id is not stored yet. They are durable once this resolves. */
  append(resource: ResourcePath, actions: readonly ObservedAction[]): Promise<void>
  /** Returns the entries, oldest first; undefined if the resource has no record. Writes nothing. */
  read(resource: ResourcePath): Promise<readonly Entry[] | undefined>
  /**
   * Returns the newest wanted entries of a boundary, newest first, with those of deleted resources. If one caller did
   * most of them, older ones of others take the place of some. Writes nothing.
   */
  newest(boundaryId: string, wanted: EntryFilter): Promise<readonly ResourceEntry[]>
  /**
   * Deletes the records whose newest entry is past the retention period, and of a boundary with too many those of
   * resources that do not exist. Thins the largest records of a boundary whose records take too many bytes.
   */
  sweep(exists: (resource: ResourcePath) => boolean): Promise<void>
}
