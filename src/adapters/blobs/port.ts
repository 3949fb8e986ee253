/** The owner of a blob. The blob is garbage-collected with it. */
export type BlobOwner = { apiVersion: string; kind: string; name: string; uid: string; labels: Record<string, string> }
export type BlobRef = { namespace: string; name: string }
export type Blob = { bytes: Uint8Array; version: string }

/** Stores what is too large for a resource and too small for a store of its own: histories, build logs. */
export interface BlobStore {
  /** Larger blobs are refused. */
  readonly maxBytes: number
  read(ref: BlobRef): Promise<Blob | undefined>
  /**
   * Writes if the stored version is still `version`; undefined expects that nothing is stored.
   *
   * @returns false if another writer was faster
   * @throws RangeError for more than `maxBytes`
   */
  write(ref: BlobRef, bytes: Uint8Array, options: { version: string | undefined; owner: BlobOwner }): Promise<boolean>
  /** Succeeds if there is none. */
  remove(ref: BlobRef): Promise<void>
}

/** Where each part of content that exceeds one blob is stored, by part number from 0. */
export type RefOfPart = (part: number) => BlobRef
export type MultipartContent = { bytes: Uint8Array; refOf: RefOfPart; owner: BlobOwner }

/** @returns the contents of `count` parts, in order; undefined if one is missing */
export async function readParts(
  blobs: Pick<BlobStore, 'read'>,
  refOf: RefOfPart,
  count: number,
): Promise<Uint8Array[] | undefined> {
  const pieces: Uint8Array[] = []
  for (let part = 0; part < count; part += 1) {
    const blob = await blobs.read(refOf(part))
    if (blob === undefined) return undefined
    pieces.push(blob.bytes)
  }
  return pieces
}

export const partsNeeded = ({ maxBytes }: Pick<BlobStore, 'maxBytes'>, bytes: number) => Math.ceil(bytes / maxBytes)

/**
 * Writes the parts that are missing.
 *
 * @param made collects each part as soon as it is written
 * @returns whether all parts were missing
 */
async function add(blobs: BlobStore, { bytes, refOf, owner }: MultipartContent, made: BlobRef[]): Promise<boolean> {
  let isAllNew = true
  for (let part = 0; part < partsNeeded(blobs, bytes.length); part += 1) {
    const piece = bytes.subarray(part * blobs.maxBytes, (part + 1) * blobs.maxBytes)
    if (await blobs.write(refOf(part), piece, { version: undefined, owner })) made.push(refOf(part))
    else isAllNew = false
  }
  return isAllNew
}

/**
 * Stores content, runs the change that refers to it, and deletes the parts written here if the change is refused. The
 * places are derived from the content, so retrying an interrupted call finds the parts that it left.
 *
 * @param isReferenced whether any stored object refers to the content; called after a refusal
 * @param onOrphaned called if parts of a refused change could not be deleted
 */
export async function withParts<Result>(
  blobs: BlobStore,
  content: MultipartContent,
  change: () => Promise<Result>,
  { isReferenced, onOrphaned }: { isReferenced: () => Promise<boolean>; onOrphaned: (failure: unknown) => void },
): Promise<Result> {
  const made: BlobRef[] = []
  try {
    const isAllNew = await add(blobs, content, made)
    const result = await change()
    // A concurrent, refused change of the same content may have deleted parts that were found above.
    if (!isAllNew) await add(blobs, content, [])
    return result
  } catch (error) {
    await takeBack().catch(onOrphaned)
    throw error
  }

  async function takeBack(): Promise<void> {
    if (await isReferenced()) return
    for (const part of made) await blobs.remove(part)
    // A concurrent change may have referred to the same content between the check and the deletion.
    if (await isReferenced()) await add(blobs, content, [])
  }
}
