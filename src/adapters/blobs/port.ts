/** Whose a blob is: it goes when the owner goes. */
export type BlobOwner = { apiVersion: string; kind: string; name: string; uid: string; labels: Record<string, string> }
export type BlobRef = { namespace: string; name: string }
export type Blob = { bytes: Uint8Array; version: string }

/** Keeps what is too long for an object and too small for a store of its own: histories, logs of a build. */
export interface BlobStore {
  /** Longer ones are refused. */
  readonly maxBytes: number
  read(ref: BlobRef): Promise<Blob | undefined>
  /**
   * Writes if what is stored is still of that version; undefined means that nothing is stored.
   *
   * @returns whether it was written: false if somebody else was faster
   * @throws RangeError for more than `maxBytes`
   */
  write(ref: BlobRef, bytes: Uint8Array, options: { version: string | undefined; owner: BlobOwner }): Promise<boolean>
  /** Also if there is none. */
  remove(ref: BlobRef): Promise<void>
}
